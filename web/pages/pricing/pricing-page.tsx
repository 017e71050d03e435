import { useEffect, useRef } from 'preact/hooks'

import { useApi } from '../../lib/api.ts'
import type { Tier } from '../../lib/billing.ts'
import { facts } from '../../lib/facts.ts'
import { showCount, showSome, showStamp } from '../../lib/format.ts'
import { useLocation } from '../../lib/location.ts'
import { Facts } from '../../parts/facts.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Checkout } from './checkout.tsx'

/** True if the catalogue can be read, but nothing bought. */
const isClosed = facts.isSelling === false

/** Prices change, and purchases are paused and resumed, while the page is open. */
const RENEW = { everyMs: 60_000 }

export function PricingPage() {
  const { data: tiers, problem, reload } = useApi<Tier[]>('/v1/billing/tiers', undefined, RENEW)
  const pausedSince = tiers?.find((each) => each.pausedSince !== null)?.pausedSince ?? null
  const chosen = useLocation().query.get('tier')
  const tier = tiers?.find((each) => each.tierId === chosen && each.isForSale && !isClosed)
  /** A purchase that has begun stays on the page: it may hold a signed payment. */
  const begun = useRef<string | undefined>(undefined)
  if (tier && pausedSince === null) begun.current = tier.tierId
  const isCheckout = tier !== undefined && begun.current === tier.tierId
  useEffect(() => {
    if (tier) document.getElementById('checkout')?.scrollIntoView({ block: 'start' })
  }, [tier?.tierId])
  return (
    <div class="page">
      <header class="intro">
        <h1>Pricing</h1>
        <p>
          Pay with a signature of your wallet, in stablecoins: no card, no name, no gas, and no
          renewal without your signature.
        </p>
        {isClosed && (
          <p>
            <strong>Nothing is sold on this server at the moment.</strong> Ask its operator.
          </p>
        )}
      </header>
      {pausedSince !== null && <Paused since={pausedSince} />}
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      <div class="tiers" aria-busy={tiers === undefined}>
        {tiers?.map((each) => (
          <TierCard key={each.tierId} tier={each} isChosen={each === tier} />
        ))}
      </div>
      {/* Shown after the tiers, which would move it. */}
      {isCheckout && <Checkout key={tier.tierId} tier={tier} />}
      {!isCheckout && (tiers ?? problem) && <Promises />}
    </div>
  )
}

const Paused = ({ since }: { since: string }) => (
  <section class="card paused" role="status">
    <h2>Purchases are paused</h2>
    <p>
      Since {showStamp(since)} this server cannot settle payments, so no tier can be bought. It
      gives no quotes, and nothing is charged.
    </p>
    <ul>
      <li>
        Come back later. This page checks every minute, and offers the tiers again once payments
        work.
      </li>
      <li>
        If you have signed a payment, do not sign another one: <a href="/account">your account</a>{' '}
        shows its outcome.
      </li>
      <li>Keys and tiers that you have continue to work.</li>
    </ul>
  </section>
)

const upper = (names: readonly string[]): string => names.join(', ').toUpperCase()

function TierCard({ tier, isChosen }: { tier: Tier; isChosen: boolean }) {
  const { tierId, name, priceUsdc, periodDays, isForSale, contact } = tier
  const rows = [
    ['Coins', upper(tier.coins)],
    ['Data', tier.routes.join(', ')],
    ['Requests a minute', `${showCount(tier.requestsPerMinute)} for each key`],
    ['Exports and streams', `${tier.concurrentStreams} at a time`],
  ] as const
  return (
    <article class={isChosen ? 'card tier is-chosen' : 'card tier'} aria-label={name}>
      <h2>{name}</h2>
      <p class="price num">
        {priceUsdc === null ? 'By agreement' : `$${priceUsdc}`}
        {isForSale && <span class="note"> for {showSome(periodDays ?? 0, 'day')}</span>}
      </p>
      <Facts rows={rows} />
      {tier.pausedSince !== null && <p class="note">Purchases are paused.</p>}
      {isForSale && !isClosed && tier.pausedSince === null && (
        <a class="button primary" href={`/pricing?tier=${encodeURIComponent(tierId)}`}>
          Choose {name}
        </a>
      )}
      {!isForSale && priceUsdc === '0' && facts.isSignupOpen !== false && (
        <a class="button" href="/account">
          Get a free key
        </a>
      )}
      {contact !== null && <p class="note">{contact}</p>}
    </article>
  )
}

const promises = [
  [
    'You never pay twice',
    'A payment is taken once, however often it is submitted. While one is in flight, the server asks for no other.',
  ],
  ['Late payments count', 'If your money arrives late, you get the tier at the quoted terms.'],
  [
    'Your wallet stays yours',
    'A signature moves one amount, once, to one address. The server never requests a private key.',
  ],
  [
    'Renew when you like',
    'A new purchase adds a period after your current one. A higher tier starts at once, and the rest of the lower tier follows it.',
  ],
] as const

const Promises = () => (
  <>
    <section class="promises" aria-label="How paying works">
      {promises.map(([title, text]) => (
        <div key={title}>
          <h3>{title}</h3>
          <p>{text}</p>
        </div>
      ))}
    </section>
    <p>
      <a href="/docs/payments">How paying works, in full</a>
    </p>
  </>
)
