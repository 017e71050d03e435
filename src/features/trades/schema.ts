import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import { chainStates } from '#src/domain/trade-chain.ts'
import {
  choice,
  choiceOrNull,
  decimal,
  decimalOrNull,
  listOf,
  object,
  textOrNull,
  time,
} from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'

export const TradeQuery = historyQuery(
  { rows: 'Rows', range: '`timestamp`', limit: { default: 1000, maximum: 10_000 } },
  {},
)
export type TradeQuery = Static<typeof TradeQuery>

/** A trade as the venue announced it, as live streams send it. */
export const AnnouncedTrade = object(
  'Trade',
  {
    timestamp: time("The venue's time of the trade, UTC.", '2026-04-14T08:00:09.120Z'),
    outcome: choiceOrNull(
      outcomes,
      'Outcome that was traded; null if the source does not report it.',
      'up',
    ),
    price: decimal('USDC per share, exactly as the venue printed it.', 0.531),
    size: decimalOrNull('Shares, exact; null if the source does not report it.', 25.5),
    side: choiceOrNull(
      ['buy', 'sell'],
      'Side of the taker; null if the source does not report it.',
      'buy',
    ),
    transactionHash: textOrNull(
      'Hash of the settlement transaction; null if the source does not report it.',
      `0x${'9c1f4e07'.repeat(8)}`,
    ),
  },
  { description: 'A trade as announced by the venue.' },
)

const TradeRow = object(
  'Trade',
  {
    ...AnnouncedTrade.properties,
    chain: Type.Optional(
      choice(
        chainStates,
        'Only if the operator has nodes of the chain asked (`BOOKFEED_TRADE_NODES`). `confirmed`: the chain has executed the transaction, and `failed`: it has reverted it, both finally. `pending`: neither is known yet. `unknown`: neither became known within a day, or the trade has no transaction.',
        'confirmed',
      ),
    ),
  },
  { description: 'A trade as announced by the venue.' },
)

export const TradeList = listOf(
  TradeRow,
  'Trades by `timestamp`; within a millisecond by outcome, price, size, side and transaction, regardless of their arrival. Reversed by `order=desc`.',
)
export type TradeRow = Static<typeof TradeRow>
