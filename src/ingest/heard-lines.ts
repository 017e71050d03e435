/** Reads the lines of a recorder's journal, which `recorder/journal.ts` defines. */

import { storedReasons } from '#src/domain/coverage.ts'
import {
  isCoin,
  isTimeframe,
  type MarketFacts,
  priceSources,
  results,
  settlementRules,
  winnerSources,
} from '#src/domain/market.ts'
import { recordFault, skippedRecord } from '#src/domain/record-fault.ts'
import { isRecord } from '#src/platform/record.ts'
import type { Heard } from '#src/recorder/journal.ts'
import {
  type JsonObject,
  parseJson,
  readAssetId,
  readConditionId,
  readOptionalDecimal,
  readOptionalDelay,
  readOptionalOrderAge,
  readOptionalText,
  readOptionalTimeMs,
} from '#src/venue/json-fields.ts'

/** Matches a message, which is the last member, byte for byte. */
const messagePattern =
  /^\{"_recv":(\d{13,15}),"(?:connection":(\d{1,15})|spot":"(\w{1,32})"),"(frame|text)":(.*)\}$/s
const startPattern = /^\{"_recv":\d{13,15},"(connection|spot|heard)":/

/** True if a text begins with a line of a recorder. */
export const isHeard = (text: string): boolean => startPattern.test(text)

/** Reads a line; throws a `record` fault if it is incomplete. */
export function readHeardLine(line: string): { heard: Heard; atMs: number } {
  const [, time, connection, source, form, rest = ''] = messagePattern.exec(line) ?? []
  if (time !== undefined) {
    const text = form === 'frame' ? rest : parseJson(rest)
    if (typeof text !== 'string') throw recordFault('text: not a string')
    const isSound = form === 'frame'
    const heard: Heard =
      source === undefined
        ? { kind: 'message', connection: Number(connection), text, isSound }
        : { kind: 'spotMessage', source, text, isSound }
    return { heard, atMs: Number(time) }
  }
  const value = parseJson(line)
  if (!isRecord(value) || typeof value._recv !== 'number')
    throw recordFault('not a line of a recorder')
  const read = typeof value.heard === 'string' ? readers.get(value.heard) : undefined
  if (read === undefined) throw recordFault('heard: not a kind that is known')
  return { heard: read(value), atMs: value._recv }
}

const readers = new Map<string, (value: JsonObject) => Heard>([
  ['started', () => ({ kind: 'started' })],
  ['stored', () => ({ kind: 'stored' })],
  ['file', ({ afterMs }) => ({ kind: 'file', afterMs: readCount(afterMs) })],
  [
    'market',
    ({ facts, maxPerSecond }) => ({
      kind: 'market',
      facts: readFacts(isRecord(facts) ? facts : {}),
      maxPerSecond: maxPerSecond === undefined ? undefined : readCount(maxPerSecond),
    }),
  ],
  [
    'opened',
    ({ connection, markets }) => ({
      kind: 'opened',
      connection: readCount(connection),
      markets: Array.isArray(markets) ? markets.map(readConditionId) : [],
    }),
  ],
  [
    'dropped',
    ({ connection, reason }) => ({
      kind: 'dropped',
      connection: readCount(connection),
      reason: oneOf(storedReasons, reason, 'reason'),
    }),
  ],
  ['spotOpened', ({ source }) => ({ kind: 'spotOpened', source: String(source) })],
  ['finished', (value) => ({ kind: 'finished', conditionId: readConditionId(value.conditionId) })],
])

function readCount(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw recordFault('not a number above 0')
}

function oneOf<T extends string>(known: readonly T[], value: unknown, path: string): T {
  const found = known.find((each) => each === value)
  if (found === undefined) throw recordFault(`${path}: none of ${known.join(', ')}`)
  return found
}

const optionalOneOf = <T extends string>(known: readonly T[], value: unknown, path: string) =>
  value === undefined ? undefined : oneOf(known, value, path)

/** Reads the facts of a market. The return type lists every fact, so that none is forgotten. */
function readFacts(value: JsonObject): {
  [name in keyof Required<MarketFacts>]: MarketFacts[name]
} {
  const { coin, timeframe, tickSize, assetIds } = value
  if (typeof coin !== 'string') throw recordFault('coin: not a string')
  if (!isCoin(coin)) throw skippedRecord(`${coin.slice(0, 20)} is not a supported coin`)
  if (typeof timeframe !== 'string' || !isTimeframe(timeframe))
    throw recordFault('timeframe: not supported')
  const ids = isRecord(assetIds) ? assetIds : {}
  return {
    conditionId: readConditionId(value.conditionId),
    coin,
    timeframe,
    source: 'recorded',
    slug: readOptionalText(value.slug, 'slug'),
    question: readOptionalText(value.question, 'question'),
    windowStartMs: readOptionalTimeMs(value.windowStartMs, 'windowStartMs'),
    windowEndMs: readOptionalTimeMs(value.windowEndMs, 'windowEndMs'),
    assetIds: {
      up: ids.up === undefined ? undefined : readAssetId(ids.up, 'assetIds.up'),
      down: ids.down === undefined ? undefined : readAssetId(ids.down, 'assetIds.down'),
    },
    tickSize: tickSize === undefined ? undefined : readCount(tickSize),
    strike: readOptionalDecimal(value.strike, 'strike'),
    strikeSource: optionalOneOf(priceSources, value.strikeSource, 'strikeSource'),
    strikeMs: readOptionalTimeMs(value.strikeMs, 'strikeMs'),
    finalPrice: readOptionalDecimal(value.finalPrice, 'finalPrice'),
    finalPriceSource: optionalOneOf(priceSources, value.finalPriceSource, 'finalPriceSource'),
    finalPriceMs: readOptionalTimeMs(value.finalPriceMs, 'finalPriceMs'),
    feeSchedule: readOptionalText(value.feeSchedule, 'feeSchedule'),
    takerDelayMs: readOptionalDelay(value.takerDelayMs, 'takerDelayMs'),
    orderAgeMs: readOptionalOrderAge(value.orderAgeMs, 'orderAgeMs'),
    settlementRule: optionalOneOf(settlementRules, value.settlementRule, 'settlementRule'),
    winner: optionalOneOf(results, value.winner, 'winner'),
    winnerSource: optionalOneOf(winnerSources, value.winnerSource, 'winnerSource'),
  }
}
