/**
 * Series of a market, such as its quotes. All that decides a body is in its `ETag`, the revision of
 * the market included, so a 304 is answered before anything is read.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'

import { coverageText, type Gap } from '#src/domain/coverage.ts'
import { type CursorCodec, decodePosition, encodePosition, startOf } from '#src/domain/cursor.ts'
import type { Market } from '#src/domain/market.ts'
import {
  intervalMs,
  ROW_BYTES_MAX,
  type SeriesPage,
  type SeriesRequest,
  type StatePart,
} from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { historyTagOf, tagOf } from '#src/domain/tag.ts'
import { type Clock, readRange } from '#src/domain/time.ts'
import { putText } from '#src/domain/wire/row-bytes.ts'
import type { PageCache } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { Api } from './api.ts'
import {
  cursorParameter,
  intervalParameter,
  limitParameter,
  orderParameter,
  outcomeParameter,
  rangeParameters,
  readFields,
} from './data-query.ts'
import { type PageAnswer, RESUME_HEADER, resumeAfter304 } from './data-response.ts'
import { acceptsGzip } from './negotiation.ts'
import { createTable, type MembersOf, tableQuery } from './table.ts'

/** The parameters of a series; both descriptions end sentences. */
export const seriesParameters = (texts: { range: string; interval: string }) =>
  Type.Object({
    ...rangeParameters(texts.range),
    limit: limitParameter('Rows', { default: 1000, maximum: 10_000 }),
    cursor: cursorParameter,
    outcome: outcomeParameter,
    order: orderParameter,
    interval: intervalParameter(texts.interval),
  })
type SeriesParameters = ReturnType<typeof seriesParameters>
type SeriesQuery = Static<SeriesParameters> & { fields?: string; knownAt?: number }

const ROW_BYTES_USUAL = 192

/** Port: what of a history decides how a page is named and what it covers. */
type SeriesHistory = {
  findMarket: (conditionId: string) => Market | undefined
  gaps: (market: Market) => readonly Gap[]
  cursorKey: Uint8Array
}

type Read = (request: SeriesRequest) => Steps<SeriesPage>

export type SeriesMoment = {
  market: Market
  knownAt: number
  nowMs: number
  /** Whether the answer depends on more than books. */
  needsEvents: boolean
  withReceived: boolean
}

/** A market as it was at a moment. */
export type SeriesThen = {
  market: Market
  gaps: readonly Gap[]
  nowMs: number
  read: Read
  /** Undefined where it is not known which gaps there were. */
  coverage: 'unknown' | undefined
}

type SeriesCall = { market: Market; query: SeriesQuery; request: Request }

export type SeriesDeps = {
  /** Names the route in its path, in cursors and in tags. */
  name: 'quotes' | 'prices'
  parameters: SeriesParameters
  /** Names of the members of a row, in their order, for a series with the parameter `fields`. */
  rowFields?: readonly string[]
  /** Those that rows have, as columns of a table; all by default. */
  membersOf?: MembersOf
  read: Read
  /** Throws `invalid_parameter`. */
  openAt: (asked: SeriesMoment) => Steps<SeriesThen>
  cursors: CursorCodec
  history: SeriesHistory
  clock: Clock
  pages: PageCache
}

function createSeries(deps: SeriesDeps) {
  const { name, rowFields = [], cursors, history, clock, pages } = deps
  const historyTag = historyTagOf(history.cursorKey)

  function readWanted({ fields, interval }: SeriesQuery): string[] | undefined {
    if (fields === undefined) return undefined
    const named = readFields(fields, rowFields, interval === undefined ? ofSteps : {})
    return rowFields.filter((field) => named.has(field))
  }

  function toRange(market: Market, query: SeriesQuery) {
    const { outcome, order, limit, cursor, interval } = query
    const { fromMs, toMs } = readRange(query)
    const fields = readWanted(query)
    // Cursors do not expire: those without `fields` are as they were before there were others.
    const named = fields === undefined ? '' : `.${fields.join('+')}`
    const more = query.knownAt === undefined ? named : `${named}.known${query.knownAt}`
    const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}.${interval ?? ''}${more}`
    const scope = `${name} ${market.conditionId} ${filters}`
    const after = cursor === undefined ? undefined : decodePosition(cursors.decode(scope, cursor))
    const place = after === undefined ? '' : `${after.timestampMs}.${after.id}`
    const key = `${name}.${historyTag}.${market.id}.${filters}.${place}.${limit}`
    const range: StatePart = { outcome, order, limit, fromMs, toMs, after }
    const stepMs = interval === undefined ? undefined : intervalMs[interval]
    return { scope, key, range, stepMs, fields }
  }

  function answer(
    { market, query, request }: SeriesCall,
    { gaps, nowMs, read }: Pick<SeriesThen, 'gaps' | 'nowMs' | 'read'>,
  ): PageAnswer {
    const { scope, key, range, stepMs, fields } = toRange(market, query)
    const { outcome, fromMs, toMs } = range
    const question = { market, gaps, outcome, fromMs, toMs, nowMs }
    const cursorOf = (place: Position | undefined): string =>
      cursors.encode(scope, encodePosition(place ?? range.after ?? startOf(range)))
    const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
    const tagAt = (version: number | string) => `${key}.${version}${isGzip ? '.gzip' : ''}`
    const tag = tagAt(market.revision)
    return {
      ...{ tag, isGzip, isClosed: market.isClosed },
      coverage: coverageText(question),
      findPage: () => pages.find(tag),
      *make() {
        const page = yield* read({ market, stepMs, range, fields })
        const { last, hasMore, resume } = page
        const end = `],"nextCursor":${hasMore ? `"${cursorOf(last)}"` : 'null'}}`
        const body = yield* toBody(page, end)
        const isUnchanged = history.findMarket(market.conditionId)?.revision === market.revision
        return {
          body,
          // What another process wrote meanwhile may be in it or not.
          tag: isUnchanged ? tag : tagAt(tagOf(body)),
          resumeCursor: cursorOf(resume ?? last),
        }
      },
    }
  }

  function* answerKnown(call: SeriesCall, knownAt: number): Steps<PageAnswer> {
    const { market, query } = call
    const then = yield* deps.openAt({
      ...{ market, knownAt, nowMs: clock() },
      needsEvents: name === 'prices' || query.interval !== undefined,
      withReceived: readWanted(query)?.includes('receivedAt') === true,
    })
    const found = answer({ ...call, market: then.market }, then)
    return { ...found, isClosed: market.isClosed, coverage: then.coverage ?? found.coverage }
  }

  return (call: SeriesCall): PageAnswer | Steps<PageAnswer> => {
    const { market, query } = call
    if (query.knownAt !== undefined) return answerKnown(call, query.knownAt)
    return answer(call, { gaps: history.gaps(market), nowMs: clock(), read: deps.read })
  }
}

const ofSteps = { time: 'only rows with `interval` have', ageMs: 'only rows with `interval` have' }

const COMMA = 0x2c

const ROWS_A_STEP = 512

type Body = { bytes: Uint8Array<ArrayBuffer>; at: number }

function* toBody(page: SeriesPage, end: string): Steps<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(ROW_BYTES_MAX * 2 + page.count * ROW_BYTES_USUAL)
  const body = { bytes, at: putText(bytes, 0, '{"data":[') }
  for (let row = 0; row < page.count; row += ROWS_A_STEP) {
    if (row > 0) yield
    putRows(body, page, row)
  }
  return body.bytes.subarray(0, putText(body.bytes, body.at, end))
}

function putRows(body: Body, { count, put }: SeriesPage, from: number): void {
  let { bytes, at } = body
  for (let row = from; row < Math.min(count, from + ROWS_A_STEP); row++) {
    if (at + ROW_BYTES_MAX * 2 > bytes.length) bytes = longer(bytes)
    if (row > 0) bytes[at++] = COMMA
    at = put(row, bytes, at)
  }
  body.bytes = bytes
  body.at = at
}

function longer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(bytes.length * 2)
  grown.set(bytes)
  return grown
}

type SeriesTexts = {
  operationId: string
  summary: string
  description: string
  list: TObject
  /** What the list is. */
  page: string
  /** What `X-Resume-Cursor` is. */
  resume: string
}

/** The route of a series; its name is its tag, and what tiers know it by. */
export function seriesRoute(
  api: Api,
  deps: SeriesDeps,
  { list, page, resume, ...texts }: SeriesTexts,
) {
  const { name, parameters, membersOf } = deps
  const answer = createSeries(deps)
  const asTable = createTable(list, membersOf)
  return new Elysia({ name, tags: [name] })
    .use(api)
    .get(
      `/v1/:coin/markets/:conditionId/${name}`,
      ({ reply, request, market, query }) =>
        reply.page(request, asTable({ request, query }, answer({ request, market, query }))),
      {
        access: name,
        market: true,
        query: tableQuery(parameters),
        isTable: true,
        isCovered: true,
        caching: 'page',
        response: { 200: list },
        answers: {
          description: page,
          bodyHeaders: { [RESUME_HEADER]: `${resume} ${resumeAfter304}` },
        },
        detail: texts,
      },
    )
}
