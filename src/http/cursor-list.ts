/** A page of a list that is walked with cursors: rows in JSON, and the cursors behind them. */

import type { CursorCodec, CursorList, PageEnd } from '#src/domain/cursor.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { DataAnswer } from './answer.ts'

type ListRows<P> = PageEnd<P> & {
  /** Each the JSON of an object. */
  rows: readonly string[]
}

/** What was read of a list. */
export type ListPage<P> = ListRows<P> & {
  /** Members of the body behind `nextCursor`. */
  members?: object
  coverage?: string
  isClosed?: boolean
}

type ListRead<Filters, P> = {
  list: CursorList<Filters, P>
  filters: Filters
  /** As it was sent. */
  cursor: string | undefined
  /** Reads a page behind a position; undefined is the beginning of the list. */
  read: (after: P | undefined) => Steps<ListPage<P>>
}

/** Reads a page. Throws `cursor_invalid`, `cursor_mismatch` and what `read` throws. */
export function* readList<Filters, P>(
  cursors: CursorCodec,
  { list, filters, cursor, read }: ListRead<Filters, P>,
): Steps<DataAnswer> {
  const walk = cursors.walk(list, filters, cursor)
  const page = yield* read(walk.after)
  const { nextCursor, resumeCursor } = walk.end(page)
  const rest = JSON.stringify({ nextCursor, ...page.members }).slice(1)
  return {
    body: `{"data":[${page.rows.join(',')}],${rest}`,
    resumeCursor,
    coverage: page.coverage,
    isClosed: page.isClosed,
  }
}

/**
 * Takes the rows of a page from all that follow. `undefined` among them is a place where other work
 * may go on.
 */
export function* takeRows<Row, P>(
  following: Iterable<Row | undefined>,
  limit: number,
  describe: { textOf: (row: Row) => string; positionOf: (row: Row) => P },
): Steps<ListRows<P>> {
  const rows: string[] = []
  let last: P | undefined
  for (const row of following) {
    if (row === undefined) {
      yield
      continue
    }
    if (rows.length === limit) return { rows, last, hasMore: true }
    rows.push(describe.textOf(row))
    last = describe.positionOf(row)
  }
  return { rows, last, hasMore: false }
}
