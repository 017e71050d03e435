/** How data is answered: validators, caching and compression, the same on every route. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { tagOf } from '#src/core/tag.ts'
import type { Page, PageCache } from '#src/lib/page-cache.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { matchesEtag } from './conditional.ts'
import { acceptsGzip } from './content-coding.ts'
import type { HeaderTexts } from './openapi-operation.ts'
import type { Work } from './work.ts'

/** Closed history may be used unasked for a minute; a backfill shows after that at the latest. */
const CLOSED = 'private, max-age=60, immutable'
const OPEN = 'private, no-cache'
/** Shorter bodies do not get shorter. */
const GZIP_BYTES_MIN = 256
/** For what must be compressed at request: the level that costs least. */
const GZIP_LEVEL = 1
/** From here on compressing takes longer than the way to another thread and back. */
const GZIP_ASIDE_BYTES = 131_072

type Bytes = Uint8Array<ArrayBuffer>

/** Only with an `Origin` there are headers for pages of other origins. */
const VARY = 'Accept-Encoding, Origin'

export const COVERAGE_HEADER = 'X-Coverage'
export const RESUME_HEADER = 'X-Resume-Cursor'
/** Where a 304 is answered before any row is read: the tag decides the cursor as well. */
export const resumeAfter304 = 'A 304 comes without it: that of the answer which it confirms holds.'

/** Headers of data that say how it may be kept. */
export const cachingHeaders = (isClosed: boolean): Record<string, string> => ({
  'Cache-Control': isClosed ? CLOSED : OPEN,
  Vary: VARY,
})

/** The same for the documentation, of a 304 too. */
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
  matchesEtag(request.headers.get('if-none-match'), etag)
    ? new Response(null, { status: 304, headers: { ...headers, ETag: etag } })
    : undefined

/** JSON that was made for a request. */
export type DataAnswer = {
  /** JSON, whole. */
  body: string
  /**
   * True when nothing but a backfill can change it; by default what is so of
   * the market that was asked for.
   */
  isClosed?: boolean
  /** `X-Coverage`. */
  coverage?: string
  /** `X-Resume-Cursor`. */
  resumeCursor?: string | undefined
}

const headersOf = ({ coverage, resumeCursor }: DataAnswer): Record<string, string> => {
  const headers: Record<string, string> = {}
  if (coverage !== undefined) headers[COVERAGE_HEADER] = coverage
  if (resumeCursor !== undefined) headers[RESUME_HEADER] = resumeCursor
  return headers
}

/**
 * Answers with data, whose digest is its `ETag`; a promise where it is large, and
 * compressed beside this thread.
 */
export function answerData(request: Request, answer: DataAnswer): Response | Promise<Response> {
  const { text, isGzip, coding } = encode(request, answer.body)
  const etag = `"${tagOf(text)}${isGzip ? '.gzip' : ''}"`
  const shared = { ...cachingHeaders(answer.isClosed === true), ...headersOf(answer) }
  const unchanged = answerUnchanged(request, etag, shared)
  if (unchanged !== undefined) return unchanged
  return send(text, isGzip, { ...shared, ETag: etag, ...coding })
}

/** Answers with data that nobody may keep, such as that of a POST. */
export function answerUnkept(request: Request, answer: DataAnswer): Response | Promise<Response> {
  const { text, isGzip, coding } = encode(request, answer.body)
  const headers = { 'Cache-Control': 'no-store', Vary: VARY, ...headersOf(answer) }
  return send(text, isGzip, { ...headers, ...coding })
}

function send(text: Bytes, isGzip: boolean, headers: Record<string, string>) {
  const body = isGzip ? compressWhere(text) : text
  return body instanceof Promise
    ? body.then((bytes) => respond(bytes, headers))
    : respond(body, headers)
}

export type TaggedAnswer = {
  /** Decides the body, before it is made; fit for an `ETag`. */
  tag: string
  isClosed: boolean
  headers: Record<string, string>
  /** Where finished pages are kept. */
  pages: PageCache
  work: Work
  /**
   * Makes the page, JSON in ASCII; its tag is another than expected where what
   * it is made of has just changed.
   */
  make: () => Steps<Page>
}

/**
 * The same for what is known by a tag, so that a 304 costs nothing; a promise
 * where it takes long or is large.
 */
export function answerTagged(
  request: Request,
  { tag, isClosed, headers, pages, work, make }: TaggedAnswer,
): Response | Promise<Response> {
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const nameOf = (plain: string): string => (isGzip ? `${plain}.gzip` : plain)
  const shared = { ...cachingHeaders(isClosed), ...headers }
  const unchanged = answerUnchanged(request, `"${nameOf(tag)}"`, shared)
  if (unchanged !== undefined) return unchanged
  if (isGzip) shared['Content-Encoding'] = 'gzip'
  const send = (page: Page): Response => respondPage(page, shared)
  const kept = pages.find(nameOf(tag))
  if (kept !== undefined) return send(kept)
  const made = finishPage(work.run(request, make()), { isGzip, pages, nameOf })
  return made instanceof Promise ? made.then(send) : send(made)
}

type Finish = { isGzip: boolean; pages: PageCache; nameOf?: (tag: string) => string }

/** Compresses a page that was made, if that is asked for, and keeps it. */
export const finishPage = (made: Page | Promise<Page>, how: Finish): Page | Promise<Page> =>
  made instanceof Promise ? made.then((page) => compressPage(page, how)) : compressPage(made, how)

function compressPage(
  page: Page,
  { isGzip, pages, nameOf = (tag) => tag }: Finish,
): Page | Promise<Page> {
  const tag = nameOf(page.tag)
  const keep = (body: Bytes): Page => pages.put({ ...page, tag, body })
  const body = isGzip ? compressWhere(page.body) : page.body
  return body instanceof Promise ? body.then(keep) : keep(body)
}

/** Answers with a page. */
export const respondPage = (
  { body, tag, resumeCursor }: Page,
  headers: Record<string, string>,
): Response => respond(body, { ...headers, ETag: `"${tag}"`, [RESUME_HEADER]: resumeCursor })

/** A body as bytes, and whether it goes out compressed. */
function encode(request: Request, body: string) {
  const isGzip =
    body.length >= GZIP_BYTES_MIN && acceptsGzip(request.headers.get('accept-encoding'))
  const coding: Record<string, string> = isGzip ? { 'Content-Encoding': 'gzip' } : {}
  return { text: new TextEncoder().encode(body), isGzip, coding }
}

const respond = (bytes: Bytes, headers: Record<string, string>): Response =>
  new Response(bytes, {
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(bytes.length),
      ...headers,
    },
  })

const gzipAside = promisify(gzip)

/** Compresses at the level that costs least. */
export const compress = (bytes: Bytes): Bytes => Bun.gzipSync(bytes, { level: GZIP_LEVEL })

/**
 * The same beside this thread, for what took long to make already. The bytes
 * must stay as they are meanwhile.
 */
export const compressAside = (bytes: Uint8Array): Promise<Bytes> =>
  gzipAside(bytes, { level: GZIP_LEVEL })

/** One of the two, by what takes longer. */
export const compressWhere = (bytes: Bytes) =>
  bytes.length < GZIP_ASIDE_BYTES ? compress(bytes) : compressAside(bytes)
