import { join } from 'node:path'

import { coins } from '#src/domain/market.ts'
import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import { FREE_TIER_ID, tierRoutes } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

/** Accounts of the benches: the one that asks, one that others get in the way of, and more. */
const seeds = { bench: 0x5a, victim: 0x5b, third: 0x5c, fourth: 0x5d, free: 0x5e }
export type BenchAccount = keyof typeof seeds

/** The same in every run; it opens nothing but a ledger of the benches. */
const keyOf = (account: BenchAccount): string =>
  createApiKey((length) => new Uint8Array(length).fill(seeds[account]))

export const authorizationOf = (account: BenchAccount): string => `Bearer ${keyOf(account)}`

/** What every request of a bench carries; the baselines do not read it. */
export const benchAuthorization = authorizationOf('bench')

/** More than a server answers in a minute. */
const REQUESTS_PER_MINUTE = 1_000_000_000

/** Makes the key valid for a data folder of ours, unless it is. */
export async function addBenchKey(
  dataPath: string,
  account: BenchAccount = 'bench',
): Promise<void> {
  const benchKey = keyOf(account)
  const nowMs = Date.now()
  const by = { actor: 'operator', nowMs } as const
  const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs })
  await ledger.atomically((transaction) => {
    if (transaction.findKeyByDigest(digestOf(benchKey))) return
    const tierId = account === 'free' ? FREE_TIER_ID : 'bench'
    const accountId = `acc_${account}`
    const id = `key_${account}`
    transaction.putTier(
      {
        tierId,
        name: account === 'free' ? 'Free' : 'Bench',
        rank: account === 'free' ? 0 : 99,
        coins,
        routes: tierRoutes,
        requestsPerMinute: REQUESTS_PER_MINUTE,
        isForSale: false,
      },
      by,
    )
    transaction.createAccount({ id: accountId }, by)
    transaction.addSubscription({ id: `sub_${account}`, accountId, tierId, startMs: 0 }, by)
    const digest = digestOf(benchKey)
    transaction.createKey({ id, accountId, familyId: id, digest, hint: hintOf(benchKey) }, by)
  })
  ledger.dispose()
}
