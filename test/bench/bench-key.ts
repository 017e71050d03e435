import { join } from 'node:path'

import { digestOf, hintOf, mintKey } from '#src/core/api-key.ts'
import { coins } from '#src/core/market.ts'
import { tierRoutes } from '#src/core/tier.ts'
import { openLedger } from '#src/store/ledger/open.ts'

/** The same in every run; it opens nothing but a ledger of the benches. */
const benchKey = mintKey((length) => new Uint8Array(length).fill(0x5a))

/** What every request of a bench carries; the baselines do not read it. */
export const benchAuthorization = `Bearer ${benchKey}`

/** More than a server answers in a minute. */
const REQUESTS_PER_MINUTE = 1_000_000_000

/** Makes the key valid for a data folder of ours, unless it is. */
export function addBenchKey(dataPath: string): void {
  const nowMs = Date.now()
  const by = { actor: 'operator', nowMs } as const
  const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs })
  ledger.atomically(() => {
    if (ledger.findKeyByDigest(digestOf(benchKey))) return
    const [tierId, accountId, id] = ['bench', 'acc_bench', 'key_bench']
    ledger.putTier(
      {
        tierId,
        name: 'Bench',
        rank: 99,
        coins,
        routes: tierRoutes,
        requestsPerMinute: REQUESTS_PER_MINUTE,
        isForSale: false,
      },
      by,
    )
    ledger.createAccount({ id: accountId }, by)
    ledger.addSubscription({ id: 'sub_bench', accountId, tierId, startMs: 0 }, by)
    const digest = digestOf(benchKey)
    ledger.createKey({ id, accountId, familyId: id, digest, hint: hintOf(benchKey) }, by)
  })
  ledger.dispose()
}
