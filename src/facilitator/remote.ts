/**
 * An x402 v2 facilitator over HTTP. The SDK's client follows redirects, retries, and reads without
 * limit. Responses are treated as hostile: their messages may contain URLs with keys.
 */

import type { Facilitator, SettleResult, SupportedKind } from '#src/domain/selling/facilitator.ts'
import { isRecord } from '#src/platform/record.ts'

const SETTLE_MS = 60_000
const SUPPORTED_MS = 10_000
const KINDS_MAX = 1000
const ANSWER_BYTES_MAX = 64 * 1024
const NAME_LENGTH_MAX = 64
/** Not authorized, or too many requests: the facilitator did not accept the request. */
const refusals: readonly number[] = [401, 403, 429]

export type MakeToken = (request: { method: 'GET' | 'POST'; url: URL }) => Promise<string>

export type RemoteOptions = {
  /** Timeout of a settlement, from connecting to the last byte of the response. */
  timeoutMs?: number | undefined
  token?: MakeToken | undefined
}

/** Connects with the first request. `url` must be parsable by `URL`. */
export function createRemoteFacilitator(url: string, options: RemoteOptions = {}): Facilitator {
  const { timeoutMs = SETTLE_MS, token } = options
  const ask = createAsk(new URL(url), token)

  return {
    name: new URL(url).host,

    async settle(payload, requirements, trace) {
      const question = JSON.stringify(requirements)
      // The payload is already JSON, and is sent as the stored bytes.
      const body = `{"x402Version":2,"paymentPayload":${payload},"paymentRequirements":${question}}`
      const reply = await ask({ method: 'POST', path: 'settle', body, timeoutMs, trace })
      if (reply === undefined) return { kind: 'refused', reason: 'facilitator_token_failed' }
      const payer = findPayer(parse(payload))
      return readSettlement(reply, { network: requirements.network, payer })
    },

    async supported() {
      const timeout = Math.min(timeoutMs, SUPPORTED_MS)
      const reply = await ask({ method: 'GET', path: 'supported', timeoutMs: timeout })
      return readSupported(reply ?? { fault: 'facilitator_token_failed' })
    },
  }
}

/** `status` is set if there was a response. The body is JSON, or `fault` is a code of ours. */
type Reply = { status?: number; body?: unknown; fault?: string }

/** The reply is undefined if no token could be created. Never rejects. */
function createAsk(base: URL, token: MakeToken | undefined) {
  return async ({
    method,
    path,
    body,
    timeoutMs,
    trace,
  }: {
    method: 'GET' | 'POST'
    path: string
    body?: string
    timeoutMs: number
    trace?: string | undefined
  }): Promise<Reply | undefined> => {
    const url = new URL(base)
    url.pathname = `${base.pathname.replace(/\/+$/, '')}/${path}`
    const headers: Record<string, string> = { accept: 'application/json' }
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (trace !== undefined) headers.traceparent = trace
    try {
      if (token) headers.authorization = `Bearer ${await token({ method, url })}`
    } catch {
      // The error may quote the key.
      return undefined
    }
    // Covers everything from connecting to the last byte.
    const signal = AbortSignal.timeout(timeoutMs)
    const reply: Reply = {}
    try {
      await exchange(url, { method, headers, body, signal, redirect: 'manual' }, reply)
    } catch {
      // The runtime's error contains the URL, and possibly a key in it.
      reply.fault ??= signal.aborted ? 'facilitator_timeout' : 'facilitator_unreachable'
    }
    return reply
  }
}

/** Writes results into `reply` as they arrive, so that a status is not lost with its body. */
async function exchange(url: URL, init: RequestInit, reply: Reply): Promise<void> {
  const response = await fetch(url, init)
  reply.status = response.status
  if (response.status >= 300 && response.status < 400) {
    reply.fault = 'facilitator_redirect'
    await response.body?.cancel()
    return
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) {
      reply.fault = 'facilitator_answer_too_large'
      return
    }
    chunks.push(chunk)
  }
  reply.body = parse(new TextDecoder().decode(Buffer.concat(chunks)))
  if (reply.body === undefined) reply.fault = 'facilitator_answer_invalid'
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function readSettlement(
  reply: Reply,
  expected: Parameters<typeof toSettleResult>[1],
): SettleResult {
  const { status = 0 } = reply
  const answer = readSettleAnswer(reply.body)
  const isTaken = answer !== undefined && (answer.success || answer.txHash !== undefined)
  if (refusals.includes(status) && !isTaken) {
    return { kind: 'refused', reason: `facilitator_http_${status}` }
  }
  if (answer === undefined) return { kind: 'unknown', reason: toReason(reply) }
  return status >= 200 && status < 300
    ? toSettleResult(answer, expected)
    : readFailedSettlement(answer, status)
}

/** The result of a response with an error status: a success in it would contradict itself. */
function readFailedSettlement(answer: SettleAnswer, status: number): SettleResult {
  const { txHash, reason = `facilitator_http_${status}` } = answer
  const isSure = status >= 400 && status < 500 && !answer.success
  if (isSure || (reason === SETTLEMENT_PENDING && !answer.success)) return toFailure(answer)
  return { kind: 'unknown', reason, txHash }
}

function toReason({ status, fault = 'facilitator_answer_invalid' }: Reply): string {
  return status !== undefined && status >= 400 ? `facilitator_http_${status}` : fault
}

function readSupported(reply: Reply): Awaited<ReturnType<Facilitator['supported']>> {
  const kinds = isRecord(reply.body) ? reply.body.kinds : undefined
  const isAnswer = reply.status === 200 && Array.isArray(kinds) && kinds.length <= KINDS_MAX
  return isAnswer
    ? { kinds: kinds.flatMap(readKind) }
    : { kinds: undefined, reason: toReason(reply) }
}

function readKind(kind: unknown): SupportedKind[] {
  if (!isRecord(kind)) return []
  const { x402Version, scheme, network } = kind
  return typeof x402Version === 'number' && isName(scheme) && isName(network)
    ? [{ x402Version, scheme, network }]
    : []
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= NAME_LENGTH_MAX

type SettleAnswer = {
  success: boolean
  txHash: string | undefined
  network: string | undefined
  /** In lower case; undefined if absent: it is optional. */
  payer: string | undefined
  reason: string | undefined
}

/** The SDK's reason for a transaction that it has sent and not yet seen. */
const SETTLEMENT_PENDING = 'settlement_pending'

const hashFormat = /^0x[0-9a-fA-F]{64}$/
/** Some facilitators append a message to the code. */
const reasonFormat = /^([A-Za-z0-9_.-]{1,80})(?::|$)/

function readSettleAnswer(value: unknown): SettleAnswer | undefined {
  if (!isRecord(value) || typeof value.success !== 'boolean') return undefined
  const { success, transaction, network, payer, errorReason } = value
  // Optional members may be absent or null; `transaction` is '' if nothing was sent.
  const texts = [transaction, network, payer, errorReason].map((text) => text ?? '')
  if (!texts.every((text) => typeof text === 'string')) return undefined
  const [hash = '', place = '', from = '', reason = ''] = texts
  return {
    success,
    txHash: hashFormat.test(hash) ? hash.toLowerCase() : undefined,
    network: place || undefined,
    payer: from.toLowerCase() || undefined,
    reason: reasonFormat.exec(reason)?.[1],
  }
}

function toSettleResult(
  answer: SettleAnswer,
  expected: { network: string; payer: string | undefined },
): SettleResult {
  const { success, txHash, network, payer } = answer
  if (!success) return toFailure(answer)
  if (txHash === undefined) return { kind: 'unknown', reason: 'facilitator_hash_invalid' }
  if (network !== expected.network) {
    return { kind: 'unknown', reason: 'facilitator_network_mismatch', txHash }
  }
  if (payer !== undefined && payer !== expected.payer) {
    return { kind: 'unknown', reason: 'facilitator_payer_mismatch', txHash }
  }
  return { kind: 'success', txHash }
}

function toFailure({ txHash, reason = 'no_reason_given' }: SettleAnswer): SettleResult {
  if (reason !== SETTLEMENT_PENDING) return { kind: 'failed', reason, txHash }
  return txHash === undefined ? { kind: 'unknown', reason } : { kind: 'pending', txHash }
}

/** The payer of a payload of either transfer method, in lower case. */
function findPayer(payload: unknown): string | undefined {
  const signed = isRecord(payload) ? payload.payload : undefined
  if (!isRecord(signed)) return undefined
  const authorization = signed.permit2Authorization ?? signed.authorization
  const from = isRecord(authorization) ? authorization.from : undefined
  return typeof from === 'string' ? from.toLowerCase() : undefined
}
