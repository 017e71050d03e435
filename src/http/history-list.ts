/**
 * Lists of a market's history: snapshots, quotes, prices and trades. From the parameters follow
 * filters, cursors, coverage and the tag; a list itself only reads rows. All that decides a body is in its tag, the revision of the market included, so a 304 is
 * answered before anything is read.
 */

import { type Static, type TProperties, Type } from '@sinclair/typebox'

import { coverageText } from '#src/domain/coverage.ts'
import type { CursorCodec, PageEnd, Walk } from '#src/domain/cursor.ts'
import type { HistoryFilters, HistoryList } from '#src/domain/lists.ts'
import type { Market } from '#src/domain/market.ts'
import { ROW_BYTES_MAX, type SeriesPage, type StatePart } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { encodedTag, historyTagOf, tagOf } from '#src/domain/tag.ts'
import { readRange } from '#src/domain/time.ts'
import { putText } from '#src/domain/wire/row-bytes.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import type { MadePage, Page, PageCache } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { DataAnswer, PageAnswer } from './answer.ts'
import {
  cursorParameter,
  limitParameter,
  orderParameter,
  outcomeParameter,
  rangeParameters,
} from './data-query.ts'
import { acceptsGzip } from './negotiation.ts'

type ListTexts = {
  /** What a page has, such as `Rows`. */
  rows: string
  /** What `from` and `to` are of. */
  range: string
  limit: { default: number; maximum: number }
}

/** The parameters of every list of a market's history, and those of one of them. */
export const historyQuery = <Own extends TProperties>(
  { rows, range, limit }: ListTexts,
  own: Own,
) =>
  Type.Object({
    ...rangeParameters(range),
    limit: limitParameter(rows, limit),
    cursor: cursorParameter,
    outcome: outcomeParameter,
    order: orderParameter,
    ...own,
  })

type HistoryQuery = Static<ReturnType<typeof historyQuery<Record<never, never>>>>

/** The filters that all have. Throws `invalid_parameter`. */
function readFilters(market: Market, query: HistoryQuery): HistoryFilters {
  const { conditionId } = market
  const { outcome, order } = query
  const { fromMs, toMs } = readRange(query)
  return { conditionId, outcome, order, fromMs, toMs }
}

type Bytes = Uint8Array<ArrayBuffer>

/** Every body begins so. */
export const PAGE_START = '{"data":['

/** Rows that were read. */
export type HistoryPage = PageEnd<Position> & {
  /** Makes the body: `PAGE_START`, the rows with commas between, and then `end`. */
  toBody: (end: string) => Bytes | Steps<Bytes>
}

/** What is read of a list: rows of a market in a range, by the filters of the list. */
export type HistoryRequest<Filters> = { market: Market; range: StatePart; filters: Filters }

type HistoryListOptions<Query, Filters extends HistoryFilters> = {
  list: HistoryList<Filters>
  /** Adds its own filters to those that all have. Throws `invalid_parameter`. */
  toFilters: (query: Query, shared: HistoryFilters) => Filters
  read: (request: HistoryRequest<Filters>) => Steps<HistoryPage>
  /** The query of a page whose rows only have to be joined; undefined where each is read. */
  joinedQuery?: (request: HistoryRequest<Filters>) => RowQuery | undefined
  /** Whether gaps decide rows, such as steps and bars. */
  readsGaps?: (filters: Filters) => boolean
  /** Whether rows are made of the books of both outcomes, whichever is asked for. */
  readsBoth?: (filters: Filters) => boolean
}

export type HistoryListDeps = {
  history: MarketHistory
  cursors: CursorCodec
  served: () => ServedMoment
  pages: PageCache
}

type Call<Query> = { request: Request; market: Market; query: Query }

/** Makes what answers requests for a list. */
export function createHistoryList<Query extends HistoryQuery, Filters extends HistoryFilters>(
  options: HistoryListOptions<Query, Filters>,
  { history, cursors, served, pages }: HistoryListDeps,
) {
  const { list } = options
  const historyTag = historyTagOf(history.cursorKey)

  /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
  function readRequest({ market, query }: Call<Query>) {
    const filters = options.toFilters(query, readFilters(market, query))
    const { outcome, order, fromMs, toMs } = filters
    const { limit, cursor } = query
    const walk: Walk<Position> = cursors.walk(list, filters, cursor)
    const { after } = walk
    const range: StatePart = { order, outcome, fromMs, toMs, after, limit }
    return { filters, range, walk }
  }
  type Asked = ReturnType<typeof readRequest>

  function coverageOf(market: Market, { filters, range }: Asked): string {
    const { fromMs, toMs } = range
    const outcome = options.readsBoth?.(filters) ? undefined : range.outcome
    const gaps = history.gaps(market)
    return coverageText({ market, gaps, outcome, fromMs, toMs, ...served() })
  }

  function* make(market: Market, { filters, range, walk }: Asked) {
    const page = yield* options.read({ market, range, filters })
    const { nextCursor, resumeCursor } = walk.end(page)
    const made = page.toBody(endOf(nextCursor))
    return { body: made instanceof Uint8Array ? made : yield* made, resumeCursor }
  }

  function tagger(market: Market, { filters, range }: Asked, isGzip: boolean) {
    const { after, limit } = range
    const position = after === undefined ? '' : `${after.timestampMs}.${after.id}`
    const key = `${list.name}.${historyTag}.${market.id}.${list.text(filters)}.${position}.${limit}`
    return (version: number | string): string => encodedTag(`${key}.${version}`, isGzip)
  }

  function toAnswer(call: Call<Query>, asked: Asked): PageAnswer {
    const { market } = call
    const isGzip = acceptsGzip(call.request.headers.get('accept-encoding'))
    const tagAt = tagger(market, asked, isGzip)
    /** The revision, and what decides rows without it. */
    function versionOf(now: Market): number | string {
      const derived = options.readsGaps?.(asked.filters) ? history.derivedGaps?.(now) : []
      if (derived === undefined || derived.length === 0) return now.revision
      return `${now.revision}.${tagOf(JSON.stringify(derived))}`
    }
    const version = versionOf(market)
    const tag = tagAt(version)

    const { range, filters, walk } = asked
    const joinedOf = () => options.joinedQuery?.({ market, range, filters })
    const readyFor = (query: RowQuery) => history.ready([query])

    function joinPage(query: RowQuery): Page {
      const page = history.page(query)
      const { nextCursor, resumeCursor } = walk.end(page)
      const body = page.encode(isGzip ? 'gzip' : 'identity', PAGE_START, endOf(nextCursor))
      // Another process may have written since the market was found.
      return pages.put({ tag: tagAt(page.revision), body, resumeCursor })
    }

    function* joinReady(query: RowQuery): Steps<Page> {
      yield readyFor(query)
      const page = joinPage(query)
      // Another page may be encoded before this one is sent.
      return page.body instanceof Blob ? page : { ...page, body: page.body.slice() }
    }

    return {
      tag,
      isGzip,
      isClosed: market.isClosed,
      coverage: coverageOf(market, asked),
      findPage() {
        const found = pages.find(tag)
        const joined = found === undefined ? joinedOf() : undefined
        if (joined === undefined) return found
        return readyFor(joined) === undefined ? joinPage(joined) : undefined
      },
      join() {
        const joined = joinedOf()
        return joined && joinReady(joined)
      },
      *make(): Steps<MadePage> {
        const { body, resumeCursor } = yield* make(market, asked)
        const now = history.findMarket(market.conditionId)
        const isUnchanged = now !== undefined && versionOf(now) === version
        // What another process wrote meanwhile may be in it or not.
        return { body, tag: isUnchanged ? tag : tagAt(tagOf(body)), resumeCursor }
      },
    }
  }

  return {
    /** For a route with `caching: 'page'`. */
    page: (call: Call<Query>): PageAnswer => toAnswer(call, readRequest(call)),

    /** For a route with `caching: 'digest'`. */
    *data(call: Call<Query>): Steps<DataAnswer> {
      const asked = readRequest(call)
      const { market } = call
      const { body, resumeCursor } = yield* make(market, asked)
      return { body, resumeCursor, coverage: coverageOf(market, asked), isClosed: market.isClosed }
    },
  }
}

const endOf = (nextCursor: string | null): string =>
  nextCursor === null ? '],"nextCursor":null}' : `],"nextCursor":"${nextCursor}"}`

const encoder = new TextEncoder()

/** A page of rows that are texts. */
export const textPage = (end: PageEnd<Position>, rows: readonly string[]): HistoryPage => ({
  ...end,
  toBody: (text) => encoder.encode(PAGE_START + rows.join(',') + text),
})

const ROW_BYTES_USUAL = 192
const ROWS_A_STEP = 512
const COMMA = 0x2c

/** A page of rows that are written one by one. */
export const seriesPage = (page: SeriesPage): HistoryPage => ({
  last: page.last,
  hasMore: page.hasMore,
  resume: page.resume,
  *toBody(text) {
    const bytes = new Uint8Array(ROW_BYTES_MAX * 2 + page.count * ROW_BYTES_USUAL)
    const body = { bytes, at: putText(bytes, 0, PAGE_START) }
    for (let row = 0; row < page.count; row += ROWS_A_STEP) {
      if (row > 0) yield
      putRows(body, page, row)
    }
    return body.bytes.subarray(0, putText(body.bytes, body.at, text))
  },
})

function putRows(
  body: { bytes: Bytes; at: number },
  { count, put }: SeriesPage,
  from: number,
): void {
  let { bytes, at } = body
  for (let row = from; row < Math.min(count, from + ROWS_A_STEP); row++) {
    if (at + ROW_BYTES_MAX * 2 > bytes.length) bytes = longer(bytes)
    if (row > 0) bytes[at++] = COMMA
    at = put(row, bytes, at)
  }
  body.bytes = bytes
  body.at = at
}

function longer(bytes: Bytes): Bytes {
  const grown = new Uint8Array(bytes.length * 2)
  grown.set(bytes)
  return grown
}
