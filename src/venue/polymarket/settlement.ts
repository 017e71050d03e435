/** The settlement rule of a market, from its object or from the dates on which rules changed. */

import type { SettlementRule, Timeframe } from '#src/domain/market.ts'
import { isRecord } from '#src/platform/record.ts'

import type { MarketWindow } from '../catalogue.ts'
import type { JsonObject } from '../json-fields.ts'

/** Chainlink's averages of 60 and 30 seconds; the venue is not known to use others. */
const averages: Readonly<Record<number, SettlementRule>> = { 60: 'twap60', 30: 'twap30' }
const candles: { readonly [timeframe in Timeframe]?: SettlementRule } = {
  '1h': 'binance-1h',
  '1d': 'binance-1d',
}

/**
 * Chainlink's spot price settled until 2026-08-06, and its average since 2026-08-07: that of 30
 * seconds for 5m until 2026-08-14, that of 60 seconds otherwise. The hours of these changes are
 * unknown, so the days of a change and the days next to them are left out. The rule of 4h is known
 * only for 2026-11.
 */
const day = (text: string): number => Date.parse(`${text}T00:00:00Z`)
const changes: readonly {
  timeframe: Timeframe
  fromMs?: number
  toMs?: number
  rule: SettlementRule
}[] = [
  { timeframe: '5m', toMs: day('2026-08-06'), rule: 'spot' },
  { timeframe: '15m', toMs: day('2026-08-06'), rule: 'spot' },
  { timeframe: '5m', fromMs: day('2026-08-08'), toMs: day('2026-08-13'), rule: 'twap30' },
  { timeframe: '5m', fromMs: day('2026-08-16'), rule: 'twap60' },
  { timeframe: '15m', fromMs: day('2026-08-09'), rule: 'twap60' },
  { timeframe: '4h', fromMs: day('2026-11-01'), rule: 'twap60' },
]

/** Undefined if neither the object nor the date determines it. */
export function readSettlementRule(
  market: JsonObject,
  event: JsonObject | undefined,
  timeframe: Timeframe,
  windowEndMs: number | undefined,
): SettlementRule | undefined {
  const objects = [market, event]
  const config = objects.map((each) => each?.cryptoMarketConfig).find(isRecord)
  if (config?.twapEnabled === true) return averages[Number(config.twapLookbackSeconds)]
  const source = objects
    .map((each) => each?.resolutionSource)
    .find((each): each is string => typeof each === 'string' && each !== '')
  const isFrom = (name: string): boolean => source?.toLowerCase().includes(name) === true
  const candle = candles[timeframe]
  if (candle !== undefined) return isFrom('binance.com') ? candle : undefined
  if (config?.twapEnabled === false) return 'spot'
  if (!isFrom('data.chain.link') || windowEndMs === undefined) return undefined
  return changeOf(timeframe, windowEndMs)
}

/** The rule for windows of this length that end at this time; undefined on days when it changed. */
export const settlementRuleOf = ({
  timeframe,
  endMs,
}: Pick<MarketWindow, 'timeframe' | 'endMs'>): SettlementRule | undefined =>
  candles[timeframe] ?? changeOf(timeframe, endMs)

const changeOf = (timeframe: Timeframe, windowEndMs: number): SettlementRule | undefined =>
  changes.find(
    ({ timeframe: changed, fromMs = 0, toMs = Number.POSITIVE_INFINITY }) =>
      changed === timeframe && windowEndMs >= fromMs && windowEndMs < toMs,
  )?.rule
