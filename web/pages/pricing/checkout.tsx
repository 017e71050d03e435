import { useEffect, useRef, useState } from 'preact/hooks'

import { type Problem, useApi } from '../../lib/api.ts'
import { approvalOf, type Chain, type Tier } from '../../lib/billing.ts'
import { serverNowMs, useSecondsUntil } from '../../lib/clock.ts'
import { showSome, showStamp } from '../../lib/format.ts'
import { apiKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { approve, type Payer, payerStore } from '../../lib/wallet.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'
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
        {tier.name} for {showSome(tier.periodDays ?? 0, 'day')}
      </h2>
      <FreshKey />
      {key === undefined && (
        <Step title="1. Get a key: the tier belongs to its account">
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

/** Buys a tier. An element that replaces a clicked one takes its focus. */
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
      return (
        <Sent
          paymentId={stage.paymentId}
          isOther={!stage.quote}
          onNewQuote={again}
          onAnother={() => (order ? ask({ ...order, anotherPeriod: true }) : purchase.reset())}
        />
      )
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
        <Button text="Another wallet" look="small" onClick={() => payerStore.set(undefined)} />
      </p>
      {problem && <ProblemCard problem={problem} />}
      {chains && !first && <p class="fault">No token is accepted at the moment.</p>}
      <p class="row">
        <Button text="Get a quote" type="submit" look="primary" disabled={!first} />
        <span class="note">A quote costs nothing, and is valid for ten minutes.</span>
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
      {remedy !== 'same_by_itself' && (
        <>
          <strong>{problem.title}</strong>
          <p>{problem.detail}</p>
        </>
      )}
      {remedy === 'new_quote' && (
        <Button text="Get a new quote" look="primary" onClick={onNewQuote} />
      )}
      {remedy === 'same_by_itself' && <Resubmit problem={problem} onDue={again} />}
      {remedy === 'same_by_hand' && <SameAgain onAgain={again} />}
      {remedy === 'approve' && (
        <Button
          text="Approve Permit2, then submit the same payment"
          look="primary"
          onClick={allow}
        />
      )}
      {remedy === 'stop' && (
        <p>Do not pay again. Your account lists the outcome of each payment.</p>
      )}
      {said !== '' && <p role="status">{said}</p>}
      <p class="note">
        <a href="/account">Your payments</a>{' '}
        {problem.status > 0 && (
          <a href={`/docs/errors#${problem.code}`}>
            <code>{problem.code}</code>
          </a>
        )}
      </p>
    </div>
  )
}

const SameAgain = ({ onAgain }: { onAgain: () => void }) => (
  <>
    <p>When the problem is solved, submit the payment that you signed. Do not sign another.</p>
    <Button text="Submit the same payment again" look="primary" onClick={onAgain} />
  </>
)

const RESUBMIT_SECONDS = 10

/** Does not show the text of the problem: "try again" would lead to a second payment. */
function Resubmit({ problem, onDue }: { problem: Problem; onDue: () => void }) {
  const [dueMs] = useState(serverNowMs() + (problem.retryAfterSeconds ?? RESUBMIT_SECONDS) * 1000)
  const seconds = useSecondsUntil(dueMs)
  useEffect(() => {
    if (seconds === 0) onDue()
  }, [seconds === 0])
  return (
    <>
      <strong>Your payment may be on its way. Do not sign another.</strong>
      <p>
        The outcome is not certain yet. This page submits your signed payment once more in {seconds}{' '}
        s, until the payment is decided. The payment is taken once, however often it is submitted.
      </p>
      <p>
        Keep this page open, and check that you are online. If you close the page, your payments
        show the outcome, and a new quote shows this payment until its outcome is known.
      </p>
    </>
  )
}

type SentProps = {
  paymentId: string
  isOther: boolean
  onNewQuote: () => void
  onAnother: () => void
}

function Sent({ paymentId, isOther, onNewQuote, onAnother }: SentProps) {
  const asked = usePayment(paymentId)
  const { payment } = asked
  return (
    <div class="stack">
      {isOther && (
        <p>
          <strong>Nothing was signed: this account already has a payment.</strong> The payment is in
          flight, or was made within the last hour.
        </p>
      )}
      <PaymentProgress {...asked} id={paymentId} />
      {payment?.settlement && payment.subscription && (
        <>
          <Facts
            look="facts"
            rows={[
              ['Paid', `${payment.settlement.amountUsd} ${payment.settlement.token}`],
              ['From', showStamp(payment.subscription.startsAt)],
              ['Until', showStamp(payment.subscription.endsAt)],
              [
                'Transaction',
                <a href={payment.settlement.explorerUrl} target="_blank" rel="noreferrer">
                  <code class="address">{payment.settlement.transaction}</code>
                </a>,
              ],
            ]}
          />
          <p class="row">
            <a class="button primary" href="/markets/btc">
              Explore the data
            </a>
            <a class="button" href="/account">
              Your account
            </a>
          </p>
        </>
      )}
      {isOther && payment?.status === 'active' && (
        <p>
          <Button text="Buy one more period" onClick={onAnother} />
        </p>
      )}
      {payment?.paymentState === 'void' && (
        <p>
          <Button text="Get a new quote" look="primary" onClick={onNewQuote} />
        </p>
      )}
    </div>
  )
}
