/**
 * Lists of a market's history: snapshots, changes, quotes, prices and trades. Filters, cursors,
 * coverage and the tag follow from the parameters; a list itself only reads rows. The tag covers all
 * that decides a body, the revision of the market included, so a 304 is answered before any read.
 */

import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'

import { coverageText } from '#src/domain/coverage.ts'
import type { CursorCodec, PageEnd, Walk } from '#src/domain/cursor.ts'
import type { HistoryFilters, HistoryList } from '#src/domain/lists.ts'
import type { Market } from '#src/domain/market.ts'
import { ROW_BYTES_MAX, type SeriesPage, type StatePart } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { encodedTag, historyTagOf, tagOf } from '#src/domain/tag.ts'
import { type Clock, readRange } from '#src/domain/time.ts'
import { putText } from '#src/domain/wire/row-bytes.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import type { Page, PageCache } from '#src/platform/page-cache.ts'

import type { DataAnswer, PageAnswer } from './answer.ts'
import {
  cursorParameter,
  limitParameter,
  orderParameter,
  outcomeParameter,
  rangeParameters,
} from './data-query.ts'
import { acceptsGzip } from './negotiation.ts'
import {
  jsonOnly,
  listLane,
  TABLE_VARY,
  type TableForm,
  tableOf,
  type TableQuery,
  tableTask,
} from './table.ts'
import {
  type DataTask,
  dataTask,
  type Lane,
  marketIn,
  type TaskPorts,
  type Tasks,
} from './tasks.ts'

type ListTexts = {
  /** The noun of a page, such as `Rows`. */
  rows: string
  /** The noun of the times that `from` and `to` bound. */
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

type Shared = Static<ReturnType<typeof historyQuery<Record<never, never>>>>
/** A list may be without `order`: it ascends. */
type HistoryQuery = Omit<Shared, 'order'> & Partial<Pick<Shared, 'order'>>

/** The filters that all have. Throws `invalid_parameter`. */
function readFilters(market: Market, query: HistoryQuery): HistoryFilters {
  const { conditionId } = market
  const { outcome, order = 'asc' } = query
  const { fromMs, toMs } = readRange(query)
  return { conditionId, outcome, order, fromMs, toMs }
}

type Bytes = Uint8Array<ArrayBuffer>

/** Every body begins so. */
export const PAGE_START = '{"data":['

/** Rows that were read. */
export type HistoryPage = PageEnd<Position> & {
  /** Makes the body: `PAGE_START`, the rows with commas between, and then `end`. */
  toBody: (end: string) => Bytes
  /** Rows of it may still change, even if the history of the market is final. */
  isOpen?: boolean
}

/** A read of a list: rows of a market in a range, by the filters of the list. */
export type HistoryRequest<Filters> = { market: Market; range: StatePart; filters: Filters }

type HistoryListOptions<Query, Filters extends HistoryFilters> = {
  list: HistoryList<Filters>
  /** The schema of the query; its default of `limit` decides the lane. */
  query: TObject
  /** Adds its own filters to those that all have. Throws `invalid_parameter`. */
  toFilters: (query: Query, shared: HistoryFilters) => Filters
  /** The history is ready for nothing yet. */
  read: (
    history: MarketHistory,
    request: HistoryRequest<Filters>,
    clock: Clock,
  ) => HistoryPage | Promise<HistoryPage>
  /** The query of a page whose rows only have to be joined; undefined where each is read. */
  joinedQuery?: (request: HistoryRequest<Filters>) => RowQuery | undefined
  /** True if gaps decide rows, such as steps and bars. */
  readsGaps?: (filters: Filters) => boolean
  /** True if rows are made of the books of both outcomes, whichever is requested. */
  readsBoth?: (filters: Filters) => boolean
  /** Schema of its JSON, of a list that can be had as a table. */
  table?: TObject
  /** Members that the rows of a table have; all of them by default. */
  membersOf?: (query: Query, history: MarketHistory) => readonly string[] | undefined
}

export type HistoryListDeps = TaskPorts & { pages: PageCache; tasks: Tasks }

type Call<Query> = { request: Request; market: Market; query: Query }

/** The arguments of a task that makes a page. */
type Given<Query> = { conditionId: string; query: Query; table: TableForm }

/** Makes a list: its task, and what answers requests with it. */
export function createHistoryList<
  Query extends HistoryQuery & TableQuery,
  Filters extends HistoryFilters,
>(options: HistoryListOptions<Query, Filters>) {
  const { list, table } = options
  const task: DataTask<Given<Query>> =
    table === undefined ? dataTask(list.name, make) : tableTask(list.name, table, make)

  /** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
  function readRequest(cursors: CursorCodec, market: Market, query: Query) {
    const filters = options.toFilters(query, readFilters(market, query))
    const { outcome, order, fromMs, toMs } = filters
    const { limit, cursor } = query
    const walk: Walk<Position> = cursors.walk(list, filters, cursor)
    const { after } = walk
    const range: StatePart = { order, outcome, fromMs, toMs, after, limit }
    return { filters, range, walk }
  }
  type Asked = ReturnType<typeof readRequest>

  function coverageOf({ history, clock }: TaskPorts, market: Market, asked: Asked): string {
    const { fromMs, toMs } = asked.range
    const outcome = options.readsBoth?.(asked.filters) ? undefined : asked.range.outcome
    const gaps = history.gaps(market)
    return coverageText({ market, gaps, outcome, fromMs, toMs, nowMs: clock() })
  }

  /** The revision, and what decides rows without it. */
  function versionOf({ history }: TaskPorts, now: Market, { filters }: Asked): number | string {
    const derived = options.readsGaps?.(filters) ? history.derivedGaps?.(now) : []
    if (derived === undefined || derived.length === 0) return now.revision
    return `${now.revision}.${tagOf(JSON.stringify(derived))}`
  }

  async function make(ports: TaskPorts, { conditionId, query }: Given<Query>): Promise<DataAnswer> {
    const { history } = ports
    const market = marketIn(ports, conditionId)
    const asked = readRequest(ports.cursors, market, query)
    const version = versionOf(ports, market, asked)
    const page = await options.read(history, { market, ...asked }, ports.clock)
    const { nextCursor, resumeCursor } = asked.walk.end(page)
    const body = page.toBody(endOf(nextCursor))
    const now = history.findMarket(conditionId)
    // Rows that another process wrote in the meantime may or may not be in the page.
    const isUnchanged = now !== undefined && versionOf(ports, now, asked) === version
    return {
      body,
      resumeCursor,
      coverage: coverageOf(ports, market, asked),
      isClosed: market.isClosed && page.isOpen !== true,
      version: isUnchanged ? version : undefined,
    }
  }

  /** Rows made of the books of both outcomes are long work, too. */
  const laneOf = ({ query, table }: Given<Query>, { filters }: Asked): Lane =>
    options.readsBoth?.(filters) ? 'long' : listLane(options.query, query, table)

  function givenOf(
    { history }: HistoryListDeps,
    { request, market, query }: Call<Query>,
  ): Given<Query> {
    const { conditionId } = market
    const form =
      table === undefined ? jsonOnly : tableOf(request, query, options.membersOf?.(query, history))
    return { conditionId, query, table: form }
  }

  function toAnswer(deps: HistoryListDeps, call: Call<Query>, given: Given<Query>): PageAnswer {
    const { history, pages, tasks } = deps
    const { market } = call
    const asked = readRequest(deps.cursors, market, call.query)
    const { range, filters, walk } = asked
    const isGzip = acceptsGzip(call.request.headers.get('accept-encoding'))
    const position = Object.values(range.after ?? {}).join('.')
    const key = `${list.name}.${historyTagOf(history.cursorKey)}.${market.id}.${list.text(filters)}.${position}.${range.limit}`
    const tagAt = (version: number | string): string => encodedTag(`${key}.${version}`, isGzip)
    const version = versionOf(deps, market, asked)
    const tag = tagAt(version)
    const joinedOf = () => options.joinedQuery?.({ market, range, filters })

    function joinPage(query: RowQuery): Page {
      const page = history.page(query)
      const { nextCursor, resumeCursor } = walk.end(page)
      const body = page.encode(isGzip ? 'gzip' : 'identity', PAGE_START, endOf(nextCursor))
      // Another process may have written since the market was found.
      return pages.put({ tag: tagAt(page.revision), body, resumeCursor })
    }

    async function joinReady(query: RowQuery): Promise<Page> {
      await history.ready([query])
      const page = joinPage(query)
      // Another page may be encoded before this one is sent.
      return page.body instanceof Blob ? page : { ...page, body: page.body.slice() }
    }

    return {
      tag,
      isGzip,
      isClosed: market.isClosed,
      coverage: coverageOf(deps, market, asked),
      vary: table === undefined ? undefined : TABLE_VARY,
      findPage() {
        const found = pages.find(tag)
        const joined = found === undefined ? joinedOf() : undefined
        if (joined === undefined) return found
        return history.ready([joined]) === undefined ? joinPage(joined) : undefined
      },
      join() {
        const joined = joinedOf()
        return joined && joinReady(joined)
      },
      async make(request) {
        const made = await tasks.page(request, task, given, laneOf(given, asked))
        const { body, resumeCursor } = made
        return { body, resumeCursor, tag: made.version === version ? tag : tagAt(made.tag) }
      },
    }
  }

  return {
    task,

    /** For a route with `caching: 'page'`: a page, or a table of it. */
    page(deps: HistoryListDeps, call: Call<Query>): PageAnswer | Promise<DataAnswer> {
      const given = givenOf(deps, call)
      if (given.table.format === 'json') return toAnswer(deps, call, given)
      readRequest(deps.cursors, call.market, call.query)
      const made = deps.tasks.data(call.request, task, given, 'long')
      return made.then((answer) => ({ ...answer, isOfPage: true }))
    },

    /** For a route with `caching: 'digest'`. */
    data(deps: HistoryListDeps, call: Call<Query>): Promise<DataAnswer> {
      const given = givenOf(deps, call)
      const asked = readRequest(deps.cursors, call.market, call.query)
      return deps.tasks.data(call.request, task, given, laneOf(given, asked))
    },
  }
}

const endOf = (nextCursor: string | null): string =>
  nextCursor === null ? '],"nextCursor":null}' : `],"nextCursor":"${nextCursor}"}`

const encoder = new TextEncoder()

/** An upper bound of the bytes after the rows. */
const END_BYTES_MAX = 1024

/** A page of rows that are one text, with commas between, which is copied at once. */
export function rowPage(end: PageEnd<Position>, rows: Uint8Array): HistoryPage {
  const bytes = new Uint8Array(PAGE_START.length + rows.length + END_BYTES_MAX)
  const at = putText(bytes, 0, PAGE_START)
  bytes.set(rows, at)
  return {
    ...end,
    toBody: (text) => bytes.subarray(0, putText(bytes, at + rows.length, text)),
  }
}

/** A page of rows that are strings. */
export const textPage = (end: PageEnd<Position>, rows: readonly string[]): HistoryPage => ({
  ...end,
  toBody: (text) => encoder.encode(PAGE_START + rows.join(',') + text),
})

const ROW_BYTES_USUAL = 192
const COMMA = 0x2c

/** A page of rows that are written one by one. */
export const seriesPage = (page: SeriesPage): HistoryPage => ({
  last: page.last,
  hasMore: page.hasMore,
  resume: page.resume,
  toBody(text) {
    let bytes = new Uint8Array(ROW_BYTES_MAX * 2 + page.count * ROW_BYTES_USUAL)
    let at = putText(bytes, 0, PAGE_START)
    for (let row = 0; row < page.count; row++) {
      if (at + ROW_BYTES_MAX * 2 > bytes.length) bytes = longer(bytes)
      if (row > 0) bytes[at++] = COMMA
      at = page.put(row, bytes, at)
    }
    return bytes.subarray(0, putText(bytes, at, text))
  },
})

function longer(bytes: Bytes): Bytes {
  const grown = new Uint8Array(bytes.length * 2)
  grown.set(bytes)
  return grown
}
