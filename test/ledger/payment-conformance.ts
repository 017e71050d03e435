/** The contract of `PaymentStore` as tests: any engine must pass `conformPayments`. */
import { describe } from 'bun:test'

import type { Ledger } from '#src/ledger/ledger.ts'

import { NOW_MS } from './ledger-records.ts'
import { conformMatching } from './payment-conformance-matching.ts'
import { conformOffers } from './payment-conformance-offers.ts'
import { conformProvision } from './payment-conformance-provision.ts'
import { conformReview } from './payment-conformance-review.ts'
import { conformStates } from './payment-conformance-states.ts'
import { conformSums } from './payment-conformance-sums.ts'
import { conformUnquoted } from './payment-conformance-unquoted.ts'

/** Runs `body` on a ledger of its own, and finds its audit sound at the end. */
export type UsePayments = (body: (ledger: Ledger) => void | Promise<void>) => () => Promise<void>

/** Proves every verb from outside. */
export function conformPayments(
  name: string,
  open: (nowMs: number) => Ledger | Promise<Ledger>,
): void {
  const use: UsePayments = (body) => async () => {
    const ledger = await open(NOW_MS)
    try {
      await body(ledger)
      const faults = [...ledger.verifyAudit()]
      if (faults.length > 0) throw new Error(faults.join('\n'))
    } finally {
      ledger.dispose()
    }
  }
  describe(name, () => {
    conformOffers(use)
    conformMatching(use)
    conformStates(use)
    conformProvision(use)
    conformReview(use)
    conformUnquoted(use)
    conformSums(use)
  })
}
