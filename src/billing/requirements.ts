/** What a wallet is asked to sign, exactly as x402 v2 has it. */
import {
  type Offer,
  PAYMENT_TIMEOUT_SECONDS,
  type PaymentRequirements,
} from '#src/selling/offer.ts'
import type { PaymentChain, PaymentToken } from '#src/selling/payment-chain.ts'

import type { BillingDeps, PaymentRequired } from './billing.ts'

/** All of them but the amount, which the ledger gives. */
export const toRequirements = (
  { chain, token }: { chain: PaymentChain; token: PaymentToken },
  { payTo, quoteId }: { payTo: string; quoteId: string },
): Omit<PaymentRequirements, 'amount'> => ({
  scheme: 'exact',
  network: chain.network,
  asset: token.address,
  payTo,
  maxTimeoutSeconds: PAYMENT_TIMEOUT_SECONDS,
  extra: { ...toExtra(token), quoteId },
})

/**
 * A token without a domain must name none: clients that see one would sign a permit in a form that
 * the token does not understand.
 */
const toExtra = ({ domain }: PaymentToken): Record<string, string> =>
  domain === undefined ? { assetTransferMethod: 'permit2' } : { ...domain }

/** The challenge of an offer; `error` says why what was sent is no payment of it. */
export const toPaymentRequired = (
  { origin }: Pick<BillingDeps, 'origin'>,
  { terms, periodDays, requirements }: Offer,
  error?: string,
): PaymentRequired => ({
  x402Version: 2,
  ...(error === undefined ? {} : { error }),
  resource: {
    url: `${origin()}/v1/billing/x402/settle`,
    description: `${periodDays} days of the tier ${terms.name}`,
    mimeType: 'application/json',
  },
  accepts: [requirements],
})
