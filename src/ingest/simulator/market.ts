/** One simulated market: when its states come, what changes in each, and its winner at the end. */
import { type Coin, type Outcome, type Timeframe, timeframeMs } from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import { createRandom } from '#src/lib/random.ts'

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
import {
  CHANGE_RANK_NOISE,
  FINE_TICK_SHARE,
  GAP_STICKINESS,
  LATE_MS,
  LATE_REMOVAL_SHARE,
  LEAD_GAP_FACTOR,
  LEAD_MS,
  lookUp,
  type Model,
  rateOf,
  REMOVAL_SHARE,
  RESOLVED_SHARE,
  STATES_PER_SECOND,
  TAIL_MS_MAX,
  TOUCH_CHANGE_SHARE,
  WITHDRAW_SIGMAS_MAX,
  WITHDRAW_SIGMAS_MIN,
} from './model.ts'
import { advancePrice, createPrice, normalProbability, oddsSigmas } from './price.ts'

/** Draws a state may spend on one changed level before it does with fewer. */
const DRAWS_PER_CHANGE = 4

/** Share of a finely ticked book's draws that go to the slots next to the touch. */
const FINE_CHANGE_SHARE = 0.3
const FINE_REACH = 12

/** A side that withdrew comes back when the odds are below this share of what made it leave. */
const RETURN_SHARE = 0.8

/** Where the sizes begin in what the hash is of: identity (8), time (2), outcome, bid, ask. */
const HASH_HEADER = 13
const UINT32_VALUES = 4_294_967_296

export type MarketPlan = {
  seed: string
  coin: Coin
  timeframe: Timeframe
  windowStartMs: number
  statesPerSecond: number
  outcomes: readonly Outcome[]
  maxSnapshots: number
}

export type SimulatedMarket = ReturnType<typeof createMarket>

/** Opens a market; what happens in it depends on nothing but its plan, whatever runs beside it. */
export function createMarket(plan: MarketPlan, model: Model) {
  const { seed, coin, timeframe, windowStartMs, statesPerSecond } = plan
  const name = `bookfeed/${seed}/${coin}/${timeframe}/${windowStartMs}/${statesPerSecond}`
  const conditionDigest = sha256(name)
  const random = createRandom(name)
  const windowEndMs = windowStartMs + timeframeMs[timeframe]
  const hashInput = new Int32Array(HASH_HEADER + SLOTS)
  const hashBytes = new Uint8Array(hashInput.buffer)
  hashBytes.set(Buffer.from(conditionDigest, 'hex'))
  const startMs = windowStartMs - LEAD_MS
  return {
    plan,
    model,
    random,
    conditionId: `0x${conditionDigest}`,
    assetIds: { up: nameAsset(name, 'up'), down: nameAsset(name, 'down') },
    price: createPrice({ random, windowStartMs, windowEndMs }, startMs),
    book: createBook({ model, random, sizes: hashInput.subarray(HASH_HEADER) }),
    /** No state is later than this. */
    endMs: windowEndMs + random.integer(TAIL_MS_MAX),
    hasFineTick: random.uniform() < FINE_TICK_SHARE,
    withdrawSigmas:
      WITHDRAW_SIGMAS_MIN + random.uniform() * (WITHDRAW_SIGMAS_MAX - WITHDRAW_SIGMAS_MIN),
    isOneSidedAtEnd: random.uniform() < RESOLVED_SHARE,
    hashInput,
    hashBytes,
    /** The state that last changed each slot. */
    changedAt: new Int32Array(SLOTS),
    /** Real gaps are longer than the recorded ones by this. */
    gapFactor: STATES_PER_SECOND / (statesPerSecond * rateOf(timeframe)),
    gapRank: random.uniform(),
    hasWithdrawn: false,
    states: 0,
    snapshots: 0,
    /** The time of the next state, or of the end when there is none. */
    nextMs: startMs + random.integer(1_000),
  }
}

/**
 * Makes the state that is due at `nextMs`, adds its snapshots to `batch` and sets the time of the
 * next. Returns the winner instead when the recording is over.
 */
export function advanceMarket(market: SimulatedMarket, batch: Snapshot[]): Outcome | undefined {
  const { price, plan } = market
  const timestampMs = market.nextMs
  advancePrice(price, timestampMs)
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
  const { random, gapRank, price } = market
  const rank = random.uniform()
  const isStuck = random.uniform() < GAP_STICKINESS
  // Folds the rank into the half of the former one, which leaves ranks uniform.
  market.gapRank = isStuck && rank < 0.5 !== gapRank < 0.5 ? 1 - rank : rank
  const gapMs = lookUp(market.model.gapMs, market.gapRank) * market.gapFactor
  const leadMs = Math.max(0, price.windowStartMs - price.timestampMs)
  // What of a lead's gap reaches into the window passes at the window's pace.
  const inLeadMs = Math.min(leadMs, gapMs * LEAD_GAP_FACTOR)
  return Math.max(1, Math.round(inLeadMs + gapMs - inLeadMs / LEAD_GAP_FACTOR))
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
  const { book, price } = market
  const sigmas = oddsSigmas(price)
  const mills = normalProbability(sigmas) * 1_000
  if (market.hasFineTick && !book.isFine && (mills < FINE_MILLS || mills > 1_000 - FINE_MILLS)) {
    refineTick(book, sigmas > 0)
  }
  const limit = market.withdrawSigmas * (market.hasWithdrawn ? RETURN_SHARE : 1)
  const hasWithdrawn =
    price.winner === undefined ? Math.abs(sigmas) > limit : market.isOneSidedAtEnd
  const isMoved = hasWithdrawn !== market.hasWithdrawn || isOnOtherSide(book, sigmas)
  market.hasWithdrawn = hasWithdrawn
  if (!hasWithdrawn) return followPrice(book, mills)
  return isMoved ? withdrawSide(book, sigmas > 0) : 0
}

/** Returns whether the side that is empty is the one that has since won. */
const isOnOtherSide = (book: SimulatedBook, sigmas: number): boolean =>
  sigmas > 0 ? book.ask < SLOTS : book.bid >= 0

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
    const slot = isBid
      ? book.bid - random.integer(FINE_REACH)
      : book.ask + random.integer(FINE_REACH)
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
  const { plan, book, price, conditionId } = market
  const { coin, timeframe } = plan
  const { bids, asks } = book[outcome]
  const assetId = market.assetIds[outcome]
  const { timestampMs } = price
  const sourceHash = hashState(market, outcome)
  return { coin, conditionId, timeframe, assetId, outcome, timestampMs, bids, asks, sourceHash }
}

/** The SHA-1 of what a state consists of: not the venue's formula, but as unlikely to repeat. */
function hashState(
  { hashInput, hashBytes, price, book }: SimulatedMarket,
  outcome: Outcome,
): string {
  hashInput[8] = price.timestampMs % UINT32_VALUES
  hashInput[9] = Math.floor(price.timestampMs / UINT32_VALUES)
  hashInput[10] = outcome === 'up' ? 1 : 0
  hashInput[11] = book.bid
  hashInput[12] = book.ask
  return Bun.SHA1.hash(hashBytes, 'hex')
}

const nameAsset = (name: string, outcome: Outcome): string =>
  BigInt(`0x${sha256(`${name}/${outcome}`)}`).toString()

const sha256 = (text: string): string => Bun.SHA256.hash(text, 'hex')
