import { useEffect, useRef, useState } from 'preact/hooks'

import { type Problem, useApi } from '../../lib/api.ts'
import { approvalOf, type Chain, type Tier } from '../../lib/billing.ts'
import { serverNowMs, useSecondsUntil } from '../../lib/clock.ts'
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { approve, type Payer, payerStore } from '../../lib/wallet.ts'
import { FreshKey } from '../../parts/fresh-key.tsx'
import { PaymentProgress, usePayment } from '../../parts/payment-progress.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { SignIn } from '../../parts/sign-in.tsx'
import { WalletList } from '../../parts/wallet-list.tsx'
import { type Order, type Purchase, remedyOf, type Stage, usePurchase } from './purchase.ts'
import { QuoteReview } from './quote-review.tsx'

/** Everything from a key to a receipt, for one tier. */
export function Checkout({ tier }: { tier: Tier }) {
  const key = useStore(apiKey.store)
  const payer = useStore(payerStore)
  return (
    <section class="card checkout" id="checkout" aria-labelledby="checkout-title">
      <h2 id="checkout-title">
        {tier.name} for {tier.periodDays} days
      </h2>
      <FreshKey />
      {key === undefined && (
        <Step title="1. Get a key: what you buy belongs to it">
          <SignIn />
        </Step>
      )}
      {key !== undefined && payer === undefined && (
        <Step title="2. Choose the wallet that pays">
          <WalletList verb="Pay with" />
        </Step>
      )}
      {key !== undefined && payer !== undefined && <Pay tier={tier} payer={payer} />}
    </section>
  )
}

const Step = ({ title, children }: { title: string; children: preact.ComponentChildren }) => (
  <div class="stack">
    <h3>{title}</h3>
    {children}
  </div>
)

/** What takes the place of what was clicked takes its focus too. */
function Pay({ tier, payer }: { tier: Tier; payer: Payer }) {
  const purchase = usePurchase(payer)
  const place = useRef<HTMLDivElement>(null)
  const { at } = purchase.stage
  useEffect(() => place.current?.focus({ preventScroll: true }), [at])
  return (
    <div ref={place} tabIndex={-1} class="place">
      <CurrentStage tier={tier} payer={payer} purchase={purchase} />
    </div>
  )
}

type StageProps = { tier: Tier; payer: Payer; purchase: Purchase }

function CurrentStage({ tier, payer, purchase }: StageProps) {
  const { stage } = purchase
  const [order, setOrder] = useState<Order>()
  const ask = (wanted: Order) => {
    setOrder(wanted)
    void purchase.ask(wanted)
  }
  const again = () => (order ? void purchase.ask(order) : purchase.reset())
  switch (stage.at) {
    case 'choose':
      return (
        <Choose
          tier={tier}
          payer={payer}
          onOrder={ask}
          {...(stage.problem ? { problem: stage.problem } : {})}
        />
      )
    case 'wait':
      return (
        <p role="status" class="busy">
          {stage.text}
        </p>
      )
    case 'review':
      return (
        <QuoteReview
          quote={stage.quote}
          payer={payer}
          fault={stage.fault}
          onPay={() => void purchase.pay(stage.quote)}
          onRenew={again}
          onBack={purchase.reset}
        />
      )
    case 'held':
      return <Held stage={stage} payer={payer} submit={purchase.submit} onNewQuote={again} />
    case 'sent':
      return <Sent paymentId={stage.paymentId} isOther={!stage.quote} onNewQuote={again} />
  }
}

type ChooseProps = { tier: Tier; payer: Payer; problem?: Problem; onOrder: (order: Order) => void }

function Choose({ tier, payer, problem, onOrder }: ChooseProps) {
  const { data: chains, problem: unlisted, reload } = useApi<Chain[]>('/v1/billing/x402/chains')
  const [chosen, setChosen] = useState<string>()
  if (unlisted) return <ProblemCard problem={unlisted} onRetry={reload} />
  const ways = (chains ?? []).flatMap(({ network, name, tokens }) =>
    tokens.map((token) => ({ network, name, token, id: `${network} ${token.symbol}` })),
  )
  const first = ways.find(({ token }) => token.enabled)
  const way = ways.find(({ id }) => id === chosen) ?? first
  const order = way && { tierId: tier.tierId, network: way.network, token: way.token.symbol }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (order) onOrder(order)
      }}
    >
      <fieldset class="ways">
        <legend>Pay with</legend>
        {ways.map(({ id, name, token }) => (
          <label key={id} class="way">
            <input
              type="radio"
              name="way"
              checked={id === way?.id}
              disabled={!token.enabled}
              onChange={() => setChosen(id)}
            />
            <span>
              <strong>{token.symbol}</strong> on {name}
              <span class="note">
                {token.reason ??
                  (token.transferMethod === 'permit2'
                    ? ' one approval first, with a little gas'
                    : ' by a signature alone, no gas')}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      <p class="row">
        <span class="note">
          From <code class="address">{payer.address}</code>
        </span>
        <button type="button" class="button small" onClick={() => payerStore.set(undefined)}>
          Another wallet
        </button>
      </p>
      {problem && <ProblemCard problem={problem} />}
      {chains && !first && <p class="fault">Nothing can be paid with at the moment.</p>}
      <p class="row">
        <button type="submit" class="button primary" disabled={!first}>
          Get a quote
        </button>
        <span class="note">Nothing is owed by asking. It is yours for ten minutes.</span>
      </p>
    </form>
  )
}

type HeldProps = {
  stage: Extract<Stage, { at: 'held' }>
  payer: Payer
  submit: Purchase['submit']
  onNewQuote: () => void
}

/** Signed, and not taken yet: the same payment again, unless the server says that it is void. */
function Held({ stage: { quote, payload, problem }, payer, submit, onNewQuote }: HeldProps) {
  const [said, setSaid] = useState('')
  const remedy = remedyOf(problem)
  const again = () => void submit(quote, payload)
  const allow = async () => {
    setSaid('The approval is on its way to the chain…')
    try {
      await approve(payer, approvalOf(quote))
      await submit(quote, payload)
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <div class="problem" data-remedy={remedy} role="alert">
      <strong>{problem.title}</strong>
      <p>{problem.detail}</p>
      {remedy === 'new_quote' && (
        <button type="button" class="button primary" onClick={onNewQuote}>
          Get a new quote
        </button>
      )}
      {remedy === 'same_by_itself' && <Resubmit problem={problem} onDue={again} />}
      {remedy === 'same_by_hand' && <SameAgain onAgain={again} />}
      {remedy === 'approve' && (
        <button type="button" class="button primary" onClick={allow}>
          Approve Permit2, then submit the same payment
        </button>
      )}
      {remedy === 'stop' && (
        <p>Do not pay again. Your account lists what became of each payment.</p>
      )}
      {said !== '' && <p role="status">{said}</p>}
      <p class="note">
        <a href="/account">Your payments</a> ·{' '}
        <a href={`/docs/errors#${problem.code}`}>{problem.code}</a>
      </p>
    </div>
  )
}

const SameAgain = ({ onAgain }: { onAgain: () => void }) => (
  <>
    <p>Once that is mended, submit the payment that you signed. Do not sign another.</p>
    <button type="button" class="button primary" onClick={onAgain}>
      Submit the same payment again
    </button>
  </>
)

const RESUBMIT_SECONDS = 10

function Resubmit({ problem, onDue }: { problem: Problem; onDue: () => void }) {
  const [dueMs] = useState(serverNowMs() + (problem.retryAfterSeconds ?? RESUBMIT_SECONDS) * 1000)
  const seconds = useSecondsUntil(dueMs)
  useEffect(() => {
    if (seconds === 0) onDue()
  }, [seconds === 0])
  return (
    <p>
      You signed a payment that may be on its way. <strong>Do not sign another.</strong> The same
      one is submitted again in {seconds} s: it is taken once, however often it is submitted.
    </p>
  )
}

type SentProps = { paymentId: string; isOther: boolean; onNewQuote: () => void }

function Sent({ paymentId, isOther, onNewQuote }: SentProps) {
  const asked = usePayment(paymentId)
  const { payment } = asked
  return (
    <div class="stack">
      {isOther && (
        <p>
          <strong>A payment of this account is on its way already.</strong> Wait for it, unless you
          want to buy twice.
        </p>
      )}
      <PaymentProgress {...asked} id={paymentId} />
      {payment?.settlement && payment.subscription && (
        <>
          <dl class="facts">
            <div>
              <dt>Paid</dt>
              <dd>{payment.settlement.amountUsd} USD</dd>
            </div>
            <div>
              <dt>Until</dt>
              <dd>{new Date(payment.subscription.endsAt ?? '').toLocaleString()}</dd>
            </div>
            <div>
              <dt>Transaction</dt>
              <dd>
                <a href={payment.settlement.explorerUrl} target="_blank" rel="noreferrer">
                  <code class="address">{payment.settlement.transaction}</code>
                </a>
              </dd>
            </div>
          </dl>
          <p class="row">
            <a class="button primary" href="/">
              Explore the data
            </a>
            <a class="button" href="/account">
              Your account
            </a>
          </p>
        </>
      )}
      {payment?.paymentState === 'void' && (
        <p>
          <button type="button" class="button primary" onClick={onNewQuote}>
            Get a new quote
          </button>
        </p>
      )}
    </div>
  )
}
