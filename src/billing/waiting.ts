/** Waits a little for a payment to be final, so that most callers get their answer at once. */
import type { Payment } from '#src/selling/payment.ts'

import type { Case, Flow } from './flow.ts'
import { observe } from './observation.ts'

/** Eight seconds in all: a few blocks of Polygon and its finality. */
const PENDING_STEPS_MS = [50, 100, 200, 400, 750, 1500, 2500, 2500]
/** Of what nobody saw on its way, less is to be hoped for. */
const UNKNOWN_STEPS = 4

/** Looks again and again while a payment is in flight; returns it as it was seen last. */
export async function waitForFinality(flow: Flow, it: Case): Promise<Payment> {
  let { payment } = it
  for (const [step, ms] of PENDING_STEPS_MS.entries()) {
    const mayWait =
      payment.state === 'pending' || (payment.state === 'unknown' && step < UNKNOWN_STEPS)
    if (!mayWait) break
    await flow.deps.sleep(ms)
    payment = await observe(flow, { ...it, payment })
  }
  return payment
}
