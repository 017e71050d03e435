/** Cursors of live streams. */
import type { CursorCodec } from '#src/domain/cursor.ts'
import {
  changeList,
  type CoinFeedFilters,
  coinFeedList,
  priceList,
  quoteList,
  snapshotList,
  tradeList,
} from '#src/domain/lists.ts'
import { type Coin, type Market, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/platform/varint.ts'

import type { RowFilter } from './rows.ts'

const rowLists = {
  snapshots: snapshotList,
  changes: changeList,
  quotes: quoteList,
  prices: priceList,
  trades: tradeList,
}

/** A stream follows the list of the route with the same name: ascending, without a range. */
const filtersOf = ({ conditionId }: Market, { outcome, depth }: RowFilter) =>
  ({ conditionId, outcome, order: 'asc', view: 'own', cut: { depth, fields: undefined } }) as const

/** Cursors of a position in one market, which the route of its rows accepts as well. */
export const createRowCursors = (codec: CursorCodec) => ({
  encode: (market: Market, filter: RowFilter, position: Position): string =>
    codec.encode(rowLists[filter.channel], filtersOf(market, filter), position),

  /** Throws `cursor_invalid` and `cursor_mismatch`. */
  decode: (market: Market, filter: RowFilter, cursor: string): Position =>
    codec.decode(rowLists[filter.channel], filtersOf(market, filter), cursor),
})

/** A subscription to a coin. */
type CoinFilter = { coin: Coin; timeframe: Timeframe | undefined; filter: RowFilter }

const coinFiltersOf = ({ coin, timeframe, filter }: CoinFilter): CoinFeedFilters => ({
  coin,
  timeframe,
  channel: filter.channel,
  outcome: filter.outcome,
  depth: filter.depth,
})

export type FeedPosition = { market: Market; position: Position }

const NUMBERS = 4
/** Maximum number of markets of one window; there should be one. */
const SAME_WINDOW_MAX = 10

/** A market is identified by its window and these bits of its id. */
const idBits = ({ conditionId }: Market): number => crc32(conditionId) & 0xff_ffff

/** Cursors of a position in each market of a coin. */
export function createCoinCursors(history: Pick<MarketHistory, 'listMarkets'>, codec: CursorCodec) {
  function* positionsIn(coin: Coin, payload: Uint8Array): Generator<FeedPosition> {
    const numbers = new VarintReader(payload)
    while (!numbers.isAtEnd) {
      const window = numbers.next()
      const timeframe = timeframes[window % timeframes.length]
      const fromMs = Math.floor(window / timeframes.length)
      const bits = numbers.next()
      const position = { timestampMs: fromMs + numbers.next(), id: numbers.next() }
      const range = { fromMs, toMs: fromMs + 1, limit: SAME_WINDOW_MAX }
      const found = history.listMarkets({ coin, timeframe, ...range })
      const market = found.find((each) => idBits(each) === bits)
      if (market) yield { market, position }
    }
  }

  return {
    encode(filter: CoinFilter, positions: readonly FeedPosition[]): string {
      const known = positions.filter(({ position }) => position.timestampMs > 0)
      const bytes = new Uint8Array(known.length * NUMBERS * VARINT_BYTES_MAX)
      let end = 0
      for (const { market, position } of known) {
        const { orderMs, timeframe } = market
        end = putVarint(bytes, end, orderMs * timeframes.length + timeframes.indexOf(timeframe))
        end = putVarint(bytes, end, idBits(market))
        end = putVarint(bytes, end, position.timestampMs - orderMs)
        end = putVarint(bytes, end, position.id)
      }
      return codec.encode(coinFeedList, coinFiltersOf(filter), bytes.subarray(0, end))
    },

    /** Throws `cursor_invalid` and `cursor_mismatch`. */
    decode: (filter: CoinFilter, cursor: string): FeedPosition[] => [
      ...positionsIn(filter.coin, codec.decode(coinFeedList, coinFiltersOf(filter), cursor)),
    ],
  }
}

export type RowCursors = ReturnType<typeof createRowCursors>
export type CoinCursors = ReturnType<typeof createCoinCursors>
