/** One simulated market: when its states come, what changes in each, and its winner at the end. */
import { silenceMs } from '#src/domain/coverage.ts'
import { type Coin, type Outcome, type Timeframe, timeframeMs } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { createRandom } from '#src/platform/random.ts'

import {
  changeLevel,
  createBook,
  FINE_MILLS,
  followPrice,
  refineTick,
  removeLevel,
  renewLadders,
  type SimulatedBook,
  slotMills,
  slotOfCents,
  SLOTS,
  withdrawSide,
} from './book.ts'
import { type CoinPrice, VOLATILITY } from './coin-price.ts'
import { lookUp, type Model, STATES_PER_SECOND } from './model.ts'

/** After a gap on one side of the median the next is on the same side in 62 % of cases. */
const GAP_STICKINESS = 0.25
/** Half-width of what the rank of a state's changes may differ by from the rank of its gap. */
const CHANGE_RANK_NOISE = 0.3
/** The best level of a side changes in most states: it is tried first, with this chance. */
const TOUCH_CHANGE_SHARE = 0.7
/** Few levels away from the touch vanish. */
const REMOVAL_SHARE = 0.002
/** In a window's last minute makers withdraw: ladders of 60 to 95 levels become common. */
const LATE_MS = 60_000
const LATE_REMOVAL_SHARE = 0.06
/**
 * Standard deviations from even odds beyond which the losing side withdraws, drawn for each market.
 * On 20260413 that makes 15 % of states one-sided in the last half minute, 6 % in the one before,
 * 3 % and 1 % before those; 1.6 % to 0.8 % on 20260414. (Another source's 76 % is in neither.)
 */
const WITHDRAW_SIGMAS_MIN = 3
const WITHDRAW_SIGMAS_MAX = 14
/** 87 % of states after the end of a window are one-sided. */
const RESOLVED_SHARE = 0.87
/** Markets whose tick falls to 0.001 beyond 0.96 and 0.04; 0.3 % of states have such levels. */
const FINE_TICK_SHARE = 0.02
/** Before its window opens a price moves 0.55 cents a second, within it 1.4 to 2 at even odds. */
const LEAD_VOLATILITY = 0.2
/** Recording begins this long before a window, sparsely (62 states), and ends soon after it. */
export const LEAD_MS = 190_000
const LEAD_GAP_FACTOR = 38
export const TAIL_MS_MAX = 4_500
/** Of the longest pause that is no gap: a server that writes a state late leaves none either. */
const WHOLE_SHARE = 0.8
/** Draws a state may spend on one changed level before it does with fewer. */
const DRAWS_PER_CHANGE = 4
/** Share of a finely ticked book's draws that go to the slots next to the touch. */
const FINE_CHANGE_SHARE = 0.3
const FINE_REACH = 12
/** A side that withdrew comes back when the odds are below this share of what made it leave. */
const RETURN_SHARE = 0.8
/** Nearer the end than this the odds would be infinite. */
const REMAINING_MS_MIN = 50
/** Odds of a market that is decided. */
const DECIDED_SIGMAS = 20
/** States relative to a 5-minute window: 329 to 920 frames a second (venue notes, 2026-09-21). */
const toRate = (timeframe: Timeframe): number => (timeframe === '5m' ? 1 : 0.36)

export type SimulatedMarket = ReturnType<typeof createMarket>

/** Opens a market. What happens in it depends on its plan only, whatever runs beside it. */
export function createMarket(
  plan: {
    seed: string
    coin: Coin
    timeframe: Timeframe
    windowStartMs: number
    statesPerSecond: number
    outcomes: readonly Outcome[]
    maxSnapshots: number
    /** Whether pauses between states are so short that none of them is a gap. */
    isWhole?: boolean
  },
  model: Model,
) {
  const { seed, coin, timeframe, windowStartMs, statesPerSecond, isWhole = false } = plan
  const name = `bookfeed/${seed}/${coin}/${timeframe}/${windowStartMs}/${statesPerSecond}`
  const conditionDigest = sha256(name)
  const random = createRandom(name)
  const windowEndMs = windowStartMs + timeframeMs[timeframe]
  const startMs = windowStartMs - LEAD_MS
  return {
    plan,
    model,
    random,
    conditionId: `0x${toOwnId(conditionDigest)}`,
    assetIds: { up: nameAsset(name, 'up'), down: nameAsset(name, 'down') },
    price: {
      random,
      windowStartMs,
      windowEndMs,
      /** The time of the last state. */
      timestampMs: startMs,
      /** A random walk; its variance over the window is one. */
      walk: 0,
      /** Known from the end of the window on. */
      winner: undefined as Outcome | undefined,
    },
    /** Set when the window opens where the coin has a price of its own: then that decides, and no walk. */
    coinPrice: undefined as CoinPrice | undefined,
    book: createBook({ model, random, sizes: new Int32Array(SLOTS) }),
    /** No state is later than this. */
    endMs: windowEndMs + random.integer(TAIL_MS_MAX),
    hasFineTick: random.uniform() < FINE_TICK_SHARE,
    withdrawSigmas:
      WITHDRAW_SIGMAS_MIN + random.uniform() * (WITHDRAW_SIGMAS_MAX - WITHDRAW_SIGMAS_MIN),
    isOneSidedAtEnd: random.uniform() < RESOLVED_SHARE,
    /** The state that last changed each slot. */
    changedAt: new Int32Array(SLOTS),
    /** Gaps are longer than the recorded ones by this. */
    gapFactor: STATES_PER_SECOND / (statesPerSecond * toRate(timeframe)),
    gapMsMax: isWhole ? WHOLE_SHARE * silenceMs(timeframe) : Number.POSITIVE_INFINITY,
    gapRank: random.uniform(),
    hasWithdrawn: false,
    states: 0,
    snapshots: 0,
    /** The time of the next state, or of the end when there is none. */
    nextMs: startMs + random.integer(1_000),
  }
}

/** Adds the state due at `nextMs` to `batch`, or returns the winner when the recording is over. */
export function advanceMarket(market: SimulatedMarket, batch: Snapshot[]): Outcome | undefined {
  const { price, plan } = market
  const timestampMs = market.nextMs
  advancePrice(market, timestampMs)
  if (timestampMs >= market.endMs) return price.winner
  if (market.snapshots + plan.outcomes.length > plan.maxSnapshots) {
    market.nextMs = market.endMs
    return undefined
  }
  market.states++
  changeBook(market)
  renewLadders(market.book)
  for (const outcome of plan.outcomes) batch.push(toSnapshot(market, outcome))
  market.snapshots += plan.outcomes.length
  market.nextMs = Math.min(market.endMs, timestampMs + drawGap(market))
  return undefined
}

function drawGap(market: SimulatedMarket): number {
  const { random, gapRank, gapMsMax, price } = market
  const rank = random.uniform()
  const isStuck = random.uniform() < GAP_STICKINESS
  // Folds the rank into the half of the former one, which leaves ranks uniform.
  market.gapRank = isStuck && rank < 0.5 !== gapRank < 0.5 ? 1 - rank : rank
  const gapMs = lookUp(market.model.gapMs, market.gapRank) * market.gapFactor
  const leadMs = Math.max(0, price.windowStartMs - price.timestampMs)
  // What of a lead's gap reaches into the window passes at the window's pace.
  const inLeadMs = Math.min(leadMs, gapMs * LEAD_GAP_FACTOR)
  const drawnMs = Math.round(inLeadMs + gapMs - inLeadMs / LEAD_GAP_FACTOR)
  return Math.min(Math.max(1, drawnMs), gapMsMax)
}

function changeBook(market: SimulatedMarket): void {
  const { book } = market
  const touched = moveTouch(market)
  const count = Math.max(touched > 0 ? 0 : 1, drawChangeCount(market) - touched)
  let changed = 0
  for (let draw = 0; draw < count * DRAWS_PER_CHANGE && changed < count; draw++) {
    const slot = draw < 2 ? drawTouch(market, draw) : drawSlot(market)
    if (slot >= 0 && changeOnce(market, slot)) changed++
  }
  if (touched + changed === 0) changeLevel(book, book.bid >= 0 ? book.bid : book.ask)
}

/** Changes or removes a level unless this state has done so. Returns whether anything changed. */
function changeOnce(market: SimulatedMarket, slot: number): boolean {
  const { book, random, price, changedAt, states } = market
  if (changedAt[slot] === states) return false
  const isLate = price.windowEndMs - price.timestampMs < LATE_MS
  const isRemoval = random.uniform() < (isLate ? LATE_REMOVAL_SHARE : REMOVAL_SHARE)
  const hasChanged = isRemoval ? removeLevel(book, slot) : changeLevel(book, slot)
  if (hasChanged) changedAt[slot] = states
  return hasChanged
}

/** Follows the fair price, or withdraws the side that has lost. Returns how many levels changed. */
function moveTouch(market: SimulatedMarket): number {
  const { book, price, coinPrice } = market
  const { winner, windowEndMs, timestampMs } = price
  const remainingMs = Math.max(REMAINING_MS_MIN, windowEndMs - timestampMs)
  const sigmas = oddsSigmas(market, coinPrice?.variableMs(remainingMs) ?? remainingMs)
  const mills = normalProbability(sigmas) * 1_000
  if (market.hasFineTick && !book.isFine && (mills < FINE_MILLS || mills > 1_000 - FINE_MILLS)) {
    refineTick(book, sigmas > 0)
  }
  const limit = market.withdrawSigmas * (market.hasWithdrawn ? RETURN_SHARE : 1)
  const hasWithdrawn =
    winner === undefined
      ? Math.abs(oddsSigmas(market, remainingMs)) > limit
      : market.isOneSidedAtEnd
  /** The side that is empty has since won. */
  const isOnOtherSide = sigmas > 0 ? book.ask < SLOTS : book.bid >= 0
  const isMoved = hasWithdrawn !== market.hasWithdrawn || isOnOtherSide
  market.hasWithdrawn = hasWithdrawn
  if (!hasWithdrawn) return followPrice(book, mills)
  return isMoved ? withdrawSide(book, sigmas > 0) : 0
}

/** Long gaps go with many changes: the rank of one is near the rank of the other. */
function drawChangeCount(market: SimulatedMarket): number {
  const rank = market.gapRank + (market.random.uniform() * 2 - 1) * CHANGE_RANK_NOISE
  // Reflected at 0 and 1, ranks stay uniform.
  const reflected = 1 - Math.abs(1 - Math.abs(rank))
  const count = lookUp(market.model.changedLevels, reflected)
  return Math.round(count * Math.sqrt(market.gapFactor))
}

/** Draws the best level of one side, then of the other; -1 when it is to stay or there is none. */
function drawTouch({ book, random, states }: SimulatedMarket, draw: number): number {
  if (random.uniform() >= TOUCH_CHANGE_SHARE) return -1
  // Alternates which side is first, because a state may have a single change.
  const slot = (draw + states) % 2 === 0 ? book.bid : book.ask
  return slot < SLOTS ? slot : -1
}

/** Draws a level by its distance from the touch of either side; -1 when there is none so far. */
function drawSlot({ book, model, random }: SimulatedMarket): number {
  const isBid = random.uniform() < 0.5
  if (book.isFine && random.uniform() < FINE_CHANGE_SHARE) {
    const distance = random.integer(FINE_REACH)
    const slot = isBid ? book.bid - distance : book.ask + distance
    return (book.sizes[slot] ?? 0) > 0 ? slot : -1
  }
  const distance = lookUp(model.distances, random.uniform())
  const slot = slotAtDistance(book, isBid, distance)
  return slot < 0 ? slotAtDistance(book, !isBid, distance) : slot
}

function slotAtDistance(book: SimulatedBook, isBid: boolean, distance: number): number {
  const touch = slotMills[isBid ? book.bid : book.ask]
  if (touch === undefined) return -1
  return slotOfCents(isBid ? Math.floor(touch / 10) - distance : Math.ceil(touch / 10) + distance)
}

function toSnapshot(market: SimulatedMarket, outcome: Outcome): Snapshot {
  const { plan, book, price, conditionId, assetIds } = market
  const { coin, timeframe } = plan
  const { bids, asks } = book[outcome]
  const { timestampMs } = price
  const assetId = assetIds[outcome]
  // No venue has hashed it.
  return { coin, conditionId, timeframe, assetId, outcome, timestampMs, bids, asks }
}

const nameAsset = (name: string, outcome: Outcome): string =>
  BigInt(`0x${toOwnId(sha256(`${name}/${outcome}`))}`).toString()

/** `simulated` in ASCII and seven zero bytes. */
const ID_START = '73696d756c617465640000'.padEnd(32, '0')

/** Whether an id of a market is of this version's simulator. */
export const isSimulatedId = (conditionId: string): boolean =>
  conditionId.startsWith(`0x${ID_START}`)

/**
 * Ids of simulated markets and tokens have a space of their own: the venue's are hashes of 256
 * bits, none of which begins with these 128.
 */
const toOwnId = (digest: string): string => ID_START + digest.slice(0, 64 - ID_START.length)

const sha256 = (text: string): string => Bun.SHA256.hash(text, 'hex')

/**
 * The price of the coin in its smallest unit. The strike is the price at the start of the window,
 * and what moved it before does not count.
 */
export const toCoinPrice = ({ price }: SimulatedMarket, strike: number): number =>
  price.timestampMs <= price.windowStartMs
    ? strike
    : strike + Math.round(strike * VOLATILITY * price.walk)

/** The price at the end: Up wins at the strike or above, so a walk just below 0 is a unit below. */
export const toFinalCoinPrice = (market: SimulatedMarket, strike: number): number =>
  market.price.winner === 'up'
    ? toCoinPrice(market, strike)
    : Math.min(toCoinPrice(market, strike), strike - 1)

/** Moves the price on to a time; one step however long, with the right distribution. */
function advancePrice({ price, coinPrice }: SimulatedMarket, timestampMs: number): void {
  const { windowStartMs, windowEndMs } = price
  const former = price.timestampMs
  price.timestampMs = timestampMs
  if (price.winner !== undefined) return
  if (coinPrice !== undefined) {
    price.winner = coinPrice.winner
    return
  }
  if (timestampMs < windowStartMs) {
    price.walk += step(price, timestampMs - former) * LEAD_VOLATILITY
    return
  }
  // What moved the price before the window does not count: the start is the strike.
  if (former < windowStartMs) price.walk = 0
  const from = Math.max(former, windowStartMs)
  price.walk += step(price, Math.min(timestampMs, windowEndMs) - from)
  if (timestampMs >= windowEndMs) price.winner = price.walk >= 0 ? 'up' : 'down'
}

/** How many standard deviations of what comes in some time Up is ahead; negative when behind. */
function oddsSigmas({ price, coinPrice }: SimulatedMarket, ms: number): number {
  if (price.winner !== undefined) return price.winner === 'up' ? DECIDED_SIGMAS : -DECIDED_SIGMAS
  const windowMs = price.windowEndMs - price.windowStartMs
  return (coinPrice?.lead ?? price.walk) / Math.sqrt(Math.min(1, ms / windowMs))
}

/** The probability of a standard normal number below `x`, to 1.5e-7: Abramowitz, Stegun 26.2.19. */
function normalProbability(x: number): number {
  const size = Math.abs(x)
  const c5 = 0.0000488906 + size * 0.000005383
  const c3 = 0.0032776263 + size * (0.0000380036 + size * c5)
  const base = 1 + size * (0.049867347 + size * (0.0211410061 + size * c3))
  const power4 = base * base * (base * base)
  const tail = 0.5 / (power4 * power4 * (power4 * power4))
  return x < 0 ? tail : 1 - tail
}

/**
 * A step of the fair price, which is that of a bet on the sign of a random walk at the window's end.
 * So it is a martingale, moves more the nearer the end is, and runs to 0 or 1; the walk's last value
 * is the market's winner. Only exact IEEE operations, the same on every platform.
 */
function step(price: SimulatedMarket['price'], durationMs: number): number {
  const windowMs = price.windowEndMs - price.windowStartMs
  return price.random.normal() * Math.sqrt(Math.max(0, durationMs) / windowMs)
}
