/** A page of a list that is walked with cursors: rows in JSON, and the cursors behind them. */

import type { CursorCodec, CursorList, PageEnd } from '#src/domain/cursor.ts'

import type { DataAnswer } from './answer.ts'

type ListRows<P> = PageEnd<P> & {
  /** Each the JSON of an object. */
  rows: readonly string[]
}

/** A page of a list as it was read. */
export type ListPage<P> = ListRows<P> & {
  /** Members of the body behind `nextCursor`. */
  members?: object
  coverage?: string
  isClosed?: boolean
}

type ListRead<Filters, P> = {
  list: CursorList<Filters, P>
  filters: Filters
  /** The cursor as it was sent. */
  cursor: string | undefined
  /** Reads a page behind a position; undefined is the beginning of the list. */
  read: (after: P | undefined) => ListPage<P> | Promise<ListPage<P>>
}

/** Reads a page. Rejects with `cursor_invalid`, `cursor_mismatch` and what `read` throws. */
export async function readList<Filters, P>(
  cursors: CursorCodec,
  { list, filters, cursor, read }: ListRead<Filters, P>,
): Promise<DataAnswer> {
  const walk = cursors.walk(list, filters, cursor)
  const page = await read(walk.after)
  const { nextCursor, resumeCursor } = walk.end(page)
  const rest = JSON.stringify({ nextCursor, ...page.members }).slice(1)
  return {
    body: `{"data":[${page.rows.join(',')}],${rest}`,
    resumeCursor,
    coverage: page.coverage,
    isClosed: page.isClosed,
  }
}

/** Takes the rows of a page from all that follow. */
export function takeRows<Row, P>(
  following: Iterable<Row>,
  limit: number,
  describe: { textOf: (row: Row) => string; positionOf: (row: Row) => P },
): ListRows<P> {
  const rows: string[] = []
  let last: P | undefined
  for (const row of following) {
    if (rows.length === limit) return { rows, last, hasMore: true }
    rows.push(describe.textOf(row))
    last = describe.positionOf(row)
  }
  return { rows, last, hasMore: false }
}
