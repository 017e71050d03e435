/** By what the venue settles a market, as far as its object says, or the dates of its changes. */
import type { SettlementRule, Timeframe } from '#src/domain/market.ts'
import { isRecord } from '#src/platform/record.ts'

import type { JsonObject } from '../json-fields.ts'

/** Chainlink's averages of 60 and 30 seconds; others are not known to be used. */
const averages: Readonly<Record<number, SettlementRule>> = { 60: 'twap60', 30: 'twap30' }
const candles: { readonly [timeframe in Timeframe]?: SettlementRule } = {
  '1h': 'binance-1h',
  '1d': 'binance-1d',
}

/**
 * Chainlink's price of the moment settled until 2026-08-06, its average since 2026-08-07: that of
 * 30 seconds for 5m until 2026-08-14, of 60 seconds otherwise. At which hour is not known, so the
 * days of a change and those beside them are left out. 4h is known for 2026-11 alone.
 */
const day = (text: string): number => Date.parse(`${text}T00:00:00Z`)
const always = { fromMs: 0, toMs: Number.POSITIVE_INFINITY }
const changes: readonly {
  timeframe: Timeframe
  fromMs: number
  toMs: number
  rule: SettlementRule
}[] = [
  { ...always, timeframe: '5m', toMs: day('2026-08-06'), rule: 'spot' },
  { ...always, timeframe: '15m', toMs: day('2026-08-06'), rule: 'spot' },
  { timeframe: '5m', fromMs: day('2026-08-08'), toMs: day('2026-08-13'), rule: 'twap30' },
  { ...always, timeframe: '5m', fromMs: day('2026-08-16'), rule: 'twap60' },
  { ...always, timeframe: '15m', fromMs: day('2026-08-09'), rule: 'twap60' },
  { ...always, timeframe: '4h', fromMs: day('2026-11-01'), rule: 'twap60' },
]

type About = { timeframe: Timeframe; windowEndMs?: number | undefined }

/** Undefined where neither says. */
export function readSettlementRule(
  market: JsonObject,
  event: JsonObject | undefined,
  { timeframe, windowEndMs }: About,
): SettlementRule | undefined {
  const config = [market, event].map((each) => each?.cryptoMarketConfig).find(isRecord)
  if (config?.twapEnabled === true) return averages[Number(config.twapLookbackSeconds)]
  const source = [market, event].map((each) => each?.resolutionSource).find(isText)
  const isOf = (name: string): boolean => source?.toLowerCase().includes(name) === true
  const candle = candles[timeframe]
  if (candle !== undefined) return isOf('binance.com') ? candle : undefined
  if (config?.twapEnabled === false) return 'spot'
  if (!isOf('data.chain.link') || windowEndMs === undefined) return undefined
  return changes.find(
    (each) => each.timeframe === timeframe && windowEndMs >= each.fromMs && windowEndMs < each.toMs,
  )?.rule
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
