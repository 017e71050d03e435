/**
 * Data stored for each row of a run beside its text. Hashes of the source: 20 bytes each, zeros for
 * an unknown one, nothing if all are unknown. Notes: verdict, sequence, receipt; a single byte if
 * all rows have the same verdict and nothing else. Tops: price and size of each best level as
 * differences from the previous row of the same outcome; an empty side is 0 and 0.
 */
import type { Beside, Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/platform/varint.ts'

const HASH_BYTES = 20

export function encodeHashes(snapshots: readonly Snapshot[]): Uint8Array {
  const isKnown = snapshots.some(({ sourceHash }) => sourceHash !== undefined)
  const bytes = new Uint8Array(isKnown ? snapshots.length * HASH_BYTES : 0)
  snapshots.forEach(({ sourceHash }, row) => {
    if (sourceHash !== undefined) bytes.set(Uint8Array.fromHex(sourceHash), row * HASH_BYTES)
  })
  return bytes
}

export function readHash(bytes: Uint8Array, row: number): string | undefined {
  const hash = bytes.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
  return hash.length === HASH_BYTES && hash.some((byte) => byte !== 0) ? hash.toHex() : undefined
}

type RowNotes = {
  isVerified: boolean | undefined
  sequence: number
  /** From the venue's time to the recorder's. */
  lagMs: number | undefined
}

const verdicts = [undefined, true, false] as const
/** The first byte: the verdict of all rows, or this value. */
const BY_ROW = verdicts.length
/** A row is encoded as its sequence, a flag for a lag, and its verdict. */
const SEQUENCE_UNIT = 8
const LAG_BIT = 4

export function encodeNotes(snapshots: readonly Snapshot[]): Uint8Array {
  const bytes = new Uint8Array(1 + snapshots.length * 2 * VARINT_BYTES_MAX)
  const first = snapshots[0]?.isVerified
  const isUniform = snapshots.every(
    ({ isVerified, sequence, receivedMs }) =>
      isVerified === first && (sequence ?? 0) === 0 && receivedMs === undefined,
  )
  bytes[0] = isUniform ? verdicts.indexOf(first) : BY_ROW
  let at = 1
  if (!isUniform) for (const snapshot of snapshots) at = putNotes(bytes, at, snapshot)
  return bytes.slice(0, at)
}

function putNotes(bytes: Uint8Array, at: number, snapshot: Snapshot): number {
  const { isVerified, sequence = 0, receivedMs, timestampMs } = snapshot
  const lagBit = receivedMs === undefined ? 0 : LAG_BIT
  const head = sequence * SEQUENCE_UNIT + lagBit + verdicts.indexOf(isVerified)
  const next = putVarint(bytes, at, head)
  return receivedMs === undefined
    ? next
    : putVarint(bytes, next, toUnsigned(receivedMs - timestampMs))
}

export function decodeNotes(bytes: Uint8Array, count: number): RowNotes[] {
  const [first = 0] = bytes
  if (first < BY_ROW) {
    const all = { isVerified: verdicts[first], sequence: 0, lagMs: undefined }
    return Array.from({ length: count }, () => all)
  }
  const reader = new VarintReader(bytes.subarray(1))
  return Array.from({ length: count }, () => readNotes(reader))
}

/**
 * Negative if the recorder's clock is behind: even numbers encode 0 and up, odd ones -1 and down.
 */
const toUnsigned = (lagMs: number): number => (lagMs < 0 ? -lagMs * 2 - 1 : lagMs * 2)
const toSigned = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

function readNotes(reader: VarintReader): RowNotes {
  const head = reader.next()
  return {
    isVerified: verdicts[head % LAG_BIT],
    sequence: Math.floor(head / SEQUENCE_UNIT),
    lagMs: head % SEQUENCE_UNIT >= LAG_BIT ? toSigned(reader.next()) : undefined,
  }
}

/** Notes in the form of a snapshot's fields, given its time. */
export const withReceipt = (
  notes: RowNotes | undefined,
  timestampMs: number,
): Omit<Beside, 'sourceHash'> => ({
  isVerified: notes?.isVerified,
  sequence: notes?.sequence === 0 ? undefined : notes?.sequence,
  receivedMs: notes?.lagMs === undefined ? undefined : timestampMs + notes.lagMs,
})

/** In millionths. */
type TopOfBook = readonly [bidPrice: number, bidSize: number, askPrice: number, askSize: number]

/** Numbers per row in decoded tops. */
export const TOP_FIELDS = 4
const EMPTY: TopOfBook = [0, 0, 0, 0]

export const topOf = ({ bids, asks }: { bids: Ladder; asks: Ladder }): TopOfBook => [
  bids.prices[0] ?? 0,
  bids.sizes[0] ?? 0,
  asks.prices[0] ?? 0,
  asks.sizes[0] ?? 0,
]

export function encodeTops(snapshots: readonly Snapshot[]): Uint8Array {
  const bytes = new Uint8Array(snapshots.length * TOP_FIELDS * VARINT_BYTES_MAX)
  const last = { up: EMPTY, down: EMPTY }
  let at = 0
  for (const snapshot of snapshots) {
    const top = topOf(snapshot)
    const before = last[snapshot.outcome]
    for (let i = 0; i < TOP_FIELDS; i++) at = putVarint(bytes, at, (top[i] ?? 0) - (before[i] ?? 0))
    last[snapshot.outcome] = top
  }
  return bytes.slice(0, at)
}

/**
 * Returns `TOP_FIELDS` numbers per row; outcomes come from the chunk. Throws if they do not fit.
 */
export function decodeTops(bytes: Uint8Array, outcomes: readonly number[]): Float64Array {
  const reader = new VarintReader(bytes)
  const tops = new Float64Array(outcomes.length * TOP_FIELDS)
  /** Index of the last row of each outcome; -1 before its first. */
  const before = [-1, -1]
  for (let row = 0; row < outcomes.length; row++) {
    const outcome = outcomes[row] ?? 0
    const from = before[outcome] ?? -1
    const at = row * TOP_FIELDS
    for (let i = 0; i < TOP_FIELDS; i++)
      tops[at + i] = (from < 0 ? 0 : (tops[from + i] ?? 0)) + reader.next()
    before[outcome] = at
  }
  if (!reader.isAtEnd) throw new Error('More tops than rows.')
  return tops
}
