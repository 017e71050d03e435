/** Billing of a server that sells nothing: it says why, and asks nobody for money. */
import { AppError } from '#src/core/errors.ts'
import { homeChain, type PaymentChain } from '#src/selling/payment-chain.ts'

import type { Billing } from './billing.ts'

/**
 * Lists everything as unavailable for a reason, which callers are
 * shown; the data side is untouched.
 */
export function closedBilling(
  reason: string,
  chains: readonly PaymentChain[] = [homeChain],
): Billing {
  const refuse = (): never => {
    throw new AppError('billing_unavailable', reason, { retryAction: 'ask_operator' })
  }
  const statuses = chains.map((chain) => ({
    chain,
    tokens: chain.tokens.map((token) => ({ token, reason })),
  }))
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
