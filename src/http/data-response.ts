/** How data is answered: validators, caching and compression, the same on every route. */

import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { isOver, staleCoverage } from '#src/domain/coverage.ts'
import type { FindMarket } from '#src/domain/market.ts'
import { callerLevels, levelOf } from '#src/domain/selling/caller.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { encodedTag, tagOf } from '#src/domain/tag.ts'
import { after } from '#src/platform/maybe-promise.ts'
import type { Page, PageCache } from '#src/platform/page-cache.ts'
import { mediaTypes } from '#src/tables/column.ts'

import type { Bytes, DataAnswer, Notes, PageAnswer } from './answer.ts'
import { type AccessPorts, admit } from './gate.ts'
import { acceptsGzip, matchesEtag } from './negotiation.ts'
import type { HeaderTexts } from './response-text.ts'
import type { TargetCache } from './route-table.ts'
import { type Arrived, visitOf } from './visit.ts'
import type { Work } from './work.ts'

/** Closed history may be used unasked for a minute; a backfill shows after that at the latest. */
const CLOSED = 'private, max-age=60, immutable'
const OPEN = 'private, no-cache'
/** Shorter bodies do not get shorter. */
const GZIP_BYTES_MIN = 256
/** The level that costs least. */
const GZIP_LEVEL = 1
/** From here on, a millisecond, compressing takes longer than the way to another thread. */
const GZIP_ASIDE_BYTES = 262_144

/** Only with an `Origin` there are headers for pages of other origins. */
const VARY = 'Accept-Encoding, Origin'

export const COVERAGE_HEADER = 'X-Coverage'
/** `answers.resume` of a route documents it. */
export const RESUME_HEADER = 'X-Resume-Cursor'
export const NEXT_HEADER = 'X-Next-Cursor'

export const cachingHeaders = (isClosed: boolean) => ({
  'Cache-Control': isClosed ? CLOSED : OPEN,
  Vary: VARY,
})

export const cachingHeaderTexts: HeaderTexts = {
  ETag: 'Strong; changes with what it tags. Send it back as `If-None-Match` for a 304.',
  'Cache-Control':
    '`private, max-age=60, immutable` on closed history, `private, no-cache` on what may still change.',
  Vary: `\`${VARY}\`.`,
}

export const encodingTexts: HeaderTexts = {
  'Content-Encoding': '`gzip` where `Accept-Encoding` has it; else absent.',
}

/** Answers 304 if the caller has what `etag`, quotes included, names. */
export const answerUnchanged = (
  request: Request,
  etag: string,
  headers: Record<string, string>,
): Response | undefined =>
  hasTag(request, etag)
    ? new Response(null, { status: 304, headers: { ...headers, ETag: etag } })
    : undefined

const hasTag = ({ headers }: Request, etag: string) =>
  matchesEtag(headers.get('if-none-match'), etag)

/** `X-Coverage` of an answer; where it may still change, it says that the server's copy is stale. */
export function coverageNow(
  text: string | undefined,
  isClosed: boolean | undefined,
  staleSince: StaleSince,
): string | undefined {
  const sinceMs = isClosed ? undefined : staleSince('history')
  return sinceMs === undefined ? text : staleCoverage(text, sinceMs)
}

/** Answers with data whose digest is its `ETag`; `unkept` has none, such as that of a POST. */
export function answerData(
  request: Request,
  { body, mediaType, isOfPage, isClosed, ...made }: DataAnswer,
  caching: keyof typeof inits,
  staleSince: StaleSince,
): Response | Promise<Response> {
  const notes = { ...made, coverage: coverageNow(made.coverage, isClosed, staleSince) }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const isGzip =
    body.length >= GZIP_BYTES_MIN &&
    mediaType !== mediaTypes.parquet &&
    acceptsGzip(request.headers.get('accept-encoding'))
  const etag = caching === 'unkept' ? undefined : `"${encodedTag(tagOf(bytes), isGzip)}"`
  const facts: Facts = { ...notes, caching, isGzip, etag, mediaType }
  if (etag !== undefined && hasTag(request, etag))
    return respond(null, isOfPage ? { ...facts, resumeCursor: undefined } : facts)
  return after(isGzip ? compressWhere(bytes, request) : bytes, (packed) => respond(packed, facts))
}

type PagePorts = AccessPorts & {
  findMarket: FindMarket
  pages: PageCache
  work: Work
  /** Where the front door finds a target again by its URL. */
  targets: Pick<TargetCache, 'set'>
  staleSince: StaleSince
}

/** The same for what is known by a tag, so that a 304 costs nothing. */
function answerPage(
  request: Request,
  answer: PageAnswer,
  { pages, work, staleSince }: PagePorts,
): Response | Promise<Response> {
  const { tag, isGzip, isClosed, vary, findPage, join, make } = answer
  const coverage = coverageNow(answer.coverage, isClosed, staleSince)
  const isStale = coverage !== answer.coverage
  const sent = isStale ? undefined : answer.sent
  const caching = isClosed ? 'closed' : 'open'
  const etag = `"${tag}"`
  if (hasTag(request, etag)) return respond(null, { caching, isGzip, etag, coverage, vary })
  const sendPage = ({ body, tag: made, resumeCursor }: Page): Response =>
    respond(body, { caching, isGzip, etag: `"${made}"`, coverage, vary, resumeCursor })
  const found = findPage()
  if (found !== undefined) {
    if (sent?.page === found) return new Response(found.body, sent.init)
    const response = sendPage(found)
    if (sent !== undefined) answer.sent = { page: found, init: initFrom(response) }
    return response
  }
  const joining = join?.()
  if (joining !== undefined) return after(work.run(request, joining), sendPage)
  return after(work.run(request, make()), (page) =>
    after(isGzip ? compressWhere(page.body, request) : page.body, (body) =>
      sendPage(pages.put({ ...page, body })),
    ),
  )
}

export type KeptAnswers = ReturnType<typeof createKeptAnswers>

const codingOf = ({ headers }: Request) =>
  acceptsGzip(headers.get('accept-encoding')) ? 'gzip' : 'plain'

/** Whether an answer by address alone would be the wrong one: most clients send no such header. */
const choosesFormat = ({ headers }: Request): boolean => {
  const accept = headers.get('accept')
  return accept !== null && accept !== '*/*' && accept !== 'application/json'
}

/**
 * Pages that are asked for again are answered by their address, before any route is looked for: of
 * a market that is over, all of an answer follows from the address.
 */
export function createKeptAnswers(ports: PagePorts) {
  const { findMarket, pages, targets } = ports
  return {
    /**
     * Answers a request for a page that was asked for before; undefined where there is none. Throws
     * what `admit` throws.
     */
    answer({ request, target, visit }: Arrived): Response | Promise<Response> | undefined {
      if (target.answers === undefined || request.method !== 'GET') return undefined
      const known = target.answers[codingOf(request)]
      if (known === undefined || choosesFormat(request)) return undefined
      const { market, answer, admission, timedAs, isLong } = known
      visit.timedAs = timedAs
      visit.isLong = isLong
      admit(request, admission, ports)
      // A market is another object at its next revision.
      if (findMarket(market.conditionId) !== market) return undefined
      return visit.rehearsedFor === undefined
        ? answerPage(request, answer, ports)
        : new Response(null, { status: 204 })
    },

    /** Sends a page, and keeps its answer if the page itself is kept, because it was asked for again. */
    send(request: Request, answer: PageAnswer): Response | Promise<Response> {
      const { market, admission, timedAs, isLong, target } = visitOf(request)
      if (market !== undefined && admission !== undefined && target !== undefined) {
        if (isOver(market) && pages.find(answer.tag) !== undefined) {
          const again = { ...answer, sent: { page: undefined, init: {} } }
          const known = { market, answer: again, admission, timedAs, isLong }
          target.answers = { ...target.answers, [codingOf(request)]: known }
          targets.set(target.url, target, { size: 1 })
        }
      }
      return answerPage(request, answer, ports)
    },
  }
}

/** Copied into each response, because to write all of its headers takes 0.5 µs longer. */
const initsOf = (control: string) => {
  const caching = { 'Cache-Control': control, Vary: VARY }
  const plain = { ...caching, 'Content-Type': 'application/json' }
  return {
    unchanged: { status: 304, headers: new Headers(caching) },
    plain: { headers: new Headers(plain) },
    gzip: { headers: new Headers({ ...plain, 'Content-Encoding': 'gzip' }) },
  }
}
const inits = { closed: initsOf(CLOSED), open: initsOf(OPEN), unkept: initsOf('no-store') }

const initFrom = ({ headers }: Response): ResponseInit => ({ headers: new Headers(headers) })

type Facts = Notes & {
  caching: keyof typeof inits
  isGzip: boolean
  etag: string | undefined
  mediaType?: string | undefined
}

function respond(body: Bytes | Blob | null, facts: Facts): Response {
  const { caching, isGzip, etag, coverage, resumeCursor, nextCursor, vary, mediaType } = facts
  const { unchanged, plain, gzip: packed } = inits[caching]
  const whole = isGzip ? packed : plain
  const response = new Response(body, body === null ? unchanged : whole)
  const { headers } = response
  if (body !== null)
    headers.set('Content-Length', String(body instanceof Blob ? body.size : body.length))
  if (etag !== undefined) headers.set('ETag', etag)
  if (coverage !== undefined) headers.set(COVERAGE_HEADER, coverage)
  if (resumeCursor !== undefined) headers.set(RESUME_HEADER, resumeCursor)
  if (nextCursor !== undefined && body !== null) headers.set(NEXT_HEADER, nextCursor)
  if (mediaType !== undefined && body !== null) headers.set('Content-Type', mediaType)
  if (vary !== undefined) headers.set('Vary', vary)
  return response
}

const gzipAside = promisify(gzip)

/** Bodies that are compressed at a time: more would take this thread's part of its core. */
const ASIDE_MAX = Math.max(1, availableParallelism() - 1)
/** Those that wait, by level: a level is served before those of higher numbers. */
const waitingAside = callerLevels.map((): (() => void)[] => [])
let countAside = 0

/**
 * Compresses beside this thread, for a caller of a level. The bytes must stay as they are meanwhile.
 */
export async function compressAside(bytes: Uint8Array, level = 0): Promise<Bytes> {
  if (countAside < ASIDE_MAX) countAside++
  else await new Promise<void>((resolve) => void waitingAside[level]?.push(resolve))
  try {
    return await gzipAside(bytes, { level: GZIP_LEVEL })
  } finally {
    const next = waitingAside.find((waiting) => waiting.length > 0)?.shift()
    // Its place goes to the next one that waits.
    if (next === undefined) countAside--
    else next()
  }
}

function compressWhere(bytes: Bytes, request: Request): Bytes | Promise<Bytes> {
  if (bytes.length < GZIP_ASIDE_BYTES)
    return Bun.gzipSync(bytes, { level: GZIP_LEVEL, library: 'libdeflate' })
  const { caller, guest } = visitOf(request)
  return compressAside(bytes, levelOf(caller ?? guest))
}
