/** Markets as our own API returns them. */

import { parseMillionths } from '#src/domain/decimal.ts'
import {
  isCoin,
  isTimeframe,
  type OutcomeMap,
  outcomes,
  type Result,
  winnerSources,
} from '#src/domain/market.ts'
import { recordFault } from '#src/domain/record-fault.ts'
import { isRecord } from '#src/platform/record.ts'

import {
  type JsonObject,
  readAssetId,
  readConditionId,
  readOptionalDecimal,
  readOptionalDelay,
  readOptionalFees,
  readOptionalOrderAge,
  readOptionalText,
  readOptionalTimeMs,
  readOutcome,
  readText,
} from './json-fields.ts'
import type { MarketRecord, RecordKind } from './venue.ts'

const sides = ['bids', 'asks']

export const ownKinds: readonly RecordKind[] = [
  {
    name: 'a market of this service',
    required: [['conditionId'], ['windowStart'], ['revision']],
    forbidden: sides,
    read: (value) => [readMarket(value)],
  },
  {
    name: 'a list of markets of this service',
    required: [['data'], ['nextCursor']],
    forbidden: sides,
    read({ data }) {
      if (!Array.isArray(data)) throw recordFault('data: not an array')
      return data.map((each: unknown) => readMarket(isRecord(each) ? each : {}))
    },
  },
]

const numberText = (value: unknown): unknown => (typeof value === 'number' ? String(value) : value)

function readMarket(value: JsonObject): MarketRecord {
  const coin = readText(value.symbol, 'symbol')
  const timeframe = readText(value.timeframe, 'timeframe')
  if (!isCoin(coin)) {
    const conditionId = readConditionId(value.conditionId)
    return {
      kind: 'left_out',
      reason: `${coin.slice(0, 20)} is not a supported coin`,
      conditionId,
    }
  }
  if (!isTimeframe(timeframe)) throw recordFault('timeframe: not supported')
  const winnerSource = winnerSources.find((each) => each === value.winnerSource)
  const tickSize = readOptionalDecimal(numberText(value.tickSize), 'tickSize')
  return {
    kind: 'facts',
    source: value.source === 'simulated' ? 'simulated' : 'recorded',
    facts: {
      conditionId: readConditionId(value.conditionId),
      coin,
      timeframe,
      slug: readOptionalText(value.slug, 'slug'),
      question: readOptionalText(value.question, 'question'),
      windowStartMs: readOptionalTimeMs(value.windowStart, 'windowStart'),
      windowEndMs: readOptionalTimeMs(value.windowEnd, 'windowEnd'),
      assetIds: readAssetIds(value.outcomes),
      tickSize: tickSize === undefined ? undefined : parseMillionths(tickSize),
      strike: readOptionalDecimal(numberText(value.strike), 'strike'),
      finalPrice: readOptionalDecimal(numberText(value.finalPrice), 'finalPrice'),
      winner: winnerSource && readResult(value),
      winnerSource,
      feeSchedule: readOptionalFees(value.feeSchedule, 'feeSchedule'),
      takerDelayMs: readOptionalDelay(value.takerDelayMs, 'takerDelayMs'),
      orderAgeMs: readOptionalOrderAge(value.orderAgeMs, 'orderAgeMs'),
    },
  }
}

const readResult = ({ result, winner }: JsonObject): Result =>
  result === 'void' ? result : readOutcome(winner, 'winner')

function readAssetIds(value: unknown): OutcomeMap<string> {
  const list = (Array.isArray(value) ? value : []).filter(isRecord)
  return Object.fromEntries(
    outcomes.flatMap((outcome) => {
      const id = list.find((each) => each.outcome === outcome)?.assetId
      return typeof id === 'string' ? [[outcome, readAssetId(id, 'outcomes.assetId')]] : []
    }),
  )
}
