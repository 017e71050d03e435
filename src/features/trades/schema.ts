import type { Static } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import {
  decimal,
  decimalOrNull,
  listOf,
  nullable,
  object,
  textOrNull,
  time,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'
import { literals } from '#src/http/schema-reader.ts'

export const TradeQuery = historyQuery(
  { rows: 'Rows', range: '`timestamp`', limit: { default: 1000, maximum: 10_000 } },
  {},
)
export type TradeQuery = Static<typeof TradeQuery>

export const TradeRow = object(
  'Trade',
  {
    timestamp: time("The venue's time of the trade, UTC.", '2026-04-14T08:00:09.120Z'),
    outcome: nullable(
      literals(outcomes, {}),
      'Outcome that was traded; null where the source does not say.',
      'up',
    ),
    price: decimal('In USDC per share, as the venue printed it, exact.', 0.531),
    size: decimalOrNull('Shares, exact; null where the source does not say.', 25.5),
    side: nullable(
      literals(['buy', 'sell'], {}),
      'Side of the taker; null where the source does not say.',
      'buy',
    ),
    transactionHash: textOrNull(
      'Hash of the transaction on the chain that settled it; null where the source does not say.',
      `0x${'9c1f4e07'.repeat(8)}`,
    ),
  },
  { description: 'A trade, as the venue announced it.' },
)

export const TradeList = listOf(
  TradeRow,
  'Trades by `timestamp`, those of one millisecond by outcome, price, size, side and transaction, whatever came first. Turned around by `order=desc`.',
)
export type TradeRow = Static<typeof TradeRow>
