import { MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import {
  finalPriceFacts,
  type Outcome,
  type OutcomeMap,
  type Result,
  strikeFacts,
  windowFault,
} from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { timeFault, toIso } from '#src/domain/time.ts'
import { isRecord } from '#src/platform/record.ts'

import {
  type JsonObject,
  readAssetId,
  readConditionId,
  type Reading,
  readOptionalDecimal,
  readOptionalFees,
  readOptionalList,
  readOptionalText,
  readOptionalTimeMs,
  readOutcome,
  readPrice,
  readText,
  readTimeMs,
  tolerate,
  toOutcome,
  tryTimeMs,
} from '../json-fields.ts'
import type { KnownFacts, MarketRecord, RecordKind } from '../venue.ts'
import { apiKinds, pageKinds } from './api-records.ts'
import { readNamed, withConditionId } from './named.ts'
import { readSettlementRule } from './settlement.ts'
import { readSlug, type SlugReading } from './slug.ts'

const sides = ['bids', 'asks']
const marketMembers = ['clobTokenIds', 'positionIds', 'outcomePrices', 'questionID']

const singleKinds: readonly RecordKind[] = [
  { name: "the venue's event", required: [['markets']], forbidden: [], read: readEvent },
  // One that has traded carries `lastTradePrice`.
  {
    name: "the venue's market",
    required: [['conditionId'], marketMembers],
    forbidden: [],
    read: (value, reading) => [readGammaMarket(value, reading)],
  },
  {
    name: 'a token',
    required: [['slug'], ['assetId'], ['outcome']],
    forbidden: [...sides, 'lastTradePrice'],
    read: (value) => [readToken(value)],
  },
  {
    name: 'a last trade price',
    required: [['conditionId'], ['timestamp'], ['lastTradePrice']],
    forbidden: [...sides, ...marketMembers],
    read: (value, reading) => [readLastTrade(value, reading)],
  },
  ...apiKinds,
]

export const recordKinds: readonly RecordKind[] = [...singleKinds, ...pageKinds(singleKinds)]

/** A fault of one market is not one of the event: it names the market, and the others are read. */
export function readEvent(event: JsonObject, reading: Reading): MarketRecord[] {
  if (!Array.isArray(event.markets)) throw recordFault('markets: not an array')
  return event.markets.map((market: unknown, index) => {
    if (!isRecord(market)) return { kind: 'fault', reason: `markets[${index}]: not an object` }
    try {
      return readGammaMarket(market, reading, event)
    } catch (error) {
      if (!isRecordFault(error)) throw error
      return { kind: 'fault', reason: `markets[${index}].${error.message}` }
    }
  })
}

function readToken(value: JsonObject): MarketRecord {
  const named = readNamed(value, tryTimeMs(value.firstTs))
  if ('kind' in named) return named
  const outcome = readOutcome(value.outcome, 'outcome')
  const facts = { ...named, assetIds: { [outcome]: readAssetId(value.assetId, 'assetId') } }
  if (value.winner === null || value.winner === undefined) return { kind: 'facts', facts }
  const winner = readOutcome(value.winner, 'winner')
  return { kind: 'facts', facts: { ...facts, winner, winnerSource: 'dataset' } }
}

function readLastTrade(value: JsonObject, { nowMs }: Reading): MarketRecord {
  const timestampMs = readTimeMs(value.timestamp, 'timestamp')
  const facts = readNamed(value, timestampMs)
  if ('kind' in facts) return facts
  const fault = timeFault(timestampMs, nowMs) ?? windowFault(facts, timestampMs)
  if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
  // The venue gives one price for both outcomes and not which of them was traded.
  const price = readPrice(value.lastTradePrice, 'lastTradePrice')
  return { kind: 'trade', facts, trade: { timestampMs, price } }
}

/**
 * A market of Gamma, the catalogue, alone or in its event. Throws a `record` fault where what is
 * wrong says which market it is; other facts are left out, unless reading is strict.
 */
function readGammaMarket(
  market: JsonObject,
  { isStrict, nowMs }: Reading,
  event?: JsonObject,
): MarketRecord {
  const slug = readText(market.slug, 'slug')
  const named = readSlug(slug, tryTimeMs(market.endDate))
  if (named.kind === 'left_out') return withConditionId(named, market)
  const sides = readOutcomes(market)
  if (sides === 'others') {
    const reason = 'its outcomes are not Up and Down'
    return withConditionId({ kind: 'left_out', reason }, market)
  }
  const prices = readPrices(market, event)
  const leftOut: string[] = []
  const read = <T>(reader: (value: unknown, path: string) => T, value: unknown, path: string) =>
    isStrict ? reader(value, path) : tolerate(leftOut, () => reader(value, path))
  const window = readWindow(market, named)
  const facts: KnownFacts = {
    conditionId: readConditionId(market.conditionId),
    coin: named.coin,
    timeframe: named.timeframe,
    slug,
    question: read(readOptionalText, market.question, 'question'),
    ...window,
    assetIds: readNamedAssetIds(market, { slug, sides }),
    tickSize: read(readTickSize, market.orderPriceMinTickSize, 'orderPriceMinTickSize'),
    settlementRule: readSettlementRule(market, event, { ...named, ...window }),
    ...strikeFacts(read(readOptionalDecimal, prices?.priceToBeat, 'eventMetadata.priceToBeat'), {
      ...window,
      source: 'catalogue',
    }),
    ...finalPriceFacts(read(readOptionalDecimal, prices?.finalPrice, 'eventMetadata.finalPrice'), {
      ...window,
      source: 'catalogue',
    }),
    feeSchedule:
      market.feesEnabled === false
        ? undefined
        : read(readOptionalFees, market.feeSchedule, 'feeSchedule'),
  }
  const isLate = nowMs >= (window.windowEndMs ?? 0) + VOID_AFTER_MS
  const winner = readResult(market, { sides, isLate })
  const won = winner === undefined ? {} : ({ winner, winnerSource: 'venue' } as const)
  return { kind: 'facts', facts: { ...facts, ...won }, leftOut }
}

type Sides = readonly [Outcome, Outcome]
type Times = Pick<KnownFacts, 'windowStartMs' | 'windowEndMs'>
type Named = Extract<SlugReading, { kind: 'market' }>

/** The order of the outcomes is that of their tokens and prices. */
function readOutcomes(market: JsonObject): Sides | 'others' | undefined {
  const names = readOptionalList(market.outcomes, 'outcomes')
  if (names === undefined) return undefined
  const [first, second] = names.map(toOutcome)
  if (names.length !== 2 || first === undefined || second === undefined || first === second) {
    return 'others'
  }
  return [first, second]
}

function readWindow(market: JsonObject, { window, isEpoch }: Named): Times {
  const startMs = readOptionalTimeMs(market.eventStartTime, 'eventStartTime')
  const endMs = readOptionalTimeMs(market.endDate, 'endDate')
  if (isEpoch && window !== undefined) {
    assertAgrees('eventStartTime', startMs, window.startMs)
    assertAgrees('endDate', endMs, window.endMs)
    return { windowStartMs: window.startMs, windowEndMs: window.endMs }
  }
  // A name completes the object's times only where it agrees with the one that is given.
  const agrees =
    window !== undefined &&
    (startMs ?? window.startMs) === window.startMs &&
    (endMs ?? window.endMs) === window.endMs
  const windowStartMs = startMs ?? (agrees ? window.startMs : undefined)
  const windowEndMs = endMs ?? (agrees ? window.endMs : undefined)
  if (windowStartMs !== undefined && windowEndMs !== undefined && windowEndMs <= windowStartMs) {
    throw recordFault('endDate: not after eventStartTime')
  }
  return { windowStartMs, windowEndMs }
}

function assertAgrees(path: string, givenMs: number | undefined, namedMs: number): void {
  if (givenMs === undefined || givenMs === namedMs) return
  throw recordFault(`${path}: ${toIso(givenMs)}, but the slug says ${toIso(namedMs)}`)
}

/** A fault of the ids names the market: the list of a page or an event has many. */
function readNamedAssetIds(
  market: JsonObject,
  { slug, sides }: { slug: string; sides: Sides | undefined },
): OutcomeMap<string> | undefined {
  try {
    return readAssetIds(market, sides)
  } catch (error) {
    if (!isRecordFault(error)) throw error
    throw recordFault(`${error.message} (market ${slug})`, { cause: error })
  }
}

/** The member with the ids of the outcomes' tokens, by the version of the venue's protocol. */
const idMembers = new Map([
  ['v1', 'clobTokenIds'],
  ['v2', 'positionIds'],
])

/**
 * Reads the ids under which books, prices and subscriptions know the outcomes. The version alone
 * says which list they are in: a market may carry both lists, with other ids.
 */
function readAssetIds(
  market: JsonObject,
  sides: Sides | undefined,
): OutcomeMap<string> | undefined {
  const version = readOptionalText(market.version, 'version')
  // Objects from before there was a second version do not name theirs.
  const member = idMembers.get(version ?? 'v1')
  if (member === undefined) {
    throw recordFault(`version: neither ${[...idMembers.keys()].join(' nor ')}`)
  }
  const ids = readOptionalList(market[member], member)
  if (ids === undefined && version !== undefined) {
    throw recordFault(`${member}: missing, in a market of version ${version}`)
  }
  if (ids === undefined || sides === undefined) return undefined
  const [first, second] = ids.map((id, index) => readAssetId(id, `${member}[${index}]`))
  if (ids.length !== 2 || first === second) {
    throw recordFault(`${member}: not the ids of two different tokens`)
  }
  return { [sides[0]]: first, [sides[1]]: second }
}

function readTickSize(value: unknown, path: string): number | undefined {
  const text = readOptionalDecimal(value, path)
  if (text === undefined) return undefined
  const tickSize = parseMillionths(text)
  if (tickSize === undefined || tickSize === 0 || tickSize >= MILLIONTHS_PER_UNIT) {
    throw recordFault(`${path}: not between 0 and 1 with at most six digits`)
  }
  return tickSize
}

/** The coin's prices belong to the event, which may contain the market or be in it. */
function readPrices(market: JsonObject, event: JsonObject | undefined): JsonObject | undefined {
  const events: unknown = market.events
  const own: unknown = Array.isArray(events) ? events[0] : undefined
  for (const holder of [market, event, own]) {
    const prices = isRecord(holder) ? holder.eventMetadata : undefined
    if (isRecord(prices)) return prices
  }
  return undefined
}

/** What the venue calls a resolution that is final. */
const finalStatuses: ReadonlySet<unknown> = new Set(['resolved', 'settled'])
/** An open market is at half each too: it is void once that has stayed for so long. */
const VOID_AFTER_MS = 600_000
const HALF = MILLIONTHS_PER_UNIT / 2

/** Only a market that is closed and resolved was won, at 1 to 0, or is void, at half each. */
function readResult(
  market: JsonObject,
  { sides, isLate }: { sides: Sides | undefined; isLate: boolean },
): Result | undefined {
  if (market.closed !== true || !finalStatuses.has(market.umaResolutionStatus)) return undefined
  const paid = readOptionalList(market.outcomePrices, 'outcomePrices')?.map(parseMillionths)
  if (sides === undefined || paid?.length !== 2) return undefined
  const [first, second] = paid
  if (first === HALF && second === HALF) return isLate ? 'void' : undefined
  if (first === MILLIONTHS_PER_UNIT && second === 0) return sides[0]
  return first === 0 && second === MILLIONTHS_PER_UNIT ? sides[1] : undefined
}
