import { useApi } from '../../lib/api.ts'
import type { Subscription, Usage } from '../../lib/billing.ts'
import { showStamp } from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Card } from '../../parts/card.tsx'
import { FreshKey } from '../../parts/fresh-key.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SignIn } from '../../parts/sign-in.tsx'
import { Keys } from './keys.tsx'
import { Receipts } from './receipts.tsx'
import { Limits, UsageDays } from './usage.tsx'

export function AccountPage() {
  const key = useStore(apiKey.store)
  return (
    <div class="page">
      <h1>Account</h1>
      {key === undefined ? <Welcome /> : <Account />}
    </div>
  )
}

const Welcome = () => (
  <div class="columns">
    <Card title="Get a key with your wallet">
      <SignIn />
    </Card>
    <Card title="About keys">
      <p>
        A key belongs to an account, and an account to the wallet that signed in: no name, no
        e-mail, no card. A new account has the Free tier.
      </p>
      <p>
        If you have a key, enter it above, under “Use a key”. The key stays in this tab, and is sent
        to this server alone.
      </p>
      <p>
        <a href="/pricing">Compare tiers</a> · <a href="/docs/access">How access works</a>
      </p>
    </Card>
  </div>
)

function Account() {
  const usage = useApi<Usage>('/v1/usage')
  const { problem, reload } = usage
  return (
    <>
      <FreshKey />
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {usage.data && !problem && (
        <>
          <div class="columns">
            <Plan usage={usage.data} />
            <Limits usage={usage.data} onRefresh={reload} />
          </div>
          <UsageDays usage={usage.data} />
          <Keys />
          <Receipts />
        </>
      )}
    </>
  )
}

/** The current tier of the account, the next one, and its renewal. */
function Plan({ usage: { tier } }: { usage: Usage }) {
  const { data } = useApi<Subscription>('/v1/billing/subscription')
  const current = data?.current
  return (
    <Card title={tier.name}>
      <p class="note">
        {tier.coins.join(', ').toUpperCase()} · {tier.routes.join(', ')}
      </p>
      {current && (
        <p>{current.endsAt === null ? 'No end date' : `Until ${showStamp(current.endsAt)}`}</p>
      )}
      {data && data.upcoming.length > 0 && (
        <ul class="plain">
          {data.upcoming.map(({ id, tierId, startsAt, endsAt }) => (
            <li key={id}>
              Then {tierId}: from {showStamp(startsAt)},{' '}
              {endsAt === null ? 'no end date' : `until ${showStamp(endsAt)}`}
            </li>
          ))}
        </ul>
      )}
      <p class="row">
        {current?.endsAt && (
          <a class="button primary" href={`/pricing?tier=${encodeURIComponent(tier.id)}`}>
            Renew {tier.name}
          </a>
        )}
        <a class={current ? 'button' : 'button primary'} href="/pricing">
          Compare tiers
        </a>
      </p>
      <p class="note">
        Periods do not renew on their own. A new period follows the current one without a gap.
      </p>
    </Card>
  )
}
