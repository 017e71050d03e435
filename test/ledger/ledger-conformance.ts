/** The contract of `Ledger` as tests: any engine must pass `conformLedger`. */
import { describe } from 'bun:test'

import type { Ledger } from '#src/ledger/ledger.ts'

import { conformAccounts } from './ledger-conformance-accounts.ts'
import { conformActivity } from './ledger-conformance-activity.ts'
import { conformAtomicity } from './ledger-conformance-atomicity.ts'
import { conformKeyChanges } from './ledger-conformance-key-changes.ts'
import { conformKeys } from './ledger-conformance-keys.ts'
import { conformRequests } from './ledger-conformance-requests.ts'
import { conformScreening } from './ledger-conformance-screening.ts'
import { conformTiers } from './ledger-conformance-tiers.ts'
import { NOW_MS } from './ledger-records.ts'

/** Opens a new, empty ledger, which was made at `nowMs`. */
export type OpenLedger = (nowMs: number) => Ledger | Promise<Ledger>

/** Proves every verb from outside. */
export function conformLedger(name: string, open: OpenLedger): void {
  /** Runs `body` on a ledger of its own, and finds its audit sound at the end. */
  const use: UseLedger = (body) => async () => {
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
    conformTiers(use)
    conformAccounts(use)
    conformKeys(use)
    conformKeyChanges(use)
    conformRequests(use)
    conformScreening(use)
    conformActivity(use)
    conformAtomicity(use)
  })
}

export type UseLedger = (body: (ledger: Ledger) => void | Promise<void>) => () => Promise<void>
