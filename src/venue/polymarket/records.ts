import { lifeFault } from '#src/core/market.ts'
import { RecordFault } from '#src/core/record-fault.ts'
import { timeFault } from '#src/core/time.ts'

import {
  isObject,
  type JsonObject,
  readAssetId,
  readConditionId,
  type Reading,
  readOutcome,
  readPrice,
  readText,
  readTimeMs,
  tryTimeMs,
} from '../json-fields.ts'
import type { KnownFacts, LeftOut, MarketRecord, RecordKind } from '../venue.ts'
import { readGammaMarket } from './gamma-market.ts'
import { readSlug } from './slug.ts'

const sides = ['bids', 'asks']
const marketMembers = ['clobTokenIds', 'outcomePrices', 'questionID']

/** The objects of the catalogue, an entry of a list of tokens, and a last trade price. */
export const recordKinds: readonly RecordKind[] = [
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
]

/** A fault of one market is not one of the event: it names the market, and the others are read. */
function readEvent(event: JsonObject, reading: Reading): MarketRecord[] {
  if (!Array.isArray(event.markets)) throw new RecordFault('markets: not an array')
  return event.markets.map((market: unknown, index) => {
    if (!isObject(market)) return { kind: 'fault', reason: `markets[${index}]: not an object` }
    try {
      return readGammaMarket(market, reading, event)
    } catch (error) {
      if (!(error instanceof RecordFault)) throw error
      return { kind: 'fault', reason: `markets[${index}].${error.message}` }
    }
  })
}

/** Facts that follow from a market's name alone. */
type Named = { kind: 'named'; facts: KnownFacts } | LeftOut

function readNamed(value: JsonObject, nearMs: number | undefined): Named {
  const slug = readText(value.slug, 'slug')
  const reading = readSlug(slug, nearMs)
  if (reading.kind === 'left_out') return reading
  const { coin, timeframe, window } = reading
  const conditionId = readConditionId(value.conditionId)
  const times = { windowStartMs: window?.startMs, windowEndMs: window?.endMs }
  return { kind: 'named', facts: { conditionId, coin, timeframe, slug, ...times } }
}

function readToken(value: JsonObject): MarketRecord {
  const named = readNamed(value, tryTimeMs(value.firstTs))
  if (named.kind === 'left_out') return named
  const outcome = readOutcome(value.outcome, 'outcome')
  const assetIds = { [outcome]: readAssetId(value.assetId, 'assetId') }
  const facts = { ...named.facts, assetIds }
  if (value.winner === null || value.winner === undefined) return { kind: 'facts', facts }
  const winner = readOutcome(value.winner, 'winner')
  return { kind: 'facts', facts: { ...facts, winner, winnerSource: 'dataset' } }
}

function readLastTrade(value: JsonObject, { nowMs }: Reading): MarketRecord {
  const timestampMs = readTimeMs(value.timestamp, 'timestamp')
  const named = readNamed(value, timestampMs)
  if (named.kind === 'left_out') return named
  const fault = timeFault(timestampMs, nowMs) ?? lifeFault(named.facts, timestampMs)
  if (fault !== undefined) throw new RecordFault(`timestamp: ${fault}`)
  // The venue tells one price for both outcomes and not which of them was traded.
  const price = readPrice(value.lastTradePrice, 'lastTradePrice')
  return { kind: 'trade', facts: named.facts, trade: { timestampMs, price } }
}
