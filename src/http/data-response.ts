/** How data is answered: validators, caching and compression, the same on every route. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

import { matchesEtag } from './conditional.ts'
import { acceptsGzip } from './content-coding.ts'
import { commonHeaders, type OpenApiHeader, textHeader } from './openapi-operation.ts'
import type { Page, PageShelf } from './page-shelf.ts'
import type { Steps, Work } from './work.ts'

/** Closed history may be used unasked for a minute; a backfill shows after that at the latest. */
const CLOSED = 'private, max-age=60, immutable'
const OPEN = 'private, no-cache'
/** Shorter bodies do not get shorter. */
const GZIP_BYTES_MIN = 256
/** For what must be compressed at request: the level that costs least. */
const GZIP_LEVEL = 1
/** From here on compressing takes longer than the way to another thread and back. */
const GZIP_ASIDE_BYTES = 131_072
const TAG_LENGTH = 27
const HISTORY_TAG_LENGTH = 8

/** Headers of data that say how it may be kept. */
export const cachingHeaders = (isClosed: boolean): Record<string, string> => ({
  'Cache-Control': isClosed ? CLOSED : OPEN,
  Vary: 'Accept-Encoding',
})

/** The same for the documentation. */
export const cachingHeaderTexts: Record<string, OpenApiHeader> = {
  ETag: textHeader('Strong; changes with what it tags. Send it back as `If-None-Match` for a 304.'),
  'Cache-Control': textHeader(
    '`private, max-age=60, immutable` on closed history, `private, no-cache` on what may still change.',
  ),
  Vary: textHeader('`Accept-Encoding`.'),
}

/** Headers of a 200 that `answerData` makes, for the documentation. */
export const dataHeaderTexts: Record<string, OpenApiHeader> = {
  ...cachingHeaderTexts,
  'Content-Encoding': textHeader('`gzip` where `Accept-Encoding` has it; else absent.'),
}

/** The 304 of a route, for the documentation; `headers` are those beside the ones of every 304. */
export const notModified = (headers: Record<string, OpenApiHeader> = {}) => ({
  304: {
    description: 'What was asked for is still what `If-None-Match` names.',
    headers: { ...commonHeaders, ...cachingHeaderTexts, ...headers },
  },
})

/** Of `X-Resume-Cursor` where a 304 is answered before any row is read: the tag decides it as well. */
export const resumeAfter304 = 'A 304 comes without it: that of the answer which it confirms holds.'

/** Answers 304 if the caller has what `etag`, quotes included, names. */
export const answerUnchanged = (
  request: Request,
  etag: string,
  headers: Record<string, string>,
): Response | undefined =>
  matchesEtag(request.headers.get('if-none-match'), etag)
    ? new Response(null, { status: 304, headers: { ...headers, ETag: etag } })
    : undefined

export type DataAnswer = {
  /** JSON, whole. */
  body: string
  /** True when nothing but a backfill can change it. */
  isClosed: boolean
  headers?: Record<string, string>
}

/** Answers with JSON that was made for this request. Its `ETag` is its digest. */
export function answerData(request: Request, answer: DataAnswer): Response {
  const { text, isGzip, headers, unchanged } = prepare(request, answer)
  if (unchanged !== undefined) return unchanged
  return respond(isGzip ? compress(text) : text, headers)
}

/** The same for what may be megabytes: then it is compressed beside this thread. */
export async function answerLargeData(request: Request, answer: DataAnswer): Promise<Response> {
  const { text, isGzip, headers, unchanged } = prepare(request, answer)
  if (unchanged !== undefined) return unchanged
  return respond(isGzip ? await compressWhere(text) : text, headers)
}

export type TaggedAnswer = {
  /** Decides the body, before it is made; fit for an `ETag`. */
  tag: string
  isClosed: boolean
  headers: Record<string, string>
  /** Where finished pages are kept. */
  pages: PageShelf
  work: Work
  /** Makes the page, JSON in ASCII; its tag is another than expected where what it is made of has just changed. */
  make: () => Steps<Page>
}

/** The same for what is known by a tag, so that a 304 costs nothing; a promise where it takes long or is large. */
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
  const send = (page: Page): Response =>
    respond(page.body, { ...shared, ETag: `"${page.tag}"`, 'X-Resume-Cursor': page.resumeCursor })
  const kept = pages.find(nameOf(tag))
  if (kept !== undefined) return send(kept)
  const made = finishPage(work.run(request, make()), { isGzip, pages, nameOf })
  return made instanceof Promise ? made.then(send) : send(made)
}

type Finish = { isGzip: boolean; pages: PageShelf; nameOf?: (tag: string) => string }

/** Compresses a page that was made, if that is asked for, and keeps it. */
export const finishPage = (made: Page | Promise<Page>, how: Finish): Page | Promise<Page> =>
  made instanceof Promise ? made.then((page) => compressPage(page, how)) : compressPage(made, how)

function compressPage(
  page: Page,
  { isGzip, pages, nameOf = (tag) => tag }: Finish,
): Page | Promise<Page> {
  const tag = nameOf(page.tag)
  const keep = (body: Uint8Array<ArrayBuffer>): Page => pages.put({ ...page, tag, body })
  const body = isGzip ? compressWhere(page.body) : page.body
  return body instanceof Promise ? body.then(keep) : keep(body)
}

/** Names a body by what it says. */
export const digestOf = (body: string | Uint8Array): string =>
  createHash('sha256').update(body).digest('base64url').slice(0, TAG_LENGTH)

/** Tells histories apart in tags: their markets may happen to have the same ids and revisions. */
export const historyTagOf = (cursorKey: Uint8Array): string =>
  digestOf(cursorKey).slice(0, HISTORY_TAG_LENGTH)

function prepare(request: Request, { body, isClosed, headers = {} }: DataAnswer) {
  const { text, isGzip, coding } = encode(request, body)
  const etag = `"${digestOf(text)}${isGzip ? '.gzip' : ''}"`
  const shared = { ...cachingHeaders(isClosed), ...headers }
  const unchanged = answerUnchanged(request, etag, shared)
  return { text, isGzip, headers: { ...shared, ETag: etag, ...coding }, unchanged }
}

/** A body as bytes, and whether it goes out compressed. */
function encode(request: Request, body: string) {
  const isGzip =
    body.length >= GZIP_BYTES_MIN && acceptsGzip(request.headers.get('accept-encoding'))
  const coding: Record<string, string> = isGzip ? { 'Content-Encoding': 'gzip' } : {}
  return { text: new TextEncoder().encode(body), isGzip, coding }
}

const respond = (bytes: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Response =>
  new Response(bytes, {
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(bytes.length),
      ...headers,
    },
  })

const gzipAside = promisify(gzip)

/** Compresses at the level that costs least. */
export const compress = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  Bun.gzipSync(bytes, { level: GZIP_LEVEL })

/** The same beside this thread, for what took long to make already. The bytes must stay as they are meanwhile. */
export const compressAside = (bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> =>
  gzipAside(bytes, { level: GZIP_LEVEL })

/** One of the two, by what takes longer. */
export const compressWhere = (bytes: Uint8Array<ArrayBuffer>) =>
  bytes.length < GZIP_ASIDE_BYTES ? compress(bytes) : compressAside(bytes)

/** Answers with JSON that nobody may keep, such as that of a POST. */
export async function answerUnkept(
  request: Request,
  { body, headers = {} }: Pick<DataAnswer, 'body' | 'headers'>,
): Promise<Response> {
  const { text, isGzip, coding } = encode(request, body)
  return respond(isGzip ? await compressWhere(text) : text, {
    'Cache-Control': 'no-store',
    Vary: 'Accept-Encoding',
    ...headers,
    ...coding,
  })
}
