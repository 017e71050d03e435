/** Calls of requests, and apps that keep the promises, without a whole server. */
import type { AnyElysia } from 'elysia'

import type { Caller } from '#src/domain/selling/caller.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { compose } from '#src/http/api.ts'
import type { Call } from '#src/http/call.ts'
import { createPromises, type PromisesOptions } from '#src/http/promises.ts'
import { createTargetReader } from '#src/http/target.ts'

/** A call without a key. `kept` gets the seconds that its connection is kept for. */
export const callFrom = (known: Partial<Call> = {}, kept: number[] = []): Call => ({
  caller: undefined,
  rate: { limit: 1, remaining: 1, leftMs: 1 },
  enteredMs: 0,
  isCounted: true,
  refusal: undefined,
  requestId: 'req_test',
  traceparent: undefined,
  target: createTargetReader([])('http://localhost/'),
  startedMs: 0,
  peers: { requestIP: () => null, timeout: (_, seconds) => void kept.push(seconds) },
  ...known,
})

export function callerOf(accountId: string, tierId: string): Caller {
  const terms = defaultTiers.find((tier) => tier.tierId === tierId)
  if (terms === undefined) throw new Error(`No tier ${tierId}.`)
  const standing = { terms, subscription: undefined, untilMs: Infinity }
  return { accountId, keyId: accountId, familyId: accountId, isBlocked: false, standing }
}

/** An app of some routes that keeps the promises, with a clock that stands still. */
export function promisedApp(
  routes: AnyElysia,
  options: Pick<PromisesOptions, 'gate'> & Partial<PromisesOptions>,
): AnyElysia {
  const app = compose([])
  const { plugin } = createPromises({
    app,
    readTarget: createTargetReader([]),
    routes: new Map(),
    unrouted: { row: 0, usageOf: () => 'other', isShared: false },
    rounds: { enter: () => undefined },
    unread: { assertRoom() {}, hold() {} },
    meters: { request() {}, problem() {} },
    logsAs: 'off',
    log() {},
    clock: () => 0,
    createId: () => 'minted',
    timer: () => 0,
    ...options,
  })
  return app.use(plugin).use(routes)
}
