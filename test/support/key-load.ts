/** Clients that sign up, rotate and revoke, with the acknowledgements that they received. */

import { digestOf } from '#src/domain/selling/api-key.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Random } from '#src/platform/random.ts'

import { asJson, createSigner } from './signup-client.ts'
import { systemClock } from './venue/venue.ts'

/**
 * `revoking` was sent after its time and may have happened; the others were acknowledged before
 * theirs, by either of two clocks.
 */
type KeyEvent = { atMs: number; key: string; state: 'made' | 'revoking' | 'revoked' }

/** The largest difference between the clock of a trace and ours, which has whole milliseconds. */
const CLOCKS_MS = 2

type Made = { key: string; id: string }
type SendAs = (path: string, init?: RequestInit, token?: string) => Promise<Response>

export type KeyLoad = ReturnType<typeof createKeyLoad>

export function createKeyLoad(random: Random) {
  const events: KeyEvent[] = []
  /**
   * Responses that no client should receive, stored here because they would be lost with their
   * client.
   */
  const faults: string[] = []
  const note = (key: string, state: KeyEvent['state']): void =>
    void events.push({
      atMs: systemClock() + (state === 'revoking' ? -CLOCKS_MS : CLOCKS_MS),
      key,
      state,
    })

  const anyAddress = (): string => `198.51.${random.integer(256)}.${random.integer(256)}`

  /** An acknowledged key; on a loaded machine a request may be refused (503). */
  async function readNewKey(response: Response): Promise<Made | undefined> {
    const body = await response.text()
    if (response.status === 201) return JSON.parse(body) as Made
    if (response.status !== 503) faults.push(`${response.status} ${body}`)
    return undefined
  }

  async function signUp(send: SendAs): Promise<Made | undefined> {
    const signer = createSigner(send)
    const challenge = await send('/v1/keys/challenge', asJson({ address: signer.address }))
    // Signups are refused until the sanctions list is read.
    if (challenge.status === 503) {
      await Bun.sleep(20)
      return undefined
    }
    const { message } = (await challenge.json()) as { message: string }
    const body = { message, signature: await signer.sign(message) }
    return await readNewKey(await send('/v1/keys', asJson(body)))
  }

  async function rotate(send: SendAs, { id, key }: Made): Promise<void> {
    const next = await readNewKey(
      await send(`/v1/keys/${id}/rotate`, asJson({ overlapSeconds: 3600 }), key),
    )
    if (next) note(next.key, 'made')
  }

  async function revoke(send: SendAs, { id, key }: Made): Promise<void> {
    note(key, 'revoking')
    const { status } = await send(`/v1/keys/${id}`, { method: 'DELETE' }, key)
    if (status === 204) note(key, 'revoked')
  }

  return {
    events,
    faults,

    anyAddress,

    /** Uses a server until it is gone; the failure at its end is expected. */
    async use(origin: string): Promise<void> {
      const send: SendAs = (path, init = {}, token) => {
        const headers = new Headers(init.headers)
        // Each from another address, because the allowance of one address would end the load.
        headers.set('x-forwarded-for', anyAddress())
        if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
        return fetch(origin + path, { ...init, headers })
      }
      for (;;) {
        const made = await signUp(send)
        if (made === undefined) continue
        note(made.key, 'made')
        await send('/v1/btc/markets?limit=100', {}, made.key).then((page) => page.text())
        await (random.integer(2) === 0 ? rotate : revoke)(send, made)
      }
    },
  }
}

/** Keys whose state in the ledger contradicts the acknowledgements before a moment. */
export function lostKeys(ledger: Ledger, { events }: Pick<KeyLoad, 'events'>, byMs = Infinity) {
  const until = events.filter(({ atMs }) => atMs <= byMs)
  const states = new Map(until.map(({ key, state }) => [key, state]))
  // A key that is revoked at once may be `revoking` by then, and `made` a millisecond later.
  const made = new Set(until.filter(({ state }) => state === 'made').map(({ key }) => key))
  return [...states].filter(([key, state]) => {
    if (!made.has(key)) return false
    const kept = ledger.findKeyByDigest(digestOf(key))
    if (kept === undefined || ledger.findAccount(kept.accountId) === undefined) return true
    return state !== 'revoking' && (kept.revokedMs !== undefined) !== (state === 'revoked')
  })
}
