/** What `bookfeed pay` asks of a server, and how it reads the answers: like those of a stranger. */
import { isRecord } from '#src/lib/record.ts'
import type { PaymentRequirements } from '#src/selling/payment.ts'

import { CliError } from './context.ts'

const TIMEOUT_MS = 60_000
const ANSWER_BYTES_MAX = 256 * 1024
const SHOWN_MAX = 500
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** `status` 0: no answer, and nobody knows whether the request arrived. */
export type Answer = {
  status: number
  body: Record<string, unknown>
  retryAfterSeconds: number | undefined
}

export type PayServer = {
  url: URL
  ask(
    path: string,
    request?: { key?: string | undefined; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>
}

export type Quote = { quoteId: string; expiresAt: string; requirements: PaymentRequirements }

export function createPayServer(url: URL, fetch: Fetch): PayServer {
  return {
    url,
    async ask(path, { key, body, headers: more } = {}) {
      const headers: Record<string, string> = { accept: 'application/json', ...more }
      if (key !== undefined) headers.authorization = `Bearer ${key}`
      if (body !== undefined) headers['content-type'] = 'application/json'
      try {
        const response = await fetch(new URL(path, url).href, {
          method: body === undefined ? 'GET' : 'POST',
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          // A redirect could carry the key, and the payment, elsewhere.
          redirect: 'error',
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        return await readAnswer(response)
      } catch {
        return { status: 0, body: {}, retryAfterSeconds: undefined }
      }
    },
  }
}

async function readAnswer(response: Response): Promise<Answer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > ANSWER_BYTES_MAX) throw new Error('The answer is too long.')
    chunks.push(chunk)
  }
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return {
    status: response.status,
    body: toRecord(parseJson(Buffer.concat(chunks).toString('utf8'))),
    retryAfterSeconds: Number.isFinite(seconds) ? Math.max(1, Math.min(seconds, 60)) : undefined,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object, or an empty one in place of whatever else came. */
export const toRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})

/** A text fit for a terminal; empty for what is none. */
export const toText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, SHOWN_MAX).replace(unprintable, '\ufffd') : ''

/** What a server says went wrong. */
export function describeFault({ status, body }: Answer): string {
  if (status === 0) return 'The server gave no answer.'
  const code = toText(body.code)
  const detail = toText(body.detail) || toText(body.title) || 'no reason given'
  const action = toText(body.retryAction)
  return `The server says ${status}${code && ` ${code}`}: ${detail}${action && ` (next: ${action})`}`
}

/** Reads the answer to a request for a quote. Throws `CliError` for what nobody should sign. */
export function readQuote({ body }: Answer): Quote {
  const accepted = toRecord(body.paymentRequirements)
  const extra = toRecord(accepted.extra)
  const isSound =
    accepted.scheme === 'exact' &&
    isMatch(accepted.network, /^eip155:[1-9]\d{0,9}$/) &&
    isMatch(accepted.asset, /^0x[0-9a-fA-F]{40}$/) &&
    isMatch(accepted.payTo, /^0x[0-9a-fA-F]{40}$/) &&
    isMatch(accepted.amount, /^[1-9]\d{0,20}$/) &&
    Number.isInteger(accepted.maxTimeoutSeconds) &&
    Number(accepted.maxTimeoutSeconds) > 0 &&
    Object.values(extra).every((value) => typeof value === 'string') &&
    isMatch(body.quoteId, /^[A-Za-z0-9_-]{1,100}$/)
  if (!isSound) throw new CliError('The server answered with a quote that cannot be read.')
  return {
    quoteId: toText(body.quoteId),
    expiresAt: toText(body.expiresAt),
    // Each member was checked above, but for those that nobody reads.
    requirements: accepted as PaymentRequirements,
  }
}

const isMatch = (value: unknown, pattern: RegExp): boolean =>
  typeof value === 'string' && pattern.test(value)
