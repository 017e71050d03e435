/** One simulated market: the times of its states, the changes in each, and its winner. */
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

/** After a gap on one side of the median, the next is on the same side in 62 % of cases. */
const GAP_STICKINESS = 0.25
/** Half the range by which the rank of a state's changes may differ from the rank of its gap. */
const CHANGE_RANK_NOISE = 0.3
/** The best level of a side changes in most states: it is drawn first, with this chance. */
const TOUCH_CHANGE_SHARE = 0.7
/** Away from the touch, few levels vanish. */
const REMOVAL_SHARE = 0.002
/** In a window's last minute makers withdraw: ladders of 60 to 95 levels become common. */
const LATE_MS = 60_000
const LATE_REMOVAL_SHARE = 0.06
/**
 * Standard deviations from even odds beyond which the losing side withdraws, drawn per market. On
 * 20260413 this makes 15 % of states one-sided in the last half minute, 6 % in the one before, and
 * 3 % and 1 % before those; on 20260414, 1.6 % to 0.8 %. (Another source's 76 % is in neither.)
 */
const WITHDRAW_SIGMAS_MIN = 3
const WITHDRAW_SIGMAS_MAX = 14
/** 87 % of states after the end of a window are one-sided. */
const RESOLVED_SHARE = 0.87
/** Share of markets whose tick falls to 0.001 beyond 0.96 and 0.04 (0.3 % of states). */
const FINE_TICK_SHARE = 0.02
/** Before its window opens, a price moves 0.55 cents a second; within it, 1.4 to 2 at even odds. */
const LEAD_VOLATILITY = 0.2
/** Recording begins this long before a window, sparsely (62 states), and ends soon after it. */
export const LEAD_MS = 190_000
const LEAD_GAP_FACTOR = 38
export const TAIL_MS_MAX = 4_500
/** Share of the longest pause that is not a gap: a state that is written late makes none either. */
const WHOLE_SHARE = 0.8
/** Draws per changed level before a state makes do with fewer changes. */
const DRAWS_PER_CHANGE = 4
/** Share of draws that a book with the finer tick spends on the slots next to the touch. */
const FINE_CHANGE_SHARE = 0.3
const FINE_REACH = 12
/** A side that withdrew returns when the odds fall below this share of those at which it left. */
const RETURN_SHARE = 0.8
/** Closer to the end, the odds would be infinite. */
const REMAINING_MS_MIN = 50
/** Odds of a decided market. */
const DECIDED_SIGMAS = 20
/** Rate relative to a 5-minute window: 329 to 920 frames a second (venue notes, 2026-09-21). */
const toRate = (timeframe: Timeframe): number => (timeframe === '5m' ? 1 : 0.36)

export type SimulatedMarket = ReturnType<typeof createMarket>

/** Opens a market. It depends only on its plan, not on markets that run beside it. */
export function createMarket(
  plan: {
    seed: string
    coin: Coin
    timeframe: Timeframe
    windowStartMs: number
    statesPerSecond: number
    outcomes: readonly Outcome[]
    maxSnapshots: number
    /** True if pauses between states are too short to be gaps. */
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
      /** Undefined until the window ends. */
      winner: undefined as Outcome | undefined,
    },
    /**
     * Set at the opening of the window if the coin has its own price, which then decides instead of
     * the walk.
     */
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
    /** Factor between these gaps and the recorded ones. */
    gapFactor: STATES_PER_SECOND / (statesPerSecond * toRate(timeframe)),
    gapMsMax: isWhole ? WHOLE_SHARE * silenceMs(timeframe) : Number.POSITIVE_INFINITY,
    gapRank: random.uniform(),
    hasWithdrawn: false,
    states: 0,
    snapshots: 0,
    /** The time of the next state, or of the end if there is none. */
    nextMs: startMs + random.integer(1_000),
  }
}

/** Adds the state due at `nextMs` to `batch`, or returns the winner if the recording has ended. */
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
  // Mirrors the rank into the half of the previous one, which keeps ranks uniform.
  market.gapRank = isStuck && rank < 0.5 !== gapRank < 0.5 ? 1 - rank : rank
  const gapMs = lookUp(market.model.gapMs, market.gapRank) * market.gapFactor
  const leadMs = Math.max(0, price.windowStartMs - price.timestampMs)
  // The part of a lead's gap that reaches into the window passes at the window's pace.
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

/** Changes or removes a level, once per state. Returns true if anything changed. */
function changeOnce(market: SimulatedMarket, slot: number): boolean {
  const { book, random, price, changedAt, states } = market
  if (changedAt[slot] === states) return false
  const isLate = price.windowEndMs - price.timestampMs < LATE_MS
  const isRemoval = random.uniform() < (isLate ? LATE_REMOVAL_SHARE : REMOVAL_SHARE)
  const hasChanged = isRemoval ? removeLevel(book, slot) : changeLevel(book, slot)
  if (hasChanged) changedAt[slot] = states
  return hasChanged
}

/** Follows the fair price, or withdraws the losing side. Returns the number of changed levels. */
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
  /** The empty side has since become the winner. */
  const isOnOtherSide = sigmas > 0 ? book.ask < SLOTS : book.bid >= 0
  const isMoved = hasWithdrawn !== market.hasWithdrawn || isOnOtherSide
  market.hasWithdrawn = hasWithdrawn
  if (!hasWithdrawn) return followPrice(book, mills)
  return isMoved ? withdrawSide(book, sigmas > 0) : 0
}

/** Long gaps go with many changes: the ranks of both are close. */
function drawChangeCount(market: SimulatedMarket): number {
  const rank = market.gapRank + (market.random.uniform() * 2 - 1) * CHANGE_RANK_NOISE
  // Reflection at 0 and 1 keeps ranks uniform.
  const reflected = 1 - Math.abs(1 - Math.abs(rank))
  const count = lookUp(market.model.changedLevels, reflected)
  return Math.round(count * Math.sqrt(market.gapFactor))
}

/** Draws the best level of one side, then of the other; -1 if it stays, or if there is none. */
function drawTouch({ book, random, states }: SimulatedMarket, draw: number): number {
  if (random.uniform() >= TOUCH_CHANGE_SHARE) return -1
  // Alternates the first side, because a state may have a single change.
  const slot = (draw + states) % 2 === 0 ? book.bid : book.ask
  return slot < SLOTS ? slot : -1
}

/** Draws a level by its distance from the touch of either side; -1 if none is that far away. */
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
  // Without `sourceHash`: no venue has hashed it.
  return { coin, conditionId, timeframe, assetId, outcome, timestampMs, bids, asks }
}

const nameAsset = (name: string, outcome: Outcome): string =>
  BigInt(`0x${toOwnId(sha256(`${name}/${outcome}`))}`).toString()

/** `simulated` in ASCII and seven zero bytes. */
const ID_START = '73696d756c617465640000'.padEnd(32, '0')

/** True for a market id of this version's simulator. */
export const isSimulatedId = (conditionId: string): boolean =>
  conditionId.startsWith(`0x${ID_START}`)

/**
 * Ids of simulated markets and tokens have their own prefix: the venue's are hashes of 256 bits,
 * none of which begins with these 128 bits.
 */
const toOwnId = (digest: string): string => ID_START + digest.slice(0, 64 - ID_START.length)

const sha256 = (text: string): string => Bun.SHA256.hash(text, 'hex')

/**
 * The coin's price in its smallest unit. The strike is the price at the start of the window; moves
 * before that do not count.
 */
export const toCoinPrice = ({ price }: SimulatedMarket, strike: number): number =>
  price.timestampMs <= price.windowStartMs
    ? strike
    : strike + Math.round(strike * VOLATILITY * price.walk)

/**
 * The price at the end. Up wins at the strike or above, so a walk just below 0 ends one unit below
 * the strike.
 */
export const toFinalCoinPrice = (market: SimulatedMarket, strike: number): number =>
  market.price.winner === 'up'
    ? toCoinPrice(market, strike)
    : Math.min(toCoinPrice(market, strike), strike - 1)

/** Advances the price to a time, in one step of the right distribution. */
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
  // Moves before the window do not count: its start is the strike.
  if (former < windowStartMs) price.walk = 0
  const from = Math.max(former, windowStartMs)
  price.walk += step(price, Math.min(timestampMs, windowEndMs) - from)
  if (timestampMs >= windowEndMs) price.winner = price.walk >= 0 ? 'up' : 'down'
}

/** The lead of Up in standard deviations of the remaining moves; negative if Down leads. */
function oddsSigmas({ price, coinPrice }: SimulatedMarket, ms: number): number {
  if (price.winner !== undefined) return price.winner === 'up' ? DECIDED_SIGMAS : -DECIDED_SIGMAS
  const windowMs = price.windowEndMs - price.windowStartMs
  return (coinPrice?.lead ?? price.walk) / Math.sqrt(Math.min(1, ms / windowMs))
}

/** The standard normal distribution function, to 1.5e-7: Abramowitz, Stegun 26.2.19. */
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
 * A step of the fair price of a bet on the sign of a random walk at the window's end. The price is
 * a martingale, moves more the closer the end is, and ends at 0 or 1; the walk's last value decides
 * the winner. Uses only exact IEEE operations, the same on every platform.
 */
function step(price: SimulatedMarket['price'], durationMs: number): number {
  const windowMs = price.windowEndMs - price.windowStartMs
  return price.random.normal() * Math.sqrt(Math.max(0, durationMs) / windowMs)
}
