/** Where a sanctions list comes from: its publisher, or a file that others keep up to date. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

import type { Clock } from '#src/core/time.ts'

import { ListFault } from './list-format.ts'

const DOWNLOAD_MS_MAX = 5 * 60_000
const BYTES_MAX = 256 * 1024 * 1024
const REDIRECTS_MAX = 3
const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308]
/** Publishers do not agree on the type of XML; an HTML page or an archive it is not. */
const xmlTypes = /\bxml\b|octet-stream|text\/plain/i

export type ListSource = {
  /** When it was the published list: now, or when the file was written, whose job may have died. */
  confirmedMs: number
  chunks: AsyncIterable<Uint8Array>
}

export type ListSourceOptions = {
  clock: Clock
  signal: AbortSignal
  /** For everything from the request to the last byte. */
  timeoutMs?: number | undefined
  /** Unpacked. */
  bytesMax?: number | undefined
}

export function openListSource(location: string, options: ListSourceOptions): Promise<ListSource> {
  return isUrl(location) ? openUrl(location, options) : openFile(location, options)
}

/** The location as it may be shown: a URL may hold a key anywhere after its origin. */
export const toPublicName = (location: string): string =>
  isUrl(location) ? (URL.parse(location)?.origin ?? 'its URL') : location

const isUrl = (location: string): boolean => /^https?:\/\//i.test(location)

async function openFile(path: string, options: ListSourceOptions): Promise<ListSource> {
  const { clock, signal, bytesMax = BYTES_MAX } = options
  try {
    const entry = await stat(path)
    if (!entry.isFile()) throw new ListFault('is not a file')
    const chunks = translate(() => createReadStream(path, { signal }), { signal, bytesMax })
    return { confirmedMs: Math.min(Math.floor(entry.mtimeMs), clock()), chunks }
  } catch (error) {
    throw toListFault(error)
  }
}

async function openUrl(location: string, options: ListSourceOptions): Promise<ListSource> {
  const { clock, timeoutMs = DOWNLOAD_MS_MAX, bytesMax = BYTES_MAX } = options
  const deadline = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([options.signal, deadline])
  try {
    const response = await follow(new URL(location), signal)
    const body = await acceptBody(response)
    return { confirmedMs: clock(), chunks: translate(() => body, { signal, bytesMax, deadline }) }
  } catch (error) {
    throw toListFault(error, deadline)
  }
}

async function follow(start: URL, signal: AbortSignal): Promise<Response> {
  let url = start
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const response = await fetch(url.href, { redirect: 'manual', signal })
    if (!redirectStatuses.includes(response.status)) return response
    await response.body?.cancel()
    url = toTarget(url, response.headers.get('location'))
  }
  throw new ListFault('is redirected too often')
}

/** A redirect may not lead to where the list could be changed on the way. */
function toTarget(from: URL, location: string | null): URL {
  const to = location === null ? null : URL.parse(location, from.href)
  if (to === null) throw new ListFault('is redirected to nowhere')
  if (to.protocol !== 'https:' && to.protocol !== from.protocol) {
    throw new ListFault('is redirected away from https')
  }
  return to
}

async function acceptBody(response: Response): Promise<AsyncIterable<Uint8Array>> {
  const { status, headers, body } = response
  const type = headers.get('content-type') ?? 'text/xml'
  if (status === 200 && xmlTypes.test(type) && body !== null) return body
  await body?.cancel()
  if (status !== 200) throw new ListFault(`is answered with HTTP status ${status}`)
  throw new ListFault('is not served as XML')
}

type Limits = { signal: AbortSignal; bytesMax: number; deadline?: AbortSignal }

/** Yields chunks up to a limit; errors become `ListFault`. Opens at the first read. */
async function* translate(
  open: () => AsyncIterable<Uint8Array>,
  { signal, bytesMax, deadline }: Limits,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of open()) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new ListFault(`has more than ${bytesMax} bytes`)
      yield chunk
    }
    // A stream that was aborted may also just end.
    signal.throwIfAborted()
  } catch (error) {
    throw toListFault(error, deadline)
  }
}

/** The texts of system and network errors hold the URL; their codes do not. */
function toListFault(error: unknown, deadline?: AbortSignal): ListFault {
  if (error instanceof ListFault) return error
  if (deadline?.aborted) return new ListFault('did not arrive in time')
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return new ListFault(`cannot be read${typeof code === 'string' ? ` (${code})` : ''}`)
}
