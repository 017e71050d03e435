/** Positions in what is followed, as cursors. */
import { type CursorCodec, decodePosition, encodePosition } from '#src/domain/cursor.ts'
import { type Coin, type Market, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/platform/varint.ts'

import type { RowFilter } from './rows.ts'

/** That of the route with the same filters, ascending and without a range. */
const rowScope = ({ conditionId }: Market, { channel, outcome, depth }: RowFilter) =>
  `${channel} ${conditionId} ${outcome ?? 'both'}.asc..${channel === 'snapshots' ? '' : '.'}` +
  (depth === undefined ? '' : `..own.${depth}.`)

/** A position in one market: they work in the route of its rows too. */
export const createRowCursors = (codec: CursorCodec) => ({
  encode: (market: Market, filter: RowFilter, position: Position): string =>
    codec.encode(rowScope(market, filter), encodePosition(position)),

  /** Throws `cursor_invalid` and `cursor_mismatch`. */
  decode: (market: Market, filter: RowFilter, cursor: string): Position =>
    decodePosition(codec.decode(rowScope(market, filter), cursor)),
})

export type MarketPosition = { market: Market; position: Position }

/** What is followed of a coin. */
type CoinFilter = { coin: Coin; timeframe: Timeframe | undefined; filter: RowFilter }

const coinScope = ({ coin, timeframe, filter: { channel, outcome, depth } }: CoinFilter) =>
  `live ${coin} ${timeframe} ${channel} ${outcome} ${depth}`

const NUMBERS = 4
/** Markets of one window; there should be one. */
const SAME_WINDOW_MAX = 10

/** A market is named by its window, and these bits of its id. */
const tagOf = ({ conditionId }: Market): number => crc32(conditionId) & 0xff_ffff

/** A position in each market of a coin. */
export function createCoinCursors(history: Pick<MarketHistory, 'listMarkets'>, codec: CursorCodec) {
  function* positionsIn(coin: Coin, payload: Uint8Array): Generator<MarketPosition> {
    const numbers = new VarintReader(payload)
    while (!numbers.isAtEnd) {
      const window = numbers.next()
      const timeframe = timeframes[window % timeframes.length]
      const fromMs = Math.floor(window / timeframes.length)
      const tag = numbers.next()
      const position = { timestampMs: fromMs + numbers.next(), id: numbers.next() }
      const range = { fromMs, toMs: fromMs + 1, limit: SAME_WINDOW_MAX }
      const found = history.listMarkets({ coin, timeframe, ...range })
      const market = found.find((each) => tagOf(each) === tag)
      if (market) yield { market, position }
    }
  }

  return {
    encode(filter: CoinFilter, positions: readonly MarketPosition[]): string {
      const known = positions.filter(({ position }) => position.timestampMs > 0)
      const bytes = new Uint8Array(known.length * NUMBERS * VARINT_BYTES_MAX)
      let end = 0
      for (const { market, position } of known) {
        const { orderMs, timeframe } = market
        end = putVarint(bytes, end, orderMs * timeframes.length + timeframes.indexOf(timeframe))
        end = putVarint(bytes, end, tagOf(market))
        end = putVarint(bytes, end, position.timestampMs - orderMs)
        end = putVarint(bytes, end, position.id)
      }
      return codec.encode(coinScope(filter), bytes.subarray(0, end))
    },

    /** Throws `cursor_invalid` and `cursor_mismatch`. */
    decode: (filter: CoinFilter, cursor: string): MarketPosition[] => [
      ...positionsIn(filter.coin, codec.decode(coinScope(filter), cursor)),
    ],
  }
}

export type RowCursors = ReturnType<typeof createRowCursors>
export type CoinCursors = ReturnType<typeof createCoinCursors>
