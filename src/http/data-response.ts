/** Responses with data: validators, caching and compression, the same on every route. */

import { REPLICA_BEHIND } from '#src/domain/coverage.ts'
import { isBehind, type Silences } from '#src/history/reads/with-downtime.ts'

import { type Bytes, type DataAnswer, type Notes, pack, type PackedAnswer } from './answer.ts'
import { entryOf } from './call.ts'
import { acceptsGzip, matchesEtag } from './negotiation.ts'
import type { HeaderTexts } from './response-text.ts'

/** Closed history may be used unasked for a minute; a backfill shows after that at the latest. */
const CLOSED = 'private, max-age=60, immutable'
const OPEN = 'private, no-cache'

/** `Origin`, because only requests with one get headers for pages of other origins. */
const VARY = 'Accept-Encoding, Origin'

export const COVERAGE_HEADER = 'X-Coverage'
/** `answers.resume` of a route documents it. */
export const RESUME_HEADER = 'X-Resume-Cursor'
export const NEXT_HEADER = 'X-Next-Cursor'

/** Caching of an answer that may not be kept: a gap in it is not stored, and may close any moment. */
const UNKEPT = 'no-store'
/** Coverage of an answer about more than one market whose rows may not be in the copy yet. */
const UNKNOWN = `unknown;gaps=1;reasons="${REPLICA_BEHIND}"`

/** True if a response with a coverage may be kept, and so has a tag. */
export const mayBeKept = (coverage: string | undefined): boolean =>
  coverage?.includes(REPLICA_BEHIND) !== true

/** Caching of a response with a coverage. */
export const cachingHeaders = (isClosed: boolean, coverage: string) => {
  const lasting = isClosed ? CLOSED : OPEN
  return { 'Cache-Control': mayBeKept(coverage) ? lasting : UNKEPT, Vary: VARY }
}

export const cachingHeaderTexts: HeaderTexts = {
  ETag: 'Strong; changes with what it tags. Send it back as `If-None-Match` for a 304.',
  'Cache-Control':
    '`private, max-age=60, immutable` on closed history, `private, no-cache` on what may still change, `no-store` without `ETag` on what has a gap for `replica_behind`.',
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

export const hasTag = ({ headers }: Request, etag: string) =>
  matchesEtag(headers.get('if-none-match'), etag)

/**
 * `X-Coverage` of an answer. The gaps of a market say that the copy is behind; an answer about
 * others, which may lack whole markets, says it here.
 */
export function coverageFor(
  request: Request,
  { coverage, isClosed }: Pick<DataAnswer, 'coverage' | 'isClosed'>,
  silences: Silences,
): string | undefined {
  if (isClosed || !mayBeKept(coverage) || !isBehind(silences())) return coverage
  return coverage !== undefined && entryOf(request)?.market !== undefined ? coverage : UNKNOWN
}

/** Answers with data whose digest is its `ETag`; `unkept` has none, such as that of a POST. */
export function answerData(
  request: Request,
  answer: DataAnswer | PackedAnswer,
  lasting: keyof typeof inits,
  silences: Silences,
): Response {
  const packed =
    'tag' in answer ? answer : pack(answer, acceptsGzip(request.headers.get('accept-encoding')))
  const { body, isGzip, tag, mediaType, isOfPage, isClosed, ...made } = packed
  const coverage = coverageFor(request, { ...made, isClosed }, silences)
  const notes = { ...made, coverage }
  const caching = mayBeKept(coverage) ? lasting : 'unkept'
  const etag = caching === 'unkept' ? undefined : `"${tag}"`
  const facts: Facts = { ...notes, caching, isGzip, etag, mediaType }
  if (etag !== undefined && hasTag(request, etag))
    return respond(null, isOfPage ? { ...facts, resumeCursor: undefined } : facts)
  return respond(body, facts)
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
const inits = { closed: initsOf(CLOSED), open: initsOf(OPEN), unkept: initsOf(UNKEPT) }

export const initFrom = ({ headers }: Response): ResponseInit => ({ headers: new Headers(headers) })

type Facts = Notes & {
  caching: keyof typeof inits
  isGzip: boolean
  etag: string | undefined
  mediaType?: string | undefined
}

export function respond(body: Bytes | Blob | null, facts: Facts): Response {
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
