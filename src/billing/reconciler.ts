/**
 * Brings payments to their end without their payers: at start, when one is submitted, and on a
 * timer. From the chain alone each of them becomes provisioned or void, at the latest once its last
 * second is final.
 */
import { AppError } from '#src/core/errors.ts'
import { isUndecided, openStates, type Payment } from '#src/selling/payment.ts'

import type { BillingDeps } from './billing.ts'
import {
  advance,
  ATTEMPTS_MAX,
  type Case,
  caseOf,
  type Flow,
  flowOn,
  move,
  observe,
  reread,
  RESEND_UNKNOWN_MS,
} from './payment-machine.ts'

/** Payments that are looked at side by side: a look is two to five questions to the node. */
const LOOKS_AT_ONCE = 8
/** Rejected ones can be paid by their payers alone, so few of them are looked at, and seldom. */
const REJECTED_LOOKS = 20
const REJECTED_EVERY_MS = 60_000
/** How often at most a payer who asks gets a look, and how long the answer waits for it. */
const POLL_EVERY_MS = 3000
const POLL_WAIT_MS = 2000

/**
 * Keeps apart what callers do with a payment and what is done without them: never both at a time.
 */
export function createReconciler(deps: BillingDeps) {
  const { ledger, clock, log } = deps
  const flights = createSingleFlight()
  const looks = createSingleFlight()
  const polled = new Map<string, number>()
  let rejectedAtMs = Number.NEGATIVE_INFINITY
  let lastRejected: Payment | undefined

  async function run(payment: Payment, work: typeof observe): Promise<void> {
    const flow = flowOn(deps, payment.signed.network, 'system')
    if (!flow || flights.has(payment.id)) return
    try {
      await looks.run(payment.id, () => work(flow, caseOf(deps, reread(flow, payment.id))))
    } catch (error) {
      // A refusal is for callers; it comes again at every look.
      if (!(error instanceof AppError))
        log(`billing: ${payment.id} stays ${payment.state}: ${String(error)}`)
    }
  }

  /** Looks at some payments now. Never rejects. */
  const attend = (payments: readonly Payment[]) =>
    forEachAtOnce(payments, (payment) => run(payment, step))

  /** The next ones in their order, and the first again after the last. */
  function nextRejected(): Payment[] {
    const nowMs = clock()
    if (nowMs < rejectedAtMs + REJECTED_EVERY_MS) return []
    rejectedAtMs = nowMs
    const page = { limit: REJECTED_LOOKS, after: lastRejected }
    const found = ledger.payments.listPaymentsIn(['rejected'], page)
    lastRejected = found.length < REJECTED_LOOKS ? undefined : found.at(-1)
    return found
  }

  return {
    attend,

    /**
     * What callers want of a payment: those who come meanwhile join the first, who
     * waits for a look that is under way.
     */
    work: (id: string, body: () => Promise<Payment>): Promise<Payment> =>
      flights.run(id, async () => {
        await looks.over(id)
        return body()
      }),

    /** See `Billing.reconcile`. */
    async reconcile(): Promise<number> {
      await attend(ledger.payments.listPaymentsIn(openStates))
      await attend(nextRejected())
      return ledger.payments.listPaymentsIn(openStates).length
    },

    /**
     * Looks for one payment on the chain, if nobody does and nobody
     * has just done so. Never rejects.
     */
    async poll(payment: Payment): Promise<void> {
      const nowMs = clock()
      for (const [id, atMs] of polled) {
        if (atMs > nowMs - POLL_EVERY_MS) break
        polled.delete(id)
      }
      if (!isUndecided(payment) || polled.has(payment.id)) return
      polled.set(payment.id, nowMs)
      await Promise.race([run(payment, observe), deps.sleep(POLL_WAIT_MS)])
    },
  }
}

/** Never rejects as long as `body` does not. */
async function forEachAtOnce<T>(items: readonly T[], body: (item: T) => Promise<void>) {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await body(item)
  }
  await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker))
}

async function step(flow: Flow, it: Case): Promise<Payment> {
  const { payment } = it
  const { state, reason } = payment
  if (!isUndecided(payment)) return payment
  // We never sent it, but the payer can, until it is void; a forged signature cannot arrive at all.
  if (state === 'rejected' && reason === 'signature_invalid') {
    return move(flow, payment, { to: 'void', reason })
  }
  if (state === 'rejected') return observe(flow, it)
  if (state !== 'received' && state !== 'screened') return advance(flow, it)
  // The payer may have submitted it while we were away.
  const seen = await observe(flow, it)
  return seen.state === state && isDue(flow, seen) ? advance(flow, it) : seen
}

/** A facilitator that refuses is asked a few times more; after that the payer has to ask. */
const isDue = ({ deps }: Flow, { attempts, updatedMs }: Payment): boolean =>
  attempts < ATTEMPTS_MAX && updatedMs + RESEND_UNKNOWN_MS <= deps.clock()

/**
 * Joins calls for the same payment: the first does the work, those that
 * come meanwhile get its outcome.
 */
function createSingleFlight() {
  const flights = new Map<string, Promise<Payment>>()
  return {
    run(id: string, body: () => Promise<Payment>): Promise<Payment> {
      const flying = flights.get(id)
      if (flying !== undefined) return flying
      const flight = body().finally(() => flights.delete(id))
      flights.set(id, flight)
      return flight
    },
    has: (id: string): boolean => flights.has(id),
    /** Resolves once nobody does it, also where the work rejects. */
    async over(id: string): Promise<void> {
      await flights.get(id)?.catch(() => undefined)
    },
  }
}
