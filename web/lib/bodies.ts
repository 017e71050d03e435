/** Bodies of the API by their schemas on the server, so that neither can drift from the other. */

import type { CalibrationTable } from '#src/domain/calibration.ts'
import type { Board } from '#src/features/board/schema.ts'
import type { HeatmapBody } from '#src/features/heatmap/schema.ts'
import type { QuoteRow } from '#src/features/quotes/schema.ts'

export type {
  CoverageDay,
  DayKind,
  MarketCoverageBody as Coverage,
} from '#src/features/coverage/schema.ts'
export type { IncidentBody as Incident } from '#src/features/incidents/schema.ts'
export type { CoinBody as Coin, MarketBody as Market } from '#src/features/markets/schema.ts'
export type { PanelRow } from '#src/features/panel/schema.ts'
export type { NowList as PricesNow } from '#src/features/prices/schema.ts'
export type { SampleBody as Sample } from '#src/features/sample/schema.ts'
export type { SpotRow as Spot } from '#src/features/spot/schema.ts'
export type { TradeRow as Trade } from '#src/features/trades/schema.ts'

export type { Board, CalibrationTable }
export type BoardWindow = Board['data'][number]
export type Heatmap = HeatmapBody
export type HeatColumn = NonNullable<HeatmapBody['columns'][number]>
export type Outcome = 'up' | 'down'
/** The members that quotes and prices share, which are all that is drawn. */
export type Quote = Required<Pick<QuoteRow, 'outcome' | 'timestamp' | 'bid' | 'ask' | 'mid'>>
export type Level = { price: number; size: number }
export type Book = { outcome: Outcome; timestamp: string; bids: Level[]; asks: Level[] }
export type Listed<T> = { data: T[]; nextCursor: string | null }
