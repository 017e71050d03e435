/**
 * Objects of the venue's other APIs: trades of the Data API, markets of the order book API, and
 * pages of them or of the catalogue's events.
 */

import { MILLIONTHS_PER_UNIT, parseMillionths } from '#src/domain/decimal.ts'
import type { Outcome } from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { timeFault } from '#src/domain/time.ts'
import { toTransactionHash } from '#src/domain/trade.ts'
import { isRecord } from '#src/platform/record.ts'

import {
  fitsKind,
  type JsonObject,
  readAssetId,
  type Reading,
  readOptionalDecimal,
  readOptionalText,
  readPrice,
  readText,
  readTimeMs,
  toOutcome,
} from '../json-fields.ts'
import type { MarketRecord, RecordKind } from '../venue.ts'
import { readNamed } from './named.ts'

const sides = ['bids', 'asks']

/** Both versions of the Data API; `readPage` reads pages of `kinds`, and of these. */
export const apiKinds: readonly RecordKind[] = [
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
    read: readDataTrade,
  },
  {
    name: 'a market of the order book API',
    required: [['condition_id'], ['tokens'], ['market_slug']],
    forbidden: [...sides, 'event_type'],
    read: (value) => [readClobMarket(value)],
  },
]

/** Pages of objects of these kinds, by the member that holds the list. */
export const pageKinds = (kinds: readonly RecordKind[]): readonly RecordKind[] => [
  {
    name: "a page of the venue's events",
    required: [['events']],
    forbidden: ['conditionId', 'condition_id', 'slug', 'markets', 'data'],
    read: (value, reading) => readPage(kinds, 'events', value.events, reading),
  },
  {
    name: "a page of the venue's objects",
    required: [['data'], ['next_cursor', 'has_more']],
    forbidden: [...sides, 'events', 'markets'],
    read: (value, reading) => readPage(kinds, 'data', value.data, reading),
  },
]

/** A fault of one element is not one of the page: it names the element, and others are read. */
function readPage(
  kinds: readonly RecordKind[],
  member: string,
  list: unknown,
  reading: Reading,
): MarketRecord[] {
  if (!Array.isArray(list)) throw recordFault(`${member}: not an array`)
  return list.flatMap((each: unknown, index): MarketRecord[] => {
    const fault = (reason: string): MarketRecord[] => [
      { kind: 'fault', reason: `${member}[${index}]: ${reason}` },
    ]
    if (!isRecord(each)) return fault('not an object')
    const kind = kinds.find((known) => fitsKind(known, each))
    if (kind === undefined) return fault(`none of: ${kinds.map(({ name }) => name).join('; ')}`)
    try {
      return kind.read(each, reading)
    } catch (error) {
      if (!isRecordFault(error)) throw error
      return fault(error.message)
    }
  })
}

const takerSides: Readonly<Record<string, 'buy' | 'sell'>> = { BUY: 'buy', SELL: 'sell' }

/** The times of the Data API are whole seconds. */
function readDataTrade(value: JsonObject, { nowMs }: Reading): MarketRecord[] {
  const timestampMs = readTimeMs(value.timestamp, 'timestamp')
  const named = readNamed(
    { slug: value.slug, conditionId: value.conditionId ?? value.condition_id },
    timestampMs,
  )
  if ('kind' in named) return [named]
  const outcome = toOutcome(readText(value.outcome, 'outcome'))
  if (outcome === undefined) {
    const { conditionId } = named
    return [{ kind: 'left_out', reason: 'its outcomes are not Up and Down', conditionId }]
  }
  const fault = timeFault(timestampMs, nowMs)
  if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
  const side = takerSides[readText(value.side, 'side').toUpperCase()]
  if (side === undefined) throw recordFault('side: neither BUY nor SELL')
  const size = parseMillionths(readOptionalDecimal(value.size, 'size') ?? '')
  if (!size) throw recordFault('size: not a decimal above 0 with at most six digits')
  const price = readPrice(value.price, 'price')
  const assetId = readAssetId(value.asset ?? value.token_id, 'asset')
  return [
    {
      kind: 'trade',
      facts: { ...named, assetIds: { [outcome]: assetId } },
      trade: {
        timestampMs,
        price,
        outcome,
        size,
        side,
        transactionHash: toTransactionHash(value.transactionHash ?? value.transaction_hash),
      },
    },
  ]
}

function readClobMarket(market: JsonObject): MarketRecord {
  const named = readNamed({ slug: market.market_slug, conditionId: market.condition_id }, undefined)
  if ('kind' in named) return named
  const { tokens } = market
  if (!Array.isArray(tokens)) throw recordFault('tokens: not an array')
  const assetIds: { [outcome in Outcome]?: string } = {}
  const winners: Outcome[] = []
  for (const [index, token] of tokens.entries()) {
    if (!isRecord(token)) throw recordFault(`tokens[${index}]: not an object`)
    const outcome = toOutcome(readText(token.outcome, `tokens[${index}].outcome`))
    if (outcome === undefined) {
      const { conditionId } = named
      return { kind: 'left_out', reason: 'its outcomes are not Up and Down', conditionId }
    }
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
      tickSize: readTickSize(market.minimum_tick_size),
      winner,
      winnerSource: winner === undefined ? undefined : 'venue',
    },
  }
}

function readTickSize(value: unknown): number | undefined {
  const text = readOptionalDecimal(value, 'minimum_tick_size')
  if (text === undefined) return undefined
  const tickSize = parseMillionths(text)
  if (tickSize === undefined || tickSize === 0 || tickSize >= MILLIONTHS_PER_UNIT)
    throw recordFault('minimum_tick_size: not between 0 and 1 with at most six digits')
  return tickSize
}
