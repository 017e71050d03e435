import { useEffect, useState } from 'preact/hooks'

import { approvalOf, formatAmount, PERMIT2, type Quote } from '../../lib/billing.ts'
import { useSecondsUntil } from '../../lib/clock.ts'
import { showSome, showStamp } from '../../lib/format.ts'
import { showStart } from '../../lib/payment-texts.ts'
import {
  allowanceOf,
  approve,
  balanceOf,
  chainIdOf,
  type Payer,
  switchChain,
} from '../../lib/wallet.ts'
import { Button } from '../../parts/button.tsx'
import { Facts } from '../../parts/facts.tsx'

/** Too little time to sign and submit a payment and have it mined. */
const SIGN_SECONDS_MIN = 60

/** Network, balance and allowance of a wallet; undefined where it did not answer. */
type Known = { chainId?: number; balance?: bigint | undefined; allowance?: bigint | undefined }

async function readFacts(payer: Payer, quote: Quote): Promise<Known> {
  const { asset } = quote.paymentRequirements
  const chainId = await chainIdOf(payer.wallet)
  // On another chain the same address is another contract, or none.
  if (chainId !== quote.chain.chainId) return { chainId }
  const balance = await balanceOf(payer, asset)
  if (quote.token.transferMethod !== 'permit2') return { chainId, balance }
  return { chainId, balance, allowance: await allowanceOf(payer, asset, PERMIT2) }
}

type Props = {
  quote: Quote
  payer: Payer
  fault: string | undefined
  onPay: () => void
  onRenew: () => void
  onBack: () => void
}

/** The payment in words, before the wallet is asked to sign it. */
export function QuoteReview({ quote, payer, fault, onPay, onRenew, onBack }: Props) {
  const [facts, setFacts] = useState<Known>({})
  const [said, setSaid] = useState<string>()
  const refresh = () => readFacts(payer, quote).then(setFacts, (error) => setSaid(String(error)))
  useEffect(() => void refresh(), [quote, payer])
  const act = (action: () => Promise<unknown>, waiting: string) => {
    setSaid(waiting)
    action().then(
      () => refresh().then(() => setSaid(undefined)),
      (error: Error) => setSaid(error.message),
    )
  }
  const seconds = useSecondsUntil(Date.parse(quote.expiresAt))
  const need = needOf(quote, facts)
  const isExpired = seconds < SIGN_SECONDS_MIN
  return (
    <div class="stack">
      <h3>Review your payment</h3>
      <Words quote={quote} payer={payer} />
      <p class="note num">
        {isExpired
          ? 'This quote can no longer be signed. A new quote costs nothing.'
          : `This price is valid for another ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} minutes.`}
      </p>
      <div class="row">
        {isExpired && <Button text="Get a new quote" look="primary" onClick={onRenew} />}
        {!isExpired && need === 'chain' && <SwitchChain quote={quote} payer={payer} onAct={act} />}
        {!isExpired && need === 'approval' && <Approval quote={quote} payer={payer} onAct={act} />}
        {!isExpired && need === 'balance' && (
          <div class="problem">
            <strong>This wallet holds {amountOf(quote, facts.balance)}</strong>
            <p>
              That is less than {amountOf(quote)}. Fund the wallet first; nothing is signed until
              then.
            </p>
            <Button text="Check again" onClick={refresh} />
          </div>
        )}
        {!isExpired && need === undefined && (
          <Button look="primary" onClick={onPay}>
            Sign and pay {amountOf(quote)}
          </Button>
        )}
        <Button text="Change token or wallet" onClick={onBack} />
      </div>
      <p role="alert" class={said === undefined && fault === undefined ? 'sr' : 'fault'}>
        {said ?? fault}
      </p>
    </div>
  )
}

function needOf(quote: Quote, { chainId, balance, allowance }: Known) {
  const amount = BigInt(quote.paymentRequirements.amount)
  if (chainId !== undefined && chainId !== quote.chain.chainId) return 'chain'
  if (allowance !== undefined && allowance < amount) return 'approval'
  return balance !== undefined && balance < amount ? 'balance' : undefined
}

const amountOf = ({ token, paymentRequirements }: Quote, amount?: bigint): string =>
  `${formatAmount(amount ?? paymentRequirements.amount, token.decimals)} ${token.symbol}`

function Words({ quote, payer }: { quote: Quote; payer: Payer }) {
  const { tier, startsAt, chain, token, paymentRequirements, expiresAt } = quote
  const address = (value: string) => <code class="address">{value}</code>
  const rows = [
    ['You pay', <strong>{amountOf(quote)}</strong>],
    ['For', `${tier.name}, ${showSome(tier.periodDays, 'day')}, no automatic renewal`],
    ['Begins', showStart(startsAt)],
    ['From your wallet', address(payer.address)],
    ['To', address(paymentRequirements.payTo)],
    ['Network', chain.name],
    [`Token (${token.name})`, address(token.address)],
    ['Valid until', showStamp(expiresAt)],
    ['Gas', 'none: the server submits the payment'],
  ] as const
  return (
    <>
      <Facts look="facts" rows={rows} />
      <p class="note">
        The signature can move exactly this amount, once, to this address, and nothing after it
        expires. Compare these values with those in the wallet.
        {token.transferMethod === 'permit2' &&
          ' The wallet shows a permit: “spender” is the contract of x402, which can pay this address alone.'}
      </p>
    </>
  )
}

type Act = (action: () => Promise<unknown>, waiting: string) => void
type StepProps = { quote: Quote; payer: Payer; onAct: Act }

function SwitchChain({ quote: { chain }, payer: { wallet }, onAct }: StepProps) {
  const change = () =>
    onAct(() => switchChain(wallet, chain.chainId), `Confirm in ${wallet.info.name}.`)
  return (
    <div class="problem">
      <strong>Your wallet is on another network</strong>
      <p>This payment is for {chain.name}. Nothing is signed until the wallet uses that network.</p>
      <Button text={`Switch to ${chain.name}`} look="primary" onClick={change} />
    </div>
  )
}

function Approval({ quote, payer, onAct }: StepProps) {
  const { token, chain } = quote
  const allow = () =>
    onAct(() => approve(payer, approvalOf(quote)), 'The approval is on its way to the chain…')
  return (
    <div class="problem">
      <strong>{token.symbol} needs an approval first</strong>
      <p>
        {token.symbol} on {chain.name} cannot be paid with a signature alone. The payment goes
        through Permit2, a contract of Uniswap, which your wallet must approve once. The approval is
        a transaction of its own: it moves no money, and costs a little gas. It covers{' '}
        {amountOf(quote)}, no more. USDC needs no approval.
      </p>
      <Button look="primary" onClick={allow}>
        Approve {amountOf(quote)}
      </Button>
    </div>
  )
}
