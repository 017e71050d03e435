/** Cursors of streams: a place in one market, or in each market of a coin. */
import type { CursorCodec } from '#src/domain/cursor.ts'
import { type Coin, type Market, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRowCursors } from '#src/live/cursors.ts'
import type { RowFilter } from '#src/live/rows.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/platform/varint.ts'

export type Place = { market: Market; at: Position }
type Followed = { coin: Coin; timeframe: Timeframe | undefined; filter: RowFilter }

const NUMBERS = 4
/** Markets of one window; there should be one. */
const SAME_WINDOW_MAX = 10

/** A market is named by its window, and these bits of its id. */
const tagOf = ({ conditionId }: Market): number => crc32(conditionId) & 0xff_ffff

export function createPlaces(history: MarketHistory, cursors: CursorCodec) {
  const scopeOf = ({ coin, timeframe, filter: { channel, outcome, depth } }: Followed) =>
    `live ${coin} ${timeframe} ${channel} ${outcome} ${depth}`

  function* placesIn(coin: Coin, payload: Uint8Array): Generator<Place> {
    const numbers = new VarintReader(payload)
    while (!numbers.isAtEnd) {
      const window = numbers.next()
      const timeframe = timeframes[window % timeframes.length]
      const fromMs = Math.floor(window / timeframes.length)
      const tag = numbers.next()
      const at = { timestampMs: fromMs + numbers.next(), id: numbers.next() }
      const range = { fromMs, toMs: fromMs + 1, limit: SAME_WINDOW_MAX }
      const found = history.listMarkets({ coin, timeframe, ...range })
      const market = found.find((each) => tagOf(each) === tag)
      if (market) yield { market, at }
    }
  }

  return {
    /** Those of one market work in the route of their rows too. */
    ofMarket: createRowCursors(cursors),

    encode(followed: Followed, places: Iterable<Place>): string {
      const known = [...places].filter(({ at }) => at.timestampMs > 0)
      const bytes = new Uint8Array(known.length * NUMBERS * VARINT_BYTES_MAX)
      let end = 0
      for (const { market, at } of known) {
        const { orderMs, timeframe } = market
        end = putVarint(bytes, end, orderMs * timeframes.length + timeframes.indexOf(timeframe))
        end = putVarint(bytes, end, tagOf(market))
        end = putVarint(bytes, end, at.timestampMs - orderMs)
        end = putVarint(bytes, end, at.id)
      }
      return cursors.encode(scopeOf(followed), bytes.subarray(0, end))
    },

    /** Throws `cursor_invalid` and `cursor_mismatch`. */
    decode: (followed: Followed, cursor: string): Place[] => [
      ...placesIn(followed.coin, cursors.decode(scopeOf(followed), cursor)),
    ],
  }
}

export type Places = ReturnType<typeof createPlaces>
