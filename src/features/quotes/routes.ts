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
import type { Api } from '#src/http/api.ts'
import { readFields } from '#src/http/data-query.ts'
import { createHistoryList, type HistoryListDeps, seriesPage } from '#src/http/history-list.ts'
import { createTable, tableQuery } from '#src/http/table.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { quoteFields, QuoteList, QuoteQuery } from './schema.ts'

const asTable = createTable(
  QuoteList,
  ({ fields, interval }) =>
    fields?.split(',') ?? quoteFields.slice(interval === undefined ? STEP_FIELDS : 0, -1),
)

export function quoteRoutes(api: Api, deps: HistoryListDeps) {
  const quotes = createHistoryList(
    {
      list: quoteList,
      toFilters: (query: QuoteQuery, shared): SeriesFilters => ({
        ...shared,
        interval: query.interval,
        fields: readWanted(query),
      }),
      *read({ market, range, filters: { interval, fields } }) {
        return seriesPage(
          yield* readQuotes(deps.history, { market, range, fields, stepMs: stepMsOf(interval) }),
        )
      },
      readsGaps: ({ interval }) => interval !== undefined,
    },
    deps,
  )
  return new Elysia({ name: 'quotes' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/quotes',
      ({ reply, request, market, query }) =>
        reply.page(request, asTable({ request, query }, quotes.page({ request, market, query }))),
      {
        access: 'quotes',
        market: true,
        query: tableQuery(QuoteQuery),
        isTable: true,
        isCovered: true,
        caching: 'page',
        response: { 200: QuoteList },
        answers: {
          description: 'A page of quotes.',
          resume:
            'The place after the last state looked at, also when `nextCursor` is null: repeats are not read again.',
        },
        detail: {
          operationId: 'listQuotes',
          summary: 'Best bid and ask over time',
          description:
            'Without `interval` every change of best bid, best ask or their sizes: a state that equals the previous one of its outcome is left out; the first state of each outcome in the range is always there. With `interval` the state prevailing at each step, at or before it and never after. A step in a gap, before the first state or after the expiry (or after the last state, where that is later) has no row, because what prevailed is not known; so an interval longer than the market often has no rows at all. On an open market a step appears once a later state of each requested outcome is recorded. Follow `nextCursor` until it is null; resume later from `X-Resume-Cursor`.',
          tags: ['quotes'],
        },
      },
    )
}

const ofSteps = 'only rows with `interval` have'

/** The fields wanted, in their order. Throws `invalid_parameter`. */
function readWanted({ fields, interval }: QuoteQuery): string[] | undefined {
  if (fields === undefined) return undefined
  const absent = interval === undefined ? { time: ofSteps, ageMs: ofSteps } : {}
  const named = readFields(fields, quoteFields, absent)
  return quoteFields.filter((field) => named.has(field))
}

/** From the columns that the store keeps of the best of a book: no book is opened. */
export function* readQuotes(history: MarketHistory, request: SeriesRequest): Steps<SeriesPage> {
  const { market, stepMs, range, fields } = request
  const withReceived = isReceived(fields)
  const read: ReadStates<Top> = function* (part) {
    const query = { ...part, market, withReceived }
    yield history.ready([{ ...query, withTops: true }])
    return history.tops(query)
  }
  if (stepMs === undefined)
    return toChanges(yield* readChanges({ read, isSame: isSameTop, range }), fields)
  const marks = yield* listMarks({ market, gaps: history.gaps(market), stepMs, range })
  return yield* toSteps(read, marks, request)
}

type Fields = SeriesRequest['fields']

const isReceived = (fields: Fields): boolean => fields?.includes('receivedAt') ?? false

/** `time` and `ageMs` come first, and only with `interval`. */
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

/** Writes of a whole row only what is wanted: no value has a comma in it. */
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

/** `marks` has one more than the page where there is one. */
function* toSteps(
  read: ReadStates<Top>,
  marks: readonly Mark[],
  { range: { limit, order, outcome }, fields }: SeriesRequest,
): Steps<SeriesPage> {
  const taken = marks.slice(0, limit)
  const ascending = order === 'asc' ? taken : taken.toReversed()
  const states = yield* readPrevailing(read, ascending, outcome)
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
