/** Bodies of the API by their schemas on the server, so that neither can drift from the other. */

import type { HeatmapBody } from '#src/modules/heatmap/model.ts'
import type { QuoteRow } from '#src/modules/quotes/model.ts'

export type { CoverageDay, MarketCoverageBody as Coverage } from '#src/modules/coverage/model.ts'
export type { CoinBody as Coin, MarketBody as Market } from '#src/modules/markets/model.ts'
export type { NowList as PricesNow } from '#src/modules/prices/model.ts'
export type { SampleBody as Sample } from '#src/modules/sample/model.ts'
export type { SpotRow as Spot } from '#src/modules/spot/model.ts'
export type { TradeRow as Trade } from '#src/modules/trades/model.ts'

export type Heatmap = HeatmapBody
export type HeatColumn = NonNullable<HeatmapBody['columns'][number]>
export type Outcome = 'up' | 'down'
/** A quote, or a price: all that both have, which is all that is drawn. */
export type Quote = Required<Pick<QuoteRow, 'outcome' | 'timestamp' | 'bid' | 'ask' | 'mid'>>
export type Level = { price: number; size: number }
export type Book = { outcome: Outcome; timestamp: string; bids: Level[]; asks: Level[] }
export type Listed<T> = { data: T[]; nextCursor: string | null }
