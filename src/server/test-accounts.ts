/**
 * Accounts of the test server for one day (UTC): a ledger in memory, test keys, and purchases
 * without money. From the real ledger it reads only the catalogue of tiers.
 */

import type { Authenticator } from '#src/access/authenticator.ts'
import { SAMPLE_REQUESTS_PER_MINUTE } from '#src/access/sample.ts'
import { toChainStatus } from '#src/billing/availability.ts'
import type { Billing } from '#src/billing/billing.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createTestChain, type TestBlocks } from '#src/chain/test-chain.ts'
import { AppError } from '#src/domain/errors.ts'
import { coins } from '#src/domain/market.ts'
import { digestOf, testKeyOf } from '#src/domain/selling/api-key.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Verdict } from '#src/domain/selling/screening.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { FREE_TIER_ID, type Terms, type Tier, tierRoutes } from '#src/domain/selling/tier.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger, UsageEntry, UsageRow } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

const PAY_TO = '0x0000000000000000000000000000000000007358'

type Options = {
  /** The real ledger. */
  ledger: Pick<Ledger, 'listTiers'>
  clock: Clock
  createId: () => string
  origin: () => string
  /** The maximum number of quotes and payments of a day, which are in memory. */
  dealsMax: number
}

export type TestAccounts = {
  ledger: Ledger
  authenticator: Authenticator
  /** With `isSlow`, payments remain pending. */
  createBilling(isSlow: boolean): Billing
  /** True if the time is on this day. */
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
      // The test chain does not change with time.
      sleep: () => Promise.resolve(),
      origin,
      log: () => undefined,
    })
    let checked: Promise<void> | undefined
    return {
      ...billing,
      // The test chain accepts all of its tokens before its first check.
      chains: () => billing.chains().map(({ chain }) => toChainStatus(chain, () => undefined)),
      settle(...payment) {
        deals++
        return billing.settle(...payment)
      },
      demand: refuseUnquoted,
      settleUnquoted: refuseUnquoted,
      /** Creates the account of the caller if it is absent. */
      async quote(caller, order) {
        deals++
        checked ??= billing.refresh()
        await checked
        const id = caller.accountId
        if (!ledger.findAccount(id)) await ledger.createAccount({ id }, byOperator(clock()))
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

/** Every address is clear, because a payment with a test key moves no money. */
export const clearOf = (address: string, timeMs: number): Verdict => ({
  verdict: 'clear',
  address: address.toLowerCase(),
  timeMs,
  grounds: { list: { answer: 'absent', isStale: false }, oracle: 'absent', issuers: 'absent' },
})

/** Refuses a purchase without a quote, which would create a real key for the payer. */
const refuseUnquoted = async (): Promise<never> => {
  const message =
    'With a test key, you can only buy by quote and settle: POST /v1/billing/x402/quote.'
  throw new AppError('billing_unavailable', message, { retryAction: 'abandon' })
}

/** The tier of each test key: all data, and the rate of the sample. */
const testTerms: Terms = {
  tierId: 'test',
  name: 'Test',
  rank: 0,
  coins,
  routes: tierRoutes,
  requestsPerMinute: SAMPLE_REQUESTS_PER_MINUTE,
}

const NAME_LENGTH = 24

type Deps = {
  ledger: Pick<Ledger, 'listSubscriptions'>
  clock: Clock
  /** The catalogue of the real server. */
  listTiers: () => readonly Tier[]
}

/**
 * Test keys: every well-formed key is valid, and an account of its own. An account is stored at its
 * first purchase, so keys cost nothing. Because anyone can make keys, those of one network
 * address share a rate window and the limits of concurrent work.
 */

function createTestKeys({ ledger, clock, listTiers }: Deps): Authenticator {
  function authenticate(
    ...[authorization, addressOf]: Parameters<Authenticator['authenticate']>
  ): Caller | undefined {
    const key = testKeyOf(authorization)
    if (key === undefined) return undefined
    const name = `test${digestOf(key).toHex().slice(0, NAME_LENGTH)}`
    const accountId = `acc_${name}`
    const found = standingAt(ledger.listSubscriptions(accountId), listTiers(), clock())
    const { tierId } = found.terms
    const { requestsPerMinute } = testTerms
    // A purchase without money does not raise the rate.
    const terms = tierId === FREE_TIER_ID ? testTerms : { ...found.terms, requestsPerMinute }
    const standing = { ...found, terms }
    const address = addressOf()
    const familyId = `test ${address}`
    return { keyId: `key_${name}`, accountId, familyId, isBlocked: false, standing, address }
  }
  // Test mode has no files, and so no links.
  return { listTiers, authenticate, find: authenticate, findKeyHolder: () => undefined }
}

/** The maximum number of accounts whose usage is kept; the oldest are dropped first. */
const ACCOUNTS_MAX = 1_000

/** Usage in memory. */
function createTestUsage(): Pick<Ledger, 'addUsage' | 'usageOf' | 'pruneUsage'> {
  const accounts = new Map<string, Map<string, UsageRow>>()
  function add({ keyId, day, route, requests, bytes }: UsageEntry): void {
    const accountId = keyId.replace('key_', 'acc_')
    const rows = accounts.get(accountId) ?? new Map<string, UsageRow>()
    const known = rows.get(`${day} ${route}`) ?? { day, route, requests: 0, bytes: 0 }
    const sum = { ...known, requests: known.requests + requests, bytes: known.bytes + bytes }
    accounts.set(accountId, rows.set(`${day} ${route}`, sum))
    const [first] = accounts.keys()
    if (accounts.size > ACCOUNTS_MAX && first !== undefined) accounts.delete(first)
  }
  return {
    addUsage: async (entries) => entries.forEach(add),
    usageOf: (accountId, fromDay) =>
      [...(accounts.get(accountId)?.values() ?? [])].filter(({ day }) => day >= fromDay),
    pruneUsage: async () => undefined,
  }
}
