import { type Static, Type } from '@sinclair/typebox'

import {
  outcomes,
  priceSources,
  results,
  settlementRules,
  winnerSources,
} from '#src/domain/market.ts'
import { agreements, settlementReasons } from '#src/history/reads/settlement-read.ts'
import {
  cursorParameter,
  limitParameter,
  rangeParameters,
  sourceParameter,
  timeframeParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  choiceOrNull,
  count,
  decimal,
  decimalOrNull,
  groupOrNull,
  listOf,
  marketFields,
  object,
  slugField,
  text,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { oneOf } from '#src/http/kinds.ts'

const Tick = object(
  'SettlementTick',
  {
    source: text('Publisher of the price.', 'chainlink'),
    windowSeconds: count('Length of the average in seconds; 0 for a spot price.', 60),
    timestamp: time("Source's timestamp, UTC.", '2026-11-22T10:05:00.000Z'),
    price: decimal('USD, with all digits of the source.', 64_126.5),
    receivedAt: timeOrNull(
      'Time of receipt by the recorder; null for prices that the feed sent as history.',
      '2026-11-22T10:05:00.180Z',
    ),
    lateMs: count(
      "Milliseconds from the end of the window that the price decides to the price's timestamp.",
      0,
    ),
  },
  {
    description:
      'The price that decides one end of a window: the first price at or after that moment, within five seconds, or the last one of the same second.',
  },
)

const prices = (kind: string) => ({
  strike: decimal(`Price at the start of the window, ${kind}.`, 64_126.5),
  finalPrice: decimal(`Price at the end of the window, ${kind}.`, 64_130.25),
  winner: choice(outcomes, '`up` if `finalPrice` is at least `strike`.'),
})

export const SettlementBody = object(
  'Settlement',
  {
    ...marketFields,
    slug: slugField,
    windowStart: timeOrNull('Start of the window; null if unknown.', '2026-11-22T10:00:00.000Z'),
    windowEnd: timeOrNull('End of the window; null if unknown.', '2026-11-22T10:05:00.000Z'),
    settlementRule: choiceOrNull(
      settlementRules,
      'Settlement rule of the market; null if unknown.',
      'twap60',
    ),
    agreement: choice(
      agreements,
      "`agrees`: recorded prices lead to the market's result. `disagrees`: they lead to another result. `unknown`: the prices or the result are unknown.",
    ),
    reason: choiceOrNull(
      settlementReasons,
      'Null if they agree. `winner_differs`: the prices lead to the other outcome. `void`: the venue paid half for each outcome. `no_winner`: the result is not known yet. `not_over`: the window has not ended. `no_tick_at_start`, `no_tick_at_end`: no price of the rule was recorded within five seconds of that end. `candle`: the rule is a candle of Binance, whose prices are not recorded. `rule_unknown`, `window_unknown`: the rule or the window of the market is unknown.',
      null,
    ),
    proof: groupOrNull('Result by recorded prices; null if one is missing.', {
      ...prices('by the rule'),
      ticks: Type.Array(Tick, { description: 'Prices at the start and at the end of the window.' }),
    }),
    estimate: groupOrNull(
      'Only if there is no proof and the rule is an average: the published average if it is recorded, otherwise an average computed from spot prices, which is close to the published one but proves nothing. Null otherwise, and if prices are missing.',
      { ...prices('estimated'), source: text('Publisher of the averaged prices.', 'chainlink') },
    ),
    strike: decimalOrNull('Strike of the market; null if unknown.', 64_126.5),
    strikeSource: choiceOrNull(priceSources, 'Source of the strike.', 'catalogue'),
    finalPrice: decimalOrNull('Final price of the market; null until known.', 64_130.25),
    finalPriceSource: choiceOrNull(priceSources, 'Source of the final price.', 'catalogue'),
    result: choiceOrNull(
      results,
      'Result: the winning outcome, or `void`; null until known.',
      'up',
    ),
    winnerSource: choiceOrNull(
      winnerSources,
      'Source of the result: the venue, an imported data set, or the simulator.',
      'venue',
    ),
  },
  { description: 'Settlement of a window, compared with recorded prices.' },
)
export type SettlementBody = Static<typeof SettlementBody>

export const SettlementQuery = Type.Object({
  ...rangeParameters("the window's start"),
  timeframe: timeframeParameter('Only windows of this timeframe.'),
  source: sourceParameter,
  agreement: Type.Optional(choice(agreements, 'Only windows with this agreement.')),
  order: oneOf(['asc', 'desc'], {
    default: 'desc',
    description: 'Order by window: `desc` for newest first, `asc` for oldest first.',
  }),
  limit: limitParameter('Windows', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type SettlementQuery = Static<typeof SettlementQuery>

export const SettlementList = listOf(SettlementBody, 'Ended windows, by start.')
export type SettlementList = Static<typeof SettlementList>
