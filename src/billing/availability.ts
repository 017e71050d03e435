/** Which tokens can be paid with just now, from what chains and facilitators say of themselves. */
import { AppError } from '#src/core/errors.ts'
import { homeChain, type PaymentChain, type PaymentToken } from '#src/selling/payment-chain.ts'

import type { Billing, BillingDeps, ChainStatus, SoldChain } from './billing.ts'

type Deps = Pick<BillingDeps, 'chains' | 'payTo' | 'log'>

export type Availability = ReturnType<typeof createAvailability>

const keyOf = ({ chain }: SoldChain, token: PaymentToken) => `${chain.network} ${token.symbol}`

const statusOf = (
  chain: PaymentChain,
  reasonOf: (token: PaymentToken) => string | undefined,
): ChainStatus => ({
  chain,
  tokens: chain.tokens.map((token) => ({ token, reason: reasonOf(token) })),
})

/** Everything counts as unavailable until it was checked. */
export function createAvailability(deps: Deps) {
  const reasons = new Map<string, string | undefined>()
  /** Why a token cannot be paid with; undefined if it can. */
  const reasonOf = (sold: SoldChain, token: PaymentToken): string | undefined => {
    const key = keyOf(sold, token)
    return reasons.has(key) ? reasons.get(key) : (missingPart(deps, sold) ?? 'It is being checked.')
  }

  async function refresh(sold: SoldChain): Promise<void> {
    const reasonNow = await checkChain(deps, sold)
    for (const token of sold.chain.tokens) {
      const [key, reason] = [keyOf(sold, token), reasonNow(token)]
      if (reason !== reasonOf(sold, token)) {
        deps.log(`billing: ${key} ${reason ?? 'can be paid with'}`)
      }
      reasons.set(key, reason)
    }
  }

  return {
    chains: (): readonly ChainStatus[] =>
      deps.chains.map((sold) => statusOf(sold.chain, (token) => reasonOf(sold, token))),
    reasonOf,
    async refresh(): Promise<void> {
      await Promise.all(deps.chains.map(refresh))
    },
  }
}

/** What the operator has not configured. */
export function missingPart(
  { payTo }: Pick<Deps, 'payTo'>,
  { view, facilitator }: SoldChain,
): string | undefined {
  if (payTo === '') return 'Nothing is sold here: no address to pay to is configured.'
  if (view === undefined) return 'Nothing is sold here: no node of the chain is configured.'
  if (facilitator === undefined) return 'Nothing is sold here: no facilitator is configured.'
  return
}

/** Finds out why each token cannot be paid with. */
async function checkChain(deps: Deps, sold: SoldChain) {
  const missing = missingPart(deps, sold)
  if (missing !== undefined) return () => missing
  const [seen, relay] = await Promise.all([sold.view?.check(), checkFacilitator(sold)])
  return ({ symbol }: PaymentToken) => seen?.chain ?? seen?.tokens[symbol] ?? relay
}

async function checkFacilitator({ facilitator, chain }: SoldChain): Promise<string | undefined> {
  const answer = await facilitator?.supported()
  if (answer?.kinds === undefined) {
    return `The facilitator does not answer${answer?.reason === undefined ? '' : `: ${answer.reason}`}.`
  }
  const isThere = answer.kinds.some(
    ({ x402Version, scheme, network }) =>
      x402Version === 2 && scheme === 'exact' && network === chain.network,
  )
  return isThere ? undefined : `The facilitator does not settle payments on ${chain.name}.`
}

/** Billing of a server that sells nothing: all is unavailable, for a reason that callers see. */
export function closedBilling(
  reason: string,
  chains: readonly PaymentChain[] = [homeChain],
): Billing {
  const refuse = (): never => {
    throw new AppError('billing_unavailable', reason, { retryAction: 'ask_operator' })
  }
  const statuses = chains.map((chain) => statusOf(chain, () => reason))
  return {
    chains: () => statuses,
    quote: async () => refuse(),
    challenge: refuse,
    settle: async () => refuse(),
    payment: async () => refuse(),
    // Not an empty list: there may be payments from before.
    payments: refuse,
    subscriptions: () => [],
    onSubmitted: () => undefined,
    reconcile: async () => 0,
    watch: async () => undefined,
    refresh: async () => undefined,
  }
}
