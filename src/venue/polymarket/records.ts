/**
 * The venue's objects in recordings and responses: events and markets of Gamma, its catalogue;
 * trades of the Data API; markets of the order book API; pages of these; and rows of a common data
 * set.
 */

import { MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import {
  finalPriceFacts,
  type Outcome,
  type OutcomeMap,
  parseConditionId,
  type Result,
  strikeFacts,
  windowFault,
} from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { timeFault, toIso } from '#src/domain/time.ts'
import { toTransactionHash } from '#src/domain/trade.ts'
import { isRecord } from '#src/platform/record.ts'

import type { KnownFacts, MoreFacts } from '../catalogue.ts'
import {
  fitsKind,
  isAbsent,
  type JsonObject,
  readAssetId,
  readConditionId,
  type Reading,
  readOptionalDecimal,
  readOptionalDelay,
  readOptionalFees,
  readOptionalList,
  readOptionalOrderAge,
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
import type { LeftOut, MarketRecord, RecordKind } from '../venue.ts'
import { readSettlementRule } from './settlement.ts'
import { readSlug, type SlugReading } from './slug.ts'

const sides = ['bids', 'asks']
const marketMembers = ['clobTokenIds', 'positionIds', 'outcomePrices', 'questionID']

const singleKinds: readonly RecordKind[] = [
  { name: "the venue's event", required: [['markets']], forbidden: [], read: readEvent },
  // A market that has traded has `lastTradePrice`.
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
  // Both versions of the Data API.
  {
    name: 'a trade of the Data API',
    required: [
      ['asset', 'token_id'],
      ['conditionId', 'condition_id'],
      ['side'],
      ['price'],
      ['size'],
      ['timestamp'],
    ],
    forbidden: [...sides, 'event_type', 'lastTradePrice'],
    read: (value, reading) => [readDataTrade(value, reading)],
  },
  {
    name: 'a market of the order book API',
    required: [['condition_id'], ['tokens'], ['market_slug']],
    forbidden: [...sides, 'event_type'],
    read: (value) => [readClobMarket(value)],
  },
  {
    name: 'a market of the order book API, in short',
    required: [['c'], ['t'], ['mts']],
    forbidden: sides,
    read: (value) => [readShortMarket(value)],
  },
  {
    name: 'a resolution of the Data API',
    required: [['condition_id'], ['payouts']],
    forbidden: sides,
    read: (value) => [readResolution(value)],
  },
  {
    name: 'a market that the socket announces',
    required: [['event_type'], ['slug'], ['outcomes'], ['assets_ids', 'clob_token_ids']],
    forbidden: sides,
    read: (value) => [readAnnouncement(value)],
  },
]

export const recordKinds: readonly RecordKind[] = [
  ...singleKinds,
  {
    name: "a page of the venue's events",
    required: [['events']],
    forbidden: ['conditionId', 'condition_id', 'slug', 'markets', 'data'],
    read: (value, reading) => readPage('events', value.events, reading),
  },
  {
    name: "a page of the venue's objects",
    required: [['data']],
    forbidden: [...sides, 'events', 'markets', 'nextCursor'],
    read: (value, reading) => readPage('data', value.data, reading),
  },
]

/** Reads a page. A faulty element becomes a fault that names it; the others are read. */
function readPage(member: string, list: unknown, reading: Reading): MarketRecord[] {
  if (!Array.isArray(list)) throw recordFault(`${member}: not an array`)
  return list.flatMap((each: unknown, index): MarketRecord[] => {
    const fault = (reason: string): MarketRecord[] => [
      { kind: 'fault', reason: `${member}[${index}]: ${reason}` },
    ]
    if (!isRecord(each)) return fault('not an object')
    const kind = singleKinds.find((known) => fitsKind(known, each))
    if (kind === undefined)
      return fault(`none of: ${singleKinds.map(({ name }) => name).join('; ')}`)
    try {
      return kind.read(each, reading)
    } catch (error) {
      if (!isRecordFault(error)) throw error
      return fault(error.message)
    }
  })
}

/** Reads an event. A faulty market becomes a fault that names it; the others are read. */
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

/** Reads the market of an object. `nearMs` is that of `readSlug`. Throws a `record` fault. */
function readNamed(
  slugValue: unknown,
  conditionIdValue: unknown,
  nearMs?: number,
): KnownFacts | LeftOut {
  const slug = readText(slugValue, 'slug')
  const reading = readSlug(slug, nearMs)
  if (reading.kind === 'left_out') return leaveOut(reading.reason, conditionIdValue)
  const { coin, timeframe, window } = reading
  return {
    conditionId: readConditionId(conditionIdValue),
    coin,
    timeframe,
    slug,
    windowStartMs: window?.startMs,
    windowEndMs: window?.endMs,
  }
}

function leaveOut(reason: string, conditionId: unknown): LeftOut {
  const id = typeof conditionId === 'string' ? parseConditionId(conditionId) : undefined
  return { kind: 'left_out', reason, conditionId: id }
}

const FOREIGN_OUTCOMES = 'its outcomes are not Up and Down'

function readToken(value: JsonObject): MarketRecord {
  const named = readNamed(value.slug, value.conditionId, tryTimeMs(value.firstTs))
  if ('kind' in named) return named
  const outcome = readOutcome(value.outcome, 'outcome')
  const facts = { ...named, assetIds: { [outcome]: readAssetId(value.assetId, 'assetId') } }
  if (value.winner === null || value.winner === undefined) return { kind: 'facts', facts }
  const winner = readOutcome(value.winner, 'winner')
  return { kind: 'facts', facts: { ...facts, winner, winnerSource: 'dataset' } }
}

function readLastTrade(value: JsonObject, { nowMs }: Reading): MarketRecord {
  const timestampMs = readTimeMs(value.timestamp, 'timestamp')
  const facts = readNamed(value.slug, value.conditionId, timestampMs)
  if ('kind' in facts) return facts
  const fault = timeFault(timestampMs, nowMs) ?? windowFault(facts, timestampMs)
  if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
  // The venue sends one price for both outcomes, and does not say which one was traded.
  const price = readPrice(value.lastTradePrice, 'lastTradePrice')
  return { kind: 'trade', facts, trade: { timestampMs, price } }
}

/** The times of the Data API are whole seconds. */
function readDataTrade(value: JsonObject, { nowMs }: Reading): MarketRecord {
  const timestampMs = readTimeMs(value.timestamp, 'timestamp')
  const named = readNamed(value.slug, value.conditionId ?? value.condition_id, timestampMs)
  if ('kind' in named) return named
  const outcome = toOutcome(readText(value.outcome, 'outcome'))
  if (outcome === undefined) return leaveOut(FOREIGN_OUTCOMES, named.conditionId)
  const fault = timeFault(timestampMs, nowMs)
  if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
  const side = readText(value.side, 'side').toLowerCase()
  if (side !== 'buy' && side !== 'sell') throw recordFault('side: neither BUY nor SELL')
  const size = parseMillionths(readOptionalDecimal(value.size, 'size') ?? '')
  if (!size) throw recordFault('size: not a decimal above 0 with at most six digits')
  const price = readPrice(value.price, 'price')
  const assetId = readTradedAsset(value.asset ?? value.token_id)
  const transactionHash = toTransactionHash(value.transactionHash ?? value.transaction_hash)
  return {
    kind: 'trade',
    facts: { ...named, assetIds: assetId === undefined ? {} : { [outcome]: assetId } },
    trade: { timestampMs, price, outcome, size, side, transactionHash },
  }
}

/**
 * Undefined for an id that a table stored as a float: market and outcome then identify the token.
 */
const readTradedAsset = (value: unknown): string | undefined =>
  /^\d\.\d+e\+\d+$/i.test(String(value)) ? undefined : readAssetId(value, 'asset')

function readClobMarket(market: JsonObject): MarketRecord {
  const named = readNamed(market.market_slug, market.condition_id)
  if ('kind' in named) return named
  const { tokens } = market
  if (!Array.isArray(tokens)) throw recordFault('tokens: not an array')
  const assetIds: { [outcome in Outcome]?: string } = {}
  const winners: Outcome[] = []
  for (const [index, token] of tokens.entries()) {
    if (!isRecord(token)) throw recordFault(`tokens[${index}]: not an object`)
    const outcome = toOutcome(readText(token.outcome, `tokens[${index}].outcome`))
    if (outcome === undefined) return leaveOut(FOREIGN_OUTCOMES, named.conditionId)
    if (assetIds[outcome] !== undefined) throw recordFault(`tokens: ${outcome} twice`)
    assetIds[outcome] = readAssetId(token.token_id, `tokens[${index}].token_id`)
    if (token.winner === true) winners.push(outcome)
  }
  if (assetIds.up !== undefined && assetIds.up === assetIds.down)
    throw recordFault('tokens: the same id twice')
  if (winners.length > 1) throw recordFault('tokens: two winners')
  const [winner] = market.closed === false ? [] : winners
  return {
    kind: 'facts',
    facts: {
      ...named,
      question: readOptionalText(market.question, 'question'),
      assetIds,
      tickSize: readTickSize(market.minimum_tick_size, 'minimum_tick_size'),
      winner,
      winnerSource: winner === undefined ? undefined : 'venue',
    },
  }
}

/**
 * Reads a market whose members have short names: `c` is the condition id, `t` the tokens, `mts` the
 * price increment, `fd` the fees, and `oas` the age in seconds that an order must have before it can
 * be cancelled.
 */
export function readShortMarket({ c, t, mts, fd, itode, oas }: JsonObject): MarketRecord {
  const conditionId = readConditionId(c)
  if (!Array.isArray(t)) throw recordFault('t: not an array')
  const assetIds: { [outcome in Outcome]?: string } = {}
  for (const [index, token] of t.entries()) {
    if (!isRecord(token)) throw recordFault(`t[${index}]: not an object`)
    const outcome = toOutcome(readText(token.o, `t[${index}].o`))
    if (outcome === undefined) return leaveOut(FOREIGN_OUTCOMES, conditionId)
    if (assetIds[outcome] !== undefined) throw recordFault(`t: ${outcome} twice`)
    assetIds[outcome] = readAssetId(token.t, `t[${index}].t`)
  }
  const facts = {
    assetIds,
    tickSize: readTickSize(mts, 'mts'),
    fees: readShortFees(fd),
    takerDelayMs: readDelayFlag(itode),
    orderAgeMs: isAbsent(oas) ? undefined : readOptionalOrderAge(Number(oas) * SECOND_MS, 'oas'),
  }
  return { kind: 'more', conditionId, facts }
}

/** Reads fees, without the rebate, from rate, exponent and "takers only"; all are null without fees. */
function readShortFees(value: unknown): MoreFacts['fees'] {
  if (isAbsent(value)) return undefined
  if (!isRecord(value)) throw recordFault('fd: not an object')
  const [rate, exponent] = ['r', 'e'].map((name) => {
    const member = value[name]
    return readOptionalDecimal(typeof member === 'number' ? String(member) : member, `fd.${name}`)
  })
  if (rate === undefined || exponent === undefined) return undefined
  if (typeof value.to !== 'boolean') throw recordFault('fd.to: not true or false')
  return { rate, exponent, takerOnly: value.to }
}

/**
 * Reads `itode`: true if the venue holds back orders that take; it leaves the member out if it does
 * not. A number is the delay in milliseconds.
 */
const readDelayFlag = (value: unknown): number | undefined =>
  typeof value === 'boolean' || isAbsent(value)
    ? Number(value === true) * TAKER_DELAY_MS
    : readOptionalDelay(value, 'itode')

/** The delay that the venue documents for every market that has one. */
const TAKER_DELAY_MS = 250

/** Millionths paid per outcome, in the venue's order: Up, Down. */
function readResolution(value: JsonObject): MarketRecord {
  const conditionId = readConditionId(value.condition_id)
  const { payouts, status } = value
  if (!Array.isArray(payouts) || payouts.length !== 2) throw recordFault('payouts: not two payouts')
  const [up, down] = payouts.map(Number)
  if (status !== 'resolved') return { kind: 'more', conditionId, facts: {} }
  let winner: Result | undefined
  if (up === HALF && down === HALF) winner = 'void'
  else if (up === MILLIONTHS_PER_UNIT && down === 0) winner = 'up'
  else if (up === 0 && down === MILLIONTHS_PER_UNIT) winner = 'down'
  if (winner === undefined)
    throw recordFault('payouts: neither all to one outcome nor half to each')
  return { kind: 'more', conditionId, facts: { winner, winnerSource: 'venue' } }
}

/** In every version of the protocol, books name the market and its tokens by these ids. */
function readAnnouncement(message: JsonObject): MarketRecord {
  const named = readNamed(message.slug, message.market ?? message.condition_id)
  if ('kind' in named) return named
  const [first, second, ...more] =
    readOptionalList(message.outcomes, 'outcomes')?.map(toOutcome) ?? []
  if (!first || !second || first === second || more.length > 0)
    return leaveOut(FOREIGN_OUTCOMES, named.conditionId)
  const member = message.assets_ids === undefined ? 'clob_token_ids' : 'assets_ids'
  const ids = (readOptionalList(message[member], member) ?? []).map((id) => readAssetId(id, member))
  if (ids.length !== 2 || ids[0] === ids[1])
    throw recordFault(`${member}: not the ids of two different tokens`)
  return {
    kind: 'facts',
    facts: {
      ...named,
      question: readOptionalText(message.question, 'question'),
      assetIds: { [first]: ids[0], [second]: ids[1] },
      tickSize: readTickSize(message.order_price_min_tick_size, 'order_price_min_tick_size'),
    },
  }
}

/**
 * Reads a market of Gamma, alone or in its event. Throws a `record` fault if the market cannot be
 * identified; other faulty facts are left out, unless reading is strict.
 */
function readGammaMarket(
  market: JsonObject,
  { isStrict, nowMs }: Reading,
  event?: JsonObject,
): MarketRecord {
  const slug = readText(market.slug, 'slug')
  const named = readSlug(slug, tryTimeMs(market.endDate))
  if (named.kind === 'left_out') return leaveOut(named.reason, market.conditionId)
  const names = readOptionalList(market.outcomes, 'outcomes')?.map(toOutcome)
  const [first, second] = names ?? []
  const hasBoth = names?.length === 2 && first && second && first !== second
  if (names !== undefined && !hasBoth) return leaveOut(FOREIGN_OUTCOMES, market.conditionId)
  /** Tokens and prices are in the same order. */
  const ordered = hasBoth ? ([first, second] as const) : undefined
  const prices = readPrices(market, event)
  const leftOut: string[] = []
  const read = <T>(reader: (value: unknown, path: string) => T, value: unknown, path: string) =>
    isStrict ? reader(value, path) : tolerate(leftOut, () => reader(value, path))
  const window = readWindow(market, named)
  const { coin, timeframe } = named
  const catalogue = { ...window, source: 'catalogue' } as const
  const facts: KnownFacts = {
    conditionId: readConditionId(market.conditionId),
    coin,
    timeframe,
    slug,
    question: read(readOptionalText, market.question, 'question'),
    ...window,
    assetIds: readNamedAssetIds(market, slug, ordered),
    tickSize: read(readTickSize, market.orderPriceMinTickSize, 'orderPriceMinTickSize'),
    settlementRule: readSettlementRule(market, event, timeframe, window.windowEndMs),
    ...strikeFacts(
      read(readOptionalDecimal, prices?.priceToBeat, 'eventMetadata.priceToBeat'),
      catalogue,
    ),
    ...finalPriceFacts(
      read(readOptionalDecimal, prices?.finalPrice, 'eventMetadata.finalPrice'),
      catalogue,
    ),
    feeSchedule:
      market.feesEnabled === false
        ? undefined
        : read(readOptionalFees, market.feeSchedule, 'feeSchedule'),
    takerDelayMs: read(readDelay, market.secondsDelay, 'secondsDelay'),
  }
  const isLate = nowMs >= (window.windowEndMs ?? 0) + VOID_AFTER_MS
  const winner = readResult(market, ordered, isLate)
  const won = winner === undefined ? {} : ({ winner, winnerSource: 'venue' } as const)
  const hasIds = [...idMembers.values()].some((member) => !isAbsent(market[member]))
  const hasNoVersion = hasIds && isAbsent(market.version)
  return { kind: 'facts', facts: { ...facts, ...won }, leftOut, hasNoVersion }
}

/**
 * The catalogue states delays in whole seconds: 0 is also what it states of a shorter one, and so
 * says nothing.
 */
function readDelay(value: unknown, path: string): number | undefined {
  if (isAbsent(value) || Number(value) === 0) return undefined
  return readOptionalDelay(Number(value) * SECOND_MS, path)
}
const SECOND_MS = 1000

function readWindow(
  market: JsonObject,
  { window, isEpoch }: Extract<SlugReading, { kind: 'market' }>,
): Pick<KnownFacts, 'windowStartMs' | 'windowEndMs'> {
  const startMs = readOptionalTimeMs(market.eventStartTime, 'eventStartTime')
  const endMs = readOptionalTimeMs(market.endDate, 'endDate')
  if (isEpoch && window !== undefined) {
    assertAgrees('eventStartTime', startMs, window.startMs)
    assertAgrees('endDate', endMs, window.endMs)
    return { windowStartMs: window.startMs, windowEndMs: window.endMs }
  }
  // A name completes the object's times only if it agrees with those given.
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

/** A fault of the ids names the market, because the list of a page or an event has many. */
function readNamedAssetIds(
  market: JsonObject,
  slug: string,
  ordered: readonly [Outcome, Outcome] | undefined,
): OutcomeMap<string> | undefined {
  try {
    return readAssetIds(market, ordered)
  } catch (error) {
    if (!isRecordFault(error)) throw error
    throw recordFault(`${error.message} (market ${slug})`, { cause: error })
  }
}

/** The member that lists the token ids, by version of the venue's protocol. */
const idMembers = new Map([
  ['v1', 'clobTokenIds'],
  ['v2', 'positionIds'],
])

/**
 * Reads the token ids that books, prices and subscriptions use. Only the version says which list
 * they are in: a market may have both lists, with different ids.
 */
function readAssetIds(
  market: JsonObject,
  ordered: readonly [Outcome, Outcome] | undefined,
): OutcomeMap<string> | undefined {
  const version = readOptionalText(market.version, 'version')
  // Objects from before the second version do not name a version; `hasNoVersion` says so.
  const member = idMembers.get(version ?? 'v1')
  if (member === undefined) {
    throw recordFault(`version: neither ${[...idMembers.keys()].join(' nor ')}`)
  }
  const ids = readOptionalList(market[member], member)
  if (ids === undefined && version !== undefined) {
    throw recordFault(`${member}: missing, in a market of version ${version}`)
  }
  if (ids === undefined || ordered === undefined) return undefined
  const [first, second] = ids.map((id, index) => readAssetId(id, `${member}[${index}]`))
  if (ids.length !== 2 || first === second) {
    throw recordFault(`${member}: not the ids of two different tokens`)
  }
  return { [ordered[0]]: first, [ordered[1]]: second }
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

/** The coin's prices belong to the event, which may contain the market or be inside it. */
function readPrices(market: JsonObject, event: JsonObject | undefined): JsonObject | undefined {
  const own: unknown = Array.isArray(market.events) ? market.events[0] : undefined
  for (const holder of [market, event, own]) {
    const prices = isRecord(holder) ? holder.eventMetadata : undefined
    if (isRecord(prices)) return prices
  }
  return undefined
}

/** The venue's names for a final resolution. */
const finalStatuses: ReadonlySet<unknown> = new Set(['resolved', 'settled'])

/** The second version of the protocol has its own member for the status. */
const isResolved = ({ version, umaResolutionStatus, resolutionStatus }: JsonObject): boolean =>
  finalStatuses.has(
    version === 'v2' && !isAbsent(resolutionStatus) ? resolutionStatus : umaResolutionStatus,
  )

/** An open market may be at half each, too: it counts as void after it stayed so this long. */
const VOID_AFTER_MS = 600_000
const HALF = MILLIONTHS_PER_UNIT / 2

/** Only a market that is closed and resolved has a result: won at 1 to 0, or void at half each. */
function readResult(
  market: JsonObject,
  ordered: readonly [Outcome, Outcome] | undefined,
  isLate: boolean,
): Result | undefined {
  if (market.closed !== true || !isResolved(market)) return undefined
  const paid = readOptionalList(market.outcomePrices, 'outcomePrices')?.map(parseMillionths)
  if (ordered === undefined || paid?.length !== 2) return undefined
  const [first, second] = paid
  if (first === HALF && second === HALF) return isLate ? 'void' : undefined
  if (first === MILLIONTHS_PER_UNIT && second === 0) return ordered[0]
  return first === 0 && second === MILLIONTHS_PER_UNIT ? ordered[1] : undefined
}
