/**
 * Accounts of the test server for one day (UTC): a ledger in memory, the keys that it accepts, and
 * tiers for no money. Of the real ledger it reads the catalogue of tiers alone.
 */

import type { Authenticator } from '#src/access/authenticator.ts'
import { toChainStatus } from '#src/billing/availability.ts'
import type { Billing } from '#src/billing/billing.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createTestChain, type TestBlocks } from '#src/chain/test-chain.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { createTestKeys, createTestUsage } from './test-keys.ts'

const PAY_TO = '0x0000000000000000000000000000000000007358'

type Options = {
  /** The real ledger. */
  ledger: Pick<Ledger, 'listTiers'>
  clock: Clock
  createId: () => string
  origin: () => string
  /** Quotes and payments, all of them in memory, after which the day is full. */
  dealsMax: number
}

export type TestAccounts = {
  ledger: Ledger
  authenticator: Authenticator
  /** With `isSlow`, on a chain that shows no payment yet. */
  createBilling(isSlow: boolean): Billing
  /** Whether a moment is on this day. */
  includes(timeMs: number): boolean
  isFull(): boolean
  dispose(): void
}

export function openTestAccounts({
  ledger: real,
  clock,
  createId,
  origin,
  dealsMax,
}: Options): TestAccounts {
  const stored = openLedger(':memory:', { nowMs: clock() })
  const ledger: Ledger = { ...stored, ...createTestUsage() }
  const listTiers = () => real.listTiers()
  const day = Math.floor(clock() / DAY_MS)
  const blocks: TestBlocks = new Map()
  let deals = 0

  function createTestBilling(isSlow: boolean): Billing {
    const billing = createBilling({
      ledger,
      listTiers,
      clock,
      createId,
      payTo: PAY_TO,
      chains: [createTestChain(blocks, isSlow)],
      screen: async (address) => clearOf(address, clock()),
      // The state of the test chain does not change with time.
      sleep: () => Promise.resolve(),
      origin,
      log: () => undefined,
    })
    let checked: Promise<void> | undefined
    return {
      ...billing,
      // The test chain accepts all of its tokens before it was checked.
      chains: () => billing.chains().map(({ chain }) => toChainStatus(chain, () => undefined)),
      settle(...payment) {
        deals++
        return billing.settle(...payment)
      },
      demand: refuseUnquoted,
      settleUnquoted: refuseUnquoted,
      /** Makes the account of the caller. */
      async quote(caller, order) {
        deals++
        checked ??= billing.refresh()
        await checked
        const id = caller.accountId
        if (!ledger.findAccount(id)) ledger.createAccount({ id }, byOperator(clock()))
        return billing.quote(caller, order)
      },
    }
  }

  return {
    ledger,
    authenticator: createTestKeys({ ledger, clock, listTiers }),
    createBilling: createTestBilling,
    includes: (timeMs) => Math.floor(timeMs / DAY_MS) === day,
    isFull: () => deals >= dealsMax,
    dispose: stored.dispose,
  }
}

/** On no list: a payment with a test key moves no money. */
export const clearOf = (address: string, timeMs: number): Verdict => ({
  verdict: 'clear',
  address: address.toLowerCase(),
  timeMs,
  grounds: { list: { answer: 'absent', isStale: false }, oracle: 'absent', issuers: 'absent' },
})

/** A purchase without a quote makes a key of the payer, which would be no test key. */
const refuseUnquoted = async (): Promise<never> => {
  const message =
    'With a test key, you can only buy by quote and settle: POST /v1/billing/x402/quote.'
  throw new AppError('billing_unavailable', message, { retryAction: 'abandon' })
}
