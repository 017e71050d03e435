/**
 * Test keys: every well-formed one is valid and an account of its own. The server stores nothing of
 * an account before its first purchase, so making keys costs nothing. Because everybody can make
 * them, the keys of a network address share one rate window, and what they hold at a time.
 */

import type { Authenticator } from '#src/access/authenticator.ts'
import { SAMPLE_REQUESTS_PER_MINUTE } from '#src/access/sample.ts'
import { coins } from '#src/domain/market.ts'
import { digestOf, testKeyOf } from '#src/domain/selling/api-key.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { FREE_TIER_ID, type Terms, type Tier, tierRoutes } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Ledger, UsageEntry, UsageRow } from '#src/ledger/ledger.ts'

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

export function createTestKeys({ ledger, clock, listTiers }: Deps): Authenticator {
  return {
    listTiers,
    authenticate(authorization, addressOf) {
      const key = testKeyOf(authorization)
      if (key === undefined) return undefined
      const name = `test${digestOf(key).toHex().slice(0, NAME_LENGTH)}`
      const accountId = `acc_${name}`
      const found = standingAt(ledger.listSubscriptions(accountId), listTiers(), clock())
      const { tierId } = found.terms
      const { requestsPerMinute } = testTerms
      // A purchase without money gives no more requests.
      const terms = tierId === FREE_TIER_ID ? testTerms : { ...found.terms, requestsPerMinute }
      const standing = { ...found, terms }
      const address = addressOf()
      const familyId = `test ${address}`
      return { keyId: `key_${name}`, accountId, familyId, isBlocked: false, standing, address }
    },
  }
}

/** Accounts whose usage is kept; the oldest are forgotten first. */
const ACCOUNTS_MAX = 1_000

/** Usage in memory. */
export function createTestUsage(): Pick<Ledger, 'addUsage' | 'usageOf' | 'pruneUsage'> {
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
    addUsage: (entries) => entries.forEach(add),
    usageOf: (accountId, fromDay) =>
      [...(accounts.get(accountId)?.values() ?? [])].filter(({ day }) => day >= fromDay),
    pruneUsage: () => undefined,
  }
}
