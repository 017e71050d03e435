/**
 * Pages of snapshots. Everything that decides the bytes of a page is in its tag, the revision of the
 * market included: it is the page's `ETag`, and what finished pages are kept under.
 */
import { createConsolidatedPrinter } from '#src/core/consolidated-text.ts'
import type { CursorCodec } from '#src/core/cursor.ts'
import { intervalMs } from '#src/core/interval.ts'
import type { Market } from '#src/core/market.ts'
import { decodePosition, encodePosition, startOf } from '#src/core/row-cursor.ts'
import { createRowCut, isWhole, nameOf, type RowCut } from '#src/core/row-cut.ts'
import type { Position } from '#src/core/snapshot.ts'
import type { Clock } from '#src/core/time.ts'
import { readRange } from '#src/http/data-query.ts'
import { compress, compressAside, digestOf, historyTagOf } from '#src/http/data-response.ts'
import type { Page, PageShelf } from '#src/http/page-shelf.ts'
import { readCut, type View } from '#src/http/snapshot-query.ts'
import { ByteWriter } from '#src/lib/byte-writer.ts'
import type { Turns } from '#src/lib/turns.ts'
import type { Encoding, HistoryStore, RowQuery } from '#src/store/history.ts'

import { createConsolidatedRows } from './consolidated-rows.ts'
import { createCoverageNotes } from './coverage-notes.ts'
import type { PageQuery } from './model.ts'

type Deps = {
  history: HistoryStore
  cursors: CursorCodec
  clock: Clock
  turns: Turns
  pages: PageShelf
}

/** `tag` is what the page's tag is at the market's revision of the moment, `key` all of it but that. */
export type PageRequest = {
  tag: string
  key: string
  scope: string
  rows: RowQuery
  cut: RowCut
  view: View
  encoding: Encoding
}
/** Where a page ends. */
type PageEnd = { last: Position | undefined; hasMore: boolean }

const PREFIX = '{"data":['
const CUT_BYTES_START = 65_536

/** Makes the service of a history. */
export function createSnapshotService(deps: Deps) {
  const { history, cursors, clock, pages } = deps
  const maker = createPageMaker(deps)
  const coverageOf = createCoverageNotes(history, clock)
  const historyTag = historyTagOf(history.cursorKey)

  return {
    /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
    toRequest(market: Market, query: PageQuery, encoding: Encoding): PageRequest {
      const { outcome, order, limit, cursor, interval, view } = query
      const { fromMs, toMs } = readRange(query)
      const cut = readCut(query)
      const isPlain = interval === undefined && view === 'own' && isWhole(cut)
      // Cursors do not expire: those of plain pages are as they were before there were others.
      const more = isPlain ? '' : `.${interval ?? ''}.${view}.${nameOf(cut)}`
      const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}${more}`
      const scope = `snapshots ${market.conditionId} ${filters}`
      const after = cursor === undefined ? undefined : decodePosition(cursors.decode(scope, cursor))
      const place = after === undefined ? '' : `${after.timestampMs}.${after.id}`
      const key = `${historyTag}.${market.id}.${filters}.${place}.${limit}.${encoding}`
      const stepMs = interval === undefined ? undefined : intervalMs[interval]
      const rows: RowQuery = { market, outcome, fromMs, toMs, order, after, limit, stepMs }
      return { tag: `${key}.${market.revision}`, key, scope, rows, cut, view, encoding }
    },

    /** The body is valid until the next call. A promise where it takes long. */
    page(request: PageRequest): Page | Promise<Page> {
      const kept = pages.find(request.tag)
      if (kept !== undefined) return kept
      if (request.view === 'own') return pages.put(maker.make(request))
      return maker.makeConsolidated(request).then(pages.put)
    },

    /** The header that says whether the range of a page was recorded. */
    coverageOf({ rows, view }: PageRequest): Record<string, string> {
      const { market, outcome, fromMs, toMs } = rows
      // A consolidated ladder is one of both books.
      return coverageOf(market, { outcome: view === 'own' ? outcome : undefined, fromMs, toMs })
    },
  }
}

export type SnapshotService = ReturnType<typeof createSnapshotService>

function createPageMaker({ history, cursors, turns }: Pick<Deps, 'history' | 'cursors' | 'turns'>) {
  const readConsolidated = createConsolidatedRows(history)
  const print = createConsolidatedPrinter()
  const writer = new ByteWriter(CUT_BYTES_START)

  /** What stands behind the rows, and the place to go on from. */
  function toEnd({ scope, rows }: PageRequest, { last, hasMore }: PageEnd) {
    const resumeCursor = cursors.encode(scope, encodePosition(last ?? rows.after ?? startOf(rows)))
    return { resumeCursor, suffix: `],"nextCursor":${hasMore ? `"${resumeCursor}"` : 'null'}}` }
  }

  /** Lets others go ahead between slices: a row takes ten times as long as one that is copied. */
  async function putConsolidated(own: ByteWriter, { rows, cut }: PageRequest): Promise<PageEnd> {
    const end: PageEnd = { last: undefined, hasMore: false }
    let count = 0
    for (const slice of readConsolidated(rows)) {
      const taken = slice.slice(0, rows.limit - count)
      for (const row of taken) {
        if (count++ > 0) own.text(',')
        own.bytes(print(row, cut))
      }
      end.last = taken.at(-1)?.position ?? end.last
      end.hasMore = slice.length > taken.length
      if (end.hasMore) break
      await turns.take()
    }
    return end
  }

  return {
    make(request: PageRequest): Page {
      const { key, rows, cut, encoding } = request
      const page = history.page(rows)
      const { resumeCursor, suffix } = toEnd(request, page)
      // Another process may have written since the market was found.
      const tag = `${key}.${page.revision}`
      if (isWhole(cut)) return { tag, body: page.encode(encoding, PREFIX, suffix), resumeCursor }
      const cutRow = createRowCut(cut)
      writer.reset()
      writer.text(PREFIX)
      let isFirst = true
      for (const row of page.texts()) {
        if (!isFirst) writer.text(',')
        writer.bytes(cutRow(row))
        isFirst = false
      }
      writer.text(suffix)
      const body = encoding === 'gzip' ? compress(writer.view()) : writer.view()
      return { tag, body, resumeCursor }
    },

    async makeConsolidated(request: PageRequest): Promise<Page> {
      const { key, rows, encoding } = request
      const own = new ByteWriter(CUT_BYTES_START)
      own.text(PREFIX)
      const { resumeCursor, suffix } = toEnd(request, await putConsolidated(own, request))
      own.text(suffix)
      const body = encoding === 'gzip' ? await compressAside(own.view()) : own.view()
      const { conditionId, revision } = rows.market
      const isUnchanged = history.findMarket(conditionId)?.revision === revision
      // What was written meanwhile may be in it or not.
      const version = isUnchanged ? revision : digestOf(own.view())
      return { tag: `${key}.${version}`, body, resumeCursor }
    },
  }
}
