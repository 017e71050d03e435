/** The source of a sanctions list: its publisher, or a file that other programs keep up to date. */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

import type { Clock } from '#src/domain/time.ts'
import { type Fault, isFault } from '#src/platform/fault.ts'

import { listFault } from './list-format.ts'

const DOWNLOAD_MS_MAX = 5 * 60_000
const BYTES_MAX = 256 * 1024 * 1024
const REDIRECTS_MAX = 3
const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308]
/** Publishers use different types for XML, but never those of an HTML page or an archive. */
const xmlTypes = /\bxml\b|octet-stream|text\/plain/i

export type ListSourceOptions = {
  clock: Clock
  signal: AbortSignal
  /** Timeout from the request to the last byte. */
  timeoutMs?: number | undefined
  /** Uncompressed size. */
  bytesMax?: number | undefined
}

/**
 * Opens an http(s) URL or a file. `confirmedMs` is when it was known to be the published list: now,
 * or when the file was written, because the job that writes it may have died. Throws a
 * `sanctions_list` fault, as does reading the chunks.
 */
export async function openListSource(
  location: string,
  { clock, signal: stop, timeoutMs = DOWNLOAD_MS_MAX, bytesMax = BYTES_MAX }: ListSourceOptions,
): Promise<{ confirmedMs: number; chunks: AsyncIterable<Uint8Array> }> {
  const deadline = isUrl(location) ? AbortSignal.timeout(timeoutMs) : undefined
  const signal = deadline ? AbortSignal.any([stop, deadline]) : stop
  try {
    if (deadline) {
      const body = await acceptBody(await follow(location, signal))
      return { confirmedMs: clock(), chunks: translate(() => body) }
    }
    const entry = await stat(location)
    if (!entry.isFile()) throw listFault('is not a file')
    const chunks = translate(() => createReadStream(location, { signal }))
    return { confirmedMs: Math.min(Math.floor(entry.mtimeMs), clock()), chunks }
  } catch (error) {
    throw toListFault(error, deadline)
  }

  /** Yields chunks up to the size limit; errors become `sanctions_list` faults. Opens lazily. */
  async function* translate(open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    try {
      for await (const chunk of open()) {
        bytes += chunk.length
        if (bytes > bytesMax) throw listFault(`has more than ${bytesMax} bytes`)
        yield chunk
      }
      // An aborted stream may end without an error.
      signal.throwIfAborted()
    } catch (error) {
      throw toListFault(error, deadline)
    }
  }
}

/** The location in a form that is safe to show: a URL may contain a key after its origin. */
export const toPublicName = (location: string): string =>
  isUrl(location) ? (URL.parse(location)?.origin ?? 'its URL') : location

const isUrl = (location: string): boolean => /^https?:\/\//i.test(location)

async function follow(start: string, signal: AbortSignal): Promise<Response> {
  let url = new URL(start)
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const response = await fetch(url.href, { redirect: 'manual', signal })
    if (!redirectStatuses.includes(response.status)) return response
    await response.body?.cancel()
    const location = response.headers.get('location')
    const target = location === null ? null : URL.parse(location, url.href)
    if (target === null) throw listFault('is redirected without a target')
    // The list could be changed in transit.
    if (target.protocol !== 'https:' && target.protocol !== url.protocol) {
      throw listFault('is redirected away from https')
    }
    url = target
  }
  throw listFault('is redirected too many times')
}

async function acceptBody(response: Response): Promise<AsyncIterable<Uint8Array>> {
  const { status, headers, body } = response
  const type = headers.get('content-type') ?? 'text/xml'
  if (status === 200 && xmlTypes.test(type) && body !== null) return body
  await body?.cancel()
  if (status !== 200) throw listFault(`returned HTTP status ${status}`)
  throw listFault('is not served as XML')
}

/** The messages of system and network errors contain the URL; their codes do not. */
function toListFault(error: unknown, deadline: AbortSignal | undefined): Fault {
  if (isFault(error, 'sanctions_list')) return error
  if (deadline?.aborted) return listFault('did not arrive in time')
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return listFault(`cannot be read${typeof code === 'string' ? ` (${code})` : ''}`)
}
