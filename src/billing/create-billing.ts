/** Puts the parts of billing together. */
import type { Payment } from '#src/selling/payment.ts'

import { admit } from './admission.ts'
import { advance } from './advance.ts'
import { createAvailability } from './availability.ts'
import type { Billing, BillingDeps } from './billing.ts'
import { type Flow, reread } from './flow.ts'
import { createOffers } from './offers.ts'
import { createReconciler, type Flights } from './reconciler.ts'
import { refuseUnavailable } from './refusals.ts'
import { createHistory, toAnswer } from './settlement.ts'
import { createSingleFlight } from './single-flight.ts'
import { waitForFinality } from './waiting.ts'
import { watch } from './watcher.ts'

/** Creates the engine. It does nothing by itself: `refresh`, `reconcile` and `watch` want a timer. */
export function createBilling(deps: BillingDeps): Billing {
  const availability = createAvailability(deps)
  const flights = createSingleFlight<Payment>()
  const looks = createSingleFlight<Payment>()
  const { poll, attend, reconcile } = createReconciler(deps, { flights, looks })
  const settle = createSettle(deps, { flights, looks })
  const history = createHistory(deps)
  const listeners: (() => void)[] = []
  return {
    chains: availability.chains,
    refresh: availability.refresh,
    ...createOffers(deps, availability),
    ...history,
    async payment(caller, id) {
      await poll(history.payment(caller, id).payment)
      return history.payment(caller, id)
    },
    settle: (caller, payload) =>
      settle(caller, payload).finally(() => {
        for (const listener of listeners) listener()
      }),
    onSubmitted: (listener) => void listeners.push(listener),
    reconcile,
    watch: () => watch(deps, attend),
  }
}

/**
 * Callers with the same payload join the first one, up to the end of its waiting. A look that is under way
 * is waited for: it does less than a caller wants.
 */
const createSettle =
  (deps: BillingDeps, { flights, looks }: Flights): Billing['settle'] =>
  async (caller, payload) => {
    const it = await admit(deps, caller, payload)
    const { chain, facilitator } = deps
    const isDone = it.payment.state === 'provisioned'
    if (!chain && !isDone) throw refuseUnavailable('No node of the chain is configured any more.')
    if (!chain || isDone) return toAnswer(deps, it)
    const flow: Flow = { deps, chain, facilitator, actor: `account:${caller.accountId}` }
    const payment = await flights.run(it.payment.id, async () => {
      await looks.over(it.payment.id)
      const advanced = await advance(flow, { ...it, payment: reread(flow, it.payment.id) })
      return waitForFinality(flow, { ...it, payment: advanced })
    })
    return toAnswer(deps, { ...it, payment })
  }
