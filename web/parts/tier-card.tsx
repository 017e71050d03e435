import { apiKey } from '../lib/key.ts'
import { useRights } from '../lib/rights.ts'
import { useStore } from '../lib/store.ts'

/** Names data that the tier does not include, the tier that does, and the sample. */
export function TierCard({ what }: { what: string }) {
  const rights = useRights()
  const hasKey = useStore(apiKey.store) !== undefined
  const market = rights?.sample?.market
  return (
    <div class="card stack tier-card">
      <h2>{what}</h2>
      <p class="note">
        {hasKey
          ? `Not included in your tier, ${rights?.tier.name ?? ''}.`
          : 'Not included in the sample that is shown without a key.'}
      </p>
      <p class="row">
        {hasKey ? (
          <a class="button primary" href="/pricing">
            Compare tiers
          </a>
        ) : (
          <a class="button primary" href="/account">
            Get a key
          </a>
        )}
        {market && (
          <a class="button" href={`/markets/${market.symbol}/${market.conditionId}`}>
            See the whole sample market
          </a>
        )}
      </p>
    </div>
  )
}
