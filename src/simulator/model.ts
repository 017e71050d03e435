/**
 * Statistics of real books. Figures here, in book.ts and in market.ts are measured on both
 * full-rate recordings, snapshots-btc-5m-20260413 and -20260414 (220,487 states of 99 tokens; see
 * SOURCES.md next to them), unless a line names one. A constant that differs from the figure beside
 * it is fitted, so that the output agrees with the figure. All recordings are of Bitcoin in
 * 5-minute windows: other coins and timeframes are relabelled copies.
 */

const fineRanks = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1]

/** Milliseconds between two states of a token. */
const gapMs = {
  ranks: fineRanks,
  values: [2, 4, 5, 10, 15, 22, 32, 49, 73, 112, 190, 285, 438, 600, 1_700, 3_000],
}

/** States per second and token that `gapMs` amounts to; SOURCES.md gives a median of 12. */
export const STATES_PER_SECOND = 12.5

/** Levels that differ between two states of a token. */
const changedLevels = {
  ranks: fineRanks,
  values: [1, 1, 1.6, 3.4, 5.2, 7.3, 9.6, 12.5, 16, 21, 28, 34, 43, 50, 95, 99],
}

/**
 * Shares that a level in the middle of a ladder tends to. Recorded sizes 5 to 30 ticks from the
 * touch are 130 to 870 (p10 to p90) around 400; changes widen this distribution to that.
 */
const levelShares = {
  ranks: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1],
  values: [5, 8, 48, 105, 200, 310, 410, 540, 700, 2_500, 7_000],
}

/**
 * Of 10,000 sizes: those that end in `.00`, in each of nine tenths, and the rest in any hundredth.
 */
const sizeTenths = [2_190, 210, 180, 510, 440, 650, 180, 400, 680, 240] as const
const SIZE_PARTS = 10_000

/**
 * Weights of a changed level's distance from the touch in ticks, fitted so that near levels keep
 * their share although a level changes only once per state. On 20260414, a state changes 1.67
 * levels at the touch (both sides), 0.92 one tick away, 0.57 at 5 to 10, 0.13 at 20, 0.06 at 30.
 */
const changesByDistance = [
  1300, 1110, 985, 850, 765, 730, 690, 685, 665, 675, 680, 615, 460, 294, 269, 224, 194, 171, 154,
  143, 118, 104, 95, 88, 80, 75, 66, 63, 58, 55, 51, 50, 49, 48, 48, 47, 46, 45, 44, 42, 41, 41, 41,
  40, 40, 40, 40, 40, 39, 39, 39, 37, 35, 33, 32, 30, 28, 26, 25, 23, 21, 20, 19, 18, 18, 17, 16,
  15, 13, 12, 12, 12, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10, 10, 9, 9, 8, 8, 7, 7, 7, 6, 6,
  5, 5, 4, 4,
] as const

/** The most frequent changes of a level in shares, and how many of 1,000 changes each makes. */
const roundChanges = [5, 10, 100, 15, 20, 25, 30, 450, 200, 60, 50, 105, 6, 40, 35, 45, 75, 400]
const roundChangeWeights = [198, 66, 66, 42, 37, 30, 29, 18, 16, 15, 13, 9, 9, 15, 8, 6, 6, 5]
const CHANGE_PARTS = 1_000

/** Other changes of a level in shares: 20 % of changes are whole, 24 % have any ending. */
const otherChangeShares = {
  ranks: [0, 0.3, 0.5, 0.75, 0.9, 0.98, 1],
  values: [1, 12, 40, 120, 260, 700, 2_000],
}

/** Hundredths of a share: recorded sizes have at most two decimals. */
export const HUNDREDTHS = 100

const TABLE_LENGTH = 4_096

export type Model = ReturnType<typeof createModel>

/** Builds the distributions as tables, so that a draw is one lookup; takes a few milliseconds. */
export const createModel = () => ({
  gapMs: tabulateQuantiles(gapMs, 1),
  changedLevels: tabulateQuantiles(changedLevels, 1),
  /** In hundredths of a share, as the changes below. */
  levelSizes: tabulateQuantiles(levelShares, HUNDREDTHS),
  /** The last two digits of a size; -1 for any. */
  sizeEndings: tabulateWeights(sizeTenths, SIZE_PARTS, (tenths) => (tenths < 0 ? -1 : tenths * 10)),
  distances: tabulateWeights(
    changesByDistance,
    changesByDistance.reduce((sum: number, weight) => sum + weight, 0),
    (distance) => distance,
  ),
  /** Round changes of a level; 0 for another one. */
  roundChanges: tabulateWeights(
    roundChangeWeights,
    CHANGE_PARTS,
    (index) => (roundChanges[index] ?? 0) * HUNDREDTHS,
  ),
  otherChanges: tabulateQuantiles(otherChangeShares, HUNDREDTHS),
})

/** The entry of a table at a rank from 0 to 1. */
export const lookUp = (table: Int32Array, rank: number): number =>
  table[Math.min(table.length - 1, Math.floor(rank * table.length))] ?? 0

/** Interpolates between the given values. */
function tabulateQuantiles(
  { ranks, values }: { ranks: readonly number[]; values: readonly number[] },
  scale: number,
): Int32Array {
  let next = 1
  return Int32Array.from({ length: TABLE_LENGTH }, (_, index) => {
    const rank = (index + 0.5) / TABLE_LENGTH
    while (next < ranks.length - 1 && (ranks[next] ?? 1) < rank) next++
    const [lowRank = 0, highRank = 1] = ranks.slice(next - 1)
    const [low = 0, high = low] = values.slice(next - 1)
    return Math.round((low + ((high - low) * (rank - lowRank)) / (highRank - lowRank)) * scale)
  })
}

/** Fills the table with `weight / parts` entries for each index, and with -1 for the rest. */
function tabulateWeights(
  weights: readonly number[],
  parts: number,
  valueAt: (index: number) => number,
): Int32Array {
  const table = new Int32Array(TABLE_LENGTH).fill(valueAt(-1))
  let sum = 0
  let at = 0
  for (const [index, weight] of weights.entries()) {
    sum += weight
    const end = Math.round((sum / parts) * TABLE_LENGTH)
    table.fill(valueAt(index), at, end)
    at = Math.max(at, end)
  }
  return table
}
