/** Places in what is followed, as the cursors of the routes that answer the same rows. */
import { type CursorCodec, decodePosition, encodePosition } from '#src/domain/cursor.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'

import type { RowFilter } from './rows.ts'

/** As of the route with the same filters, ascending and without a range. */
const scopeOf = ({ conditionId }: Market, { channel, outcome, depth }: RowFilter) =>
  `${channel} ${conditionId} ${outcome ?? 'both'}.asc..${channel === 'snapshots' ? '' : '.'}` +
  (depth === undefined ? '' : `..own.${depth}.`)

export const createRowCursors = (cursors: CursorCodec) => ({
  encode: (market: Market, filter: RowFilter, position: Position): string =>
    cursors.encode(scopeOf(market, filter), encodePosition(position)),

  /** Throws `cursor_invalid` and `cursor_mismatch`. */
  decode: (market: Market, filter: RowFilter, cursor: string): Position =>
    decodePosition(cursors.decode(scopeOf(market, filter), cursor)),
})
