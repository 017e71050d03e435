import { Elysia } from 'elysia'

import { type ChangesPage, readChanges } from '#src/domain/changes.ts'
import { quoteList, type SeriesFilters } from '#src/domain/lists.ts'
import { isSameTop } from '#src/domain/quote.ts'
import {
  type ReadStates,
  ROW_BYTES_MAX,
  type SeriesPage,
  type SeriesRequest,
  stepMsOf,
} from '#src/domain/series.ts'
import { listMarks, type Mark, markPosition, readPrevailing } from '#src/domain/steps.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import {
  createTimePut,
  piecesOf,
  putInteger,
  putPiece,
  putPlace,
  putQuote,
  putText,
} from '#src/domain/wire/row-bytes.ts'
import { receivedText } from '#src/domain/wire/row-cut.ts'
import type { MarketHistory, Top } from '#src/history/history.ts'
import { readTops, untilReady } from '#src/history/reads/until-ready.ts'
import type { Api } from '#src/http/api.ts'
import { readFields } from '#src/http/data-query.ts'
import { createHistoryList, type HistoryListDeps, seriesPage } from '#src/http/history-list.ts'
import { tableQuery } from '#src/http/table.ts'

import { quoteFields, QuoteList, QuoteQuery } from './schema.ts'

export const quotes = createHistoryList({
  list: quoteList,
  query: QuoteQuery,
  toFilters: (query: QuoteQuery, shared): SeriesFilters => ({
    ...shared,
    interval: query.interval,
    fields: readWanted(query),
  }),
  async read(history, { market, range, filters: { interval, fields } }) {
    const request = { market, range, fields, stepMs: stepMsOf(interval) }
    return seriesPage(await untilReady(() => readQuotes(history, request)))
  },
  readsGaps: ({ interval }) => interval !== undefined,
  table: QuoteList,
  membersOf: ({ fields, interval }) =>
    fields?.split(',') ?? quoteFields.slice(interval === undefined ? STEP_FIELDS : 0, -1),
})

export const quoteRoutes = (api: Api, deps: HistoryListDeps) =>
  new Elysia({ name: 'quotes' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/quotes',
      ({ reply, request, market, query }) =>
        reply(request, quotes.page(deps, { request, market, query })),
      {
        access: 'quotes',
        market: true,
        query: tableQuery(QuoteQuery),
        isCovered: true,
        caching: 'page',
        response: { 200: QuoteList },
        answers: {
          description: 'A page of quotes.',
          resume:
            'Cursor after the last state that was read, even if `nextCursor` is null, so that repeated states are not read again.',
        },
        detail: {
          operationId: 'listQuotes',
          summary: 'List best bid and ask over time',
          description:
            'Without `interval`: every change of best bid, best ask or their sizes, beginning with the first state of each outcome in the range. With `interval`: the prevailing state at each step; a later state is never used. A step has no row where the prevailing state is unknown: in a gap, before the first state, and once both the window and the last state have passed. So an interval longer than the market often returns no rows. On an open market, a step is returned once a later state of each requested outcome is recorded. Follow `nextCursor` until it is null; to resume later, use `X-Resume-Cursor`.',
          tags: ['quotes'],
        },
      },
    )

const ofSteps = 'only rows with `interval` have'

/** Requested fields, in their order. Throws `invalid_parameter`. */
function readWanted({ fields, interval }: QuoteQuery): string[] | undefined {
  if (fields === undefined) return undefined
  const absent = interval === undefined ? { time: ofSteps, ageMs: ofSteps } : {}
  const named = readFields(fields, quoteFields, absent)
  return quoteFields.filter((field) => named.has(field))
}

/** Reads the columns with the top of each book, without decoding books. Throws `NotReady`. */
export function readQuotes(history: MarketHistory, request: SeriesRequest): SeriesPage {
  const { market, stepMs, range, fields } = request
  const withReceived = isReceived(fields)
  const read: ReadStates<Top> = (part) => readTops(history, { ...part, market, withReceived })
  if (stepMs === undefined)
    return toChanges(readChanges({ read, isSame: isSameTop, range }), fields)
  const marks = listMarks({ market, gaps: history.gaps(market), stepMs, range })
  return toSteps(read, marks, request)
}

type Fields = SeriesRequest['fields']

const isReceived = (fields: Fields): boolean => fields?.includes('receivedAt') ?? false

/** `time` and `ageMs` are the first fields, and exist only with `interval`. */
const STEP_FIELDS = 2

type Put<Row> = (bytes: Uint8Array, start: number, row: Row) => number

const pieces = piecesOf({
  open: '{',
  timestamp: ',"timestamp":"',
  next: '",',
  close: '}',
  time: '{"time":"',
  age: '","ageMs":',
  comma: ',',
})

function createPut(fields: Fields): Put<Top> {
  const putTime = createTimePut()
  const withReceived = isReceived(fields)
  return (bytes, start, top) => {
    let at = putPiece(bytes, putPlace(bytes, start, top), pieces.timestamp)
    at = putPiece(bytes, putTime(bytes, at, top.timestampMs), pieces.next)
    at = putQuote(bytes, at, top)
    if (withReceived) at = putText(bytes, at, `,"receivedAt":${receivedText(top.receivedMs)}`)
    return putPiece(bytes, at, pieces.close)
  }
}

/** Cuts the requested fields out of a whole row: no value contains a comma. */
function cutPut<Row>(put: Put<Row>, members: readonly string[], fields: Fields): Put<Row> {
  if (fields === undefined) return put
  const kept = members.map((name) => fields.includes(name))
  const whole = new Uint8Array(ROW_BYTES_MAX)
  return (bytes, start, row) => {
    const end = put(whole, 0, row) - 1
    let at = putPiece(bytes, start, pieces.open)
    let from = 1
    for (const isKept of kept) {
      const comma = whole.subarray(0, end).indexOf(byteOf.comma, from)
      const to = comma < 0 ? end : comma
      if (isKept) at = putPiece(bytes, putPiece(bytes, at, whole.subarray(from, to)), pieces.comma)
      from = to + 1
    }
    bytes[at - 1] = byteOf.closeBrace
    return at
  }
}

function toChanges({ rows, last, hasMore }: ChangesPage<Top>, fields: Fields): SeriesPage {
  const putTop = createPut(fields)
  const putOpened: Put<Top> = (bytes, start, top) =>
    putTop(bytes, putPiece(bytes, start, pieces.open), top)
  const putRow = cutPut(putOpened, quoteFields.slice(STEP_FIELDS), fields)
  const put: SeriesPage['put'] = (row, bytes, start) => {
    const top = rows[row]
    return top ? putRow(bytes, start, top) : start
  }
  return { count: rows.length, put, last, hasMore }
}

type StepRow = { timeMs: number; top: Top }

function createStepPut(fields: Fields): Put<StepRow> {
  const putTime = createTimePut()
  const putTop = createPut(fields)
  return (bytes, start, { timeMs, top }) => {
    let at = putTime(bytes, putPiece(bytes, start, pieces.time), timeMs)
    at = putInteger(bytes, putPiece(bytes, at, pieces.age), timeMs - top.timestampMs)
    return putTop(bytes, putPiece(bytes, at, pieces.comma), top)
  }
}

/** `marks` has one more row than the page if there is a next page. */
function toSteps(
  read: ReadStates<Top>,
  marks: readonly Mark[],
  { range: { limit, order, outcome }, fields }: SeriesRequest,
): SeriesPage {
  const taken = marks.slice(0, limit)
  const ascending = order === 'asc' ? taken : taken.toReversed()
  const states = readPrevailing(read, ascending, outcome)
  const rows = ascending.flatMap(({ timeMs }, index): StepRow[] => {
    const top = states[index]
    return top === undefined ? [] : [{ timeMs, top }]
  })
  if (order === 'desc') rows.reverse()
  const putStep = cutPut(createStepPut(fields), quoteFields, fields)
  const last = taken.at(-1)
  return {
    count: rows.length,
    put(row, bytes, start) {
      const step = rows[row]
      return step ? putStep(bytes, start, step) : start
    },
    last: last && markPosition(last),
    hasMore: marks.length > limit,
  }
}
