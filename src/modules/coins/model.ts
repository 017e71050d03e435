import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframes } from '#src/core/market.ts'
import { choice, count, heldFields, listOf, object, text, timeOrNull } from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

const holdings = {
  markets: count('Markets that are known.', 8_640),
  openMarkets: count('Those of them whose window runs now.', 1),
  snapshots: count('Snapshots held.', 42_870_112),
  firstSnapshot: heldFields.firstSnapshot,
  lastSnapshot: timeOrNull(
    'Time of the last snapshot; null when there is none.',
    '2026-05-14T08:05:03.887Z',
  ),
}

const CoinBody = object('Coin', {
  symbol: choice(coins, 'Coin in lower case, as paths have it.'),
  name: text('What people call it.', 'Bitcoin'),
  sources: Type.Array(literals(['recorded', 'simulated'], {}), {
    description: 'Where its books come from: the venue, our simulator, or both.',
    examples: [['recorded']],
  }),
  ...holdings,
  timeframes: Type.Array(
    Type.Object({ timeframe: choice(timeframes, 'Length of the windows.'), ...holdings }),
    { description: 'The same by timeframe, shortest first; those without a market are left out.' },
  ),
})
export type CoinBody = Static<typeof CoinBody>

export const CoinList = listOf(
  CoinBody,
  'Every coin, also one of which nothing is held.',
  'Always null: the coins fit on one page.',
)
export type CoinList = Static<typeof CoinList>
