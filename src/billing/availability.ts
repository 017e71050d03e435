/** Which tokens can be paid with just now, from what the chain and the facilitator say of themselves. */
import { type PaymentChain, paymentChains, type PaymentToken } from '#src/selling/payment-chain.ts'

import type { BillingDeps, ChainStatus } from './billing.ts'

type Deps = Pick<BillingDeps, 'chain' | 'facilitator' | 'payTo' | 'log'>

export type Availability = {
  chains(): readonly ChainStatus[]
  /** Why a token cannot be paid with; undefined if it can. */
  reasonOf(chain: PaymentChain, token: PaymentToken): string | undefined
  refresh(): Promise<void>
}

const keyOf = (chain: PaymentChain, token: PaymentToken) => `${chain.network} ${token.symbol}`

/** Everything counts as unavailable until it was checked. */
export function createAvailability(deps: Deps): Availability {
  const first = missingPart(deps) ?? 'It is being checked.'
  let reasons: ReadonlyMap<string, string | undefined> = new Map()
  const reasonOf = (chain: PaymentChain, token: PaymentToken) => {
    const key = keyOf(chain, token)
    return reasons.has(key) ? reasons.get(key) : first
  }
  const chains = () =>
    paymentChains.map((chain) => ({
      chain,
      tokens: chain.tokens.map((token) => ({ token, reason: reasonOf(chain, token) })),
    }))

  return {
    chains,
    reasonOf,

    async refresh() {
      const checked = await Promise.all(paymentChains.map((chain) => checkChain(deps, chain)))
      const fresh = new Map(checked.flat())
      for (const [key, reason] of fresh) {
        const known = reasons.has(key) ? reasons.get(key) : first
        if (reason !== known) deps.log(`billing: ${key} ${reason ?? 'can be paid with'}`)
      }
      reasons = fresh
    },
  }
}

/** What the operator has not configured. */
export function missingPart({ payTo, chain, facilitator }: Omit<Deps, 'log'>): string | undefined {
  if (payTo === '') return 'Nothing is sold here: no address to pay to is configured.'
  if (chain === undefined) return 'Nothing is sold here: no node of the chain is configured.'
  if (facilitator === undefined) return 'Nothing is sold here: no facilitator is configured.'
  return
}

type Reasons = [key: string, reason: string | undefined][]

async function checkChain(deps: Deps, chain: PaymentChain): Promise<Reasons> {
  const missing = missingPart(deps)
  if (missing !== undefined) return chain.tokens.map((token) => [keyOf(chain, token), missing])
  const [view, relay] = await Promise.all([deps.chain?.check(), checkFacilitator(deps, chain)])
  return chain.tokens.map((token) => [
    keyOf(chain, token),
    view?.chain ?? view?.tokens[token.symbol] ?? relay,
  ])
}

async function checkFacilitator(
  { facilitator }: Deps,
  chain: PaymentChain,
): Promise<string | undefined> {
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
