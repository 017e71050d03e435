/**
 * `Idempotency-Key`: a request that is sent again gets the answer of the first time, as stored in
 * the transaction that did the work, so neither a lost connection nor a crash can do it twice. An
 * answer may hold a fresh API key, so it is sealed under what only its caller has. Failures are not
 * stored; sent again, they are tried again.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'

import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Clock } from '#src/domain/time.ts'
import { assert } from '#src/platform/assert.ts'

import { jsonTextResponse } from './json.ts'
import { targetOf } from './target.ts'

export const REPLAYED_HEADER = 'Idempotent-Replayed'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const keyPattern = /^[!-~]{1,255}$/

export type Answer = { status: number; headers: Record<string, string>; body: string }

/** Port: the store. Answers are kept for a day. */
type AnswerStore = {
  findAnswer(id: string, nowMs: number): StoredAnswer | undefined
  /** Returns what is kept under the id: the answer, or the one before it. */
  putAnswer(answer: StoredAnswer, nowMs: number): Promise<StoredAnswer>
}
export type StoredAnswer = { id: string; fingerprint: string; sealed: Uint8Array }

/**
 * `scope` is whose keys these are, because two callers may choose the same; `secret` what only the
 * caller has; `body` as it was read.
 */
export type IdempotentCall = { scope: string; secret: string; body: string }

/** Keeps the response in the transaction that does the work; undefined if it is kept later. */
export type Keep = { id: string; seal(answer: Answer): StoredAnswer } | undefined

/** The response to this request, or to the one that did the work before. */
export type Outcome = { answer: Answer } | { replayed: StoredAnswer }

/** Does what changes nothing; what it returns does the rest, in one transaction with `keep`. */
export type Work = () => Promise<(keep: Keep) => Promise<Outcome>>

export type Idempotency = {
  /** Answers once a key. Throws `idempotency_mismatch` and `invalid_parameter`. */
  answer(request: Request, call: IdempotentCall, work: Work): Promise<Response>
  /** As above for work that may be done again: its response is kept once it is made. */
  remember(request: Request, call: IdempotentCall, work: () => Promise<Answer>): Promise<Response>
}

export const idempotencyParameter = {
  name: 'Idempotency-Key',
  in: 'header' as const,
  required: false,
  description:
    'Your own name for this request, 1 to 255 visible ASCII characters. Sent again within a day with the same body, it gets the same answer, marked `Idempotent-Replayed: true`, and nothing is done twice.',
  schema: { type: 'string' as const, minLength: 1, maxLength: 255 },
  example: '0f6f2c1e-7a53-4f0e-9a55-2d3b0a5f7c11',
}

type Deps = { store: AnswerStore; clock: Clock; randomBytes: (length: number) => Uint8Array }
/** A call under its key: where its answer is, what it must match, what opens it. */
type Ticket = { id: string; fingerprint: string; sealKey: Uint8Array }

/** Creates what all routes of a process share: it knows which requests are under way. */
export function createIdempotency({ store, clock, randomBytes }: Deps): Idempotency {
  const underWay = new Map<string, Promise<Response>>()

  const replay = (ticket: Ticket, stored: StoredAnswer): Response => {
    if (stored.fingerprint !== ticket.fingerprint) throw otherRequestError()
    const { body, status, headers } = unseal(ticket, stored.sealed)
    return jsonTextResponse(body, { status, headers: { ...headers, [REPLAYED_HEADER]: 'true' } })
  }

  const run = async (work: Work, ticket?: Ticket): Promise<Response> => {
    const commit = await work()
    const outcome = await commit(
      ticket && { id: ticket.id, seal: (answer) => keep(ticket, answer) },
    )
    if ('answer' in outcome) return jsonTextResponse(outcome.answer.body, outcome.answer)
    assert(ticket !== undefined, 'nothing is replayed without a key')
    // Another process was quicker.
    return replay(ticket, outcome.replayed)
  }

  const keep = (ticket: Ticket, answer: Answer): StoredAnswer => ({
    id: ticket.id,
    fingerprint: ticket.fingerprint,
    sealed: seal(ticket, answer, randomBytes(NONCE_BYTES)),
  })

  async function answer(request: Request, call: IdempotentCall, work: Work): Promise<Response> {
    const key = readKey(request)
    if (key === undefined) return run(work)
    const ticket = toTicket(request, call, key)
    // One at a time: a request that waits replays the one before it, or tries after it failed.
    for (let other = underWay.get(ticket.id); other; other = underWay.get(ticket.id)) {
      await other.catch(() => undefined)
    }
    const stored = store.findAnswer(ticket.id, clock())
    if (stored !== undefined) return replay(ticket, stored)
    const turn = run(work, ticket).finally(() => underWay.delete(ticket.id))
    underWay.set(ticket.id, turn)
    return turn
  }

  return {
    answer,
    remember: (request, call, work) =>
      answer(request, call, async () => {
        const made = await work()
        return async (ticket) => {
          if (ticket === undefined) return { answer: made }
          const mine = ticket.seal(made)
          const kept = await store.putAnswer(mine, clock())
          return kept === mine ? { answer: made } : { replayed: kept }
        }
      }),
  }
}

export const jsonAnswer = (
  status: number,
  value: unknown,
  headers: Record<string, string>,
): Answer => ({ status, headers, body: JSON.stringify(value) })

function readKey(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key')
  if (key === null) return undefined
  if (keyPattern.test(key)) return key
  throw parameterError(
    'Idempotency-Key',
    'The header `Idempotency-Key` must be 1 to 255 visible ASCII characters, without spaces, sent once.',
  )
}

const otherRequestError = (cause?: unknown) =>
  new AppError(
    'idempotency_mismatch',
    'This `Idempotency-Key` was used for another request. Choose a new one, or repeat that request as it was.',
    { param: 'Idempotency-Key', cause },
  )

/** As JSON, because no two lists of texts print alike. */
const join = (...parts: string[]): string => JSON.stringify(parts)
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

function toTicket(
  { method, url }: Request,
  { scope, secret, body }: IdempotentCall,
  key: string,
): Ticket {
  const id = hashOf(join(scope, key))
  const fingerprint = hashOf(join(method, targetOf(url), body))
  const sealKey = hkdfSync('sha256', join(secret, body), id, 'bookfeed answer', KEY_BYTES)
  return { id, fingerprint, sealKey: new Uint8Array(sealKey) }
}

/** Nonce, tag, ciphertext; bound to the place where it is stored. */
function seal(ticket: Ticket, answer: Answer, nonce: Uint8Array): Uint8Array {
  const cipher = createCipheriv(CIPHER, ticket.sealKey, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(join(ticket.id, ticket.fingerprint)))
  const text = Buffer.concat([cipher.update(JSON.stringify(answer)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

function unseal(ticket: Ticket, sealed: Uint8Array): Answer {
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const cipher = createDecipheriv(CIPHER, ticket.sealKey, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(join(ticket.id, ticket.fingerprint)))
  cipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    const text = Buffer.concat([
      cipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)),
      cipher.final(),
    ])
    // The tag proves that it is what `seal` printed.
    return JSON.parse(text.toString()) as Answer
  } catch (cause) {
    // The same request, by someone with another secret.
    throw otherRequestError(cause)
  }
}
