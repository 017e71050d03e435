/**
 * What billing reports to an account, in the shapes of HTTP. Which
 * payments are whose is decided below.
 */
import type { Billing, ChainStatus, Quote, Settlement } from '#src/billing/billing.ts'
import type { CursorCodec } from '#src/core/cursor.ts'
import { AppError } from '#src/core/errors.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { Caller } from '#src/selling/caller.ts'
import type { PaymentChain, PaymentToken } from '#src/selling/payment-chain.ts'

import type { ChainBody, QuoteBody, ReceiptList, ReceiptQuery, SubscriptionBody } from './model.ts'
import { chainOf, toInFlight, tokenOf, toPeriod, toReceipt } from './settlement-body.ts'

type Deps = { billing: Billing; cursors: CursorCodec; clock: Clock }
type Place = { createdMs: number; id: string }

const TIME_BYTES = 6

/** Makes the service of what sells. */
export const createBillingService = ({ billing, cursors, clock }: Deps) => ({
  chains: (): ChainBody[] => billing.chains().map(toChainBody),

  quote: async (caller: Caller, order: Parameters<Billing['quote']>[1]): Promise<QuoteBody> =>
    toQuoteBody(await billing.quote(caller, order)),

  /**
   * Answers who sends no payment: throws `payment_required` with what
   * to sign, or why there is none.
   */
  demand(caller: Caller, quoteId: string): never {
    const { offer, paymentRequired } = billing.challenge(caller, quoteId)
    const error = 'PAYMENT-SIGNATURE header is required'
    const { network } = offer.requirements
    throw new AppError(
      'payment_required',
      'Sign one of `paymentRequired.accepts`, and send it to this address as `paymentPayload` or in the header `PAYMENT-SIGNATURE`.',
      {
        paymentRequired: { ...paymentRequired, error },
        paymentResponse: {
          success: false,
          errorReason: 'payment_required',
          transaction: '',
          network,
        },
        retryAction: 'sign_anew',
      },
    )
  },

  settle: (caller: Caller, payload: unknown): Promise<Settlement> =>
    billing.settle(caller, payload),

  payment: (caller: Caller, id: string): Promise<Settlement> => billing.payment(caller, id),

  /** Throws `cursor_invalid` and `cursor_mismatch`. */
  payments(caller: Caller, { limit, cursor }: ReceiptQuery): ReceiptList {
    const scope = `payments ${caller.accountId}`
    const after = cursor === undefined ? undefined : toPlace(cursors.decode(scope, cursor))
    // One more than asked shows whether a next page exists.
    const found = billing.payments(caller, { limit: limit + 1, after })
    const last = found.length > limit ? found[limit - 1] : undefined
    const nextCursor = last === undefined ? null : cursors.encode(scope, toPayload(last.payment))
    return { data: found.slice(0, limit).map(toReceipt), nextCursor }
  },

  subscription(caller: Caller): SubscriptionBody {
    const { terms, subscription } = caller.standing
    const nowMs = clock()
    const upcoming = billing.subscriptions(caller).filter(({ startMs }) => startMs > nowMs)
    return {
      tier: { id: terms.tierId, name: terms.name },
      current: subscription === undefined ? null : toPeriod(subscription),
      upcoming: upcoming.map(toPeriod),
      free: subscription === undefined,
    }
  },
})

export type BillingService = ReturnType<typeof createBillingService>

function toPayload({ createdMs, id }: Place): Uint8Array {
  const payload = Buffer.alloc(TIME_BYTES + Buffer.byteLength(id))
  payload.writeUIntBE(createdMs, 0, TIME_BYTES)
  payload.write(id, TIME_BYTES)
  return payload
}

function toPlace(payload: Uint8Array): Place {
  const bytes = Buffer.from(payload)
  return { createdMs: bytes.readUIntBE(0, TIME_BYTES), id: bytes.toString('utf8', TIME_BYTES) }
}

const toChainFacts = ({ network, name, chainId, explorer, finality }: PaymentChain) => ({
  network,
  name,
  chainId,
  explorer,
  finality,
})

const toTokenFacts = ({ symbol, name, address, decimals, method, domain }: PaymentToken) => ({
  symbol,
  name,
  address,
  decimals,
  transferMethod: method,
  eip712Domain: domain === undefined ? null : { name: domain.name, version: domain.version },
})

const toChainBody = ({ chain, tokens }: ChainStatus): ChainBody => ({
  ...toChainFacts(chain),
  tokens: tokens.map(({ token, reason }) => ({
    ...toTokenFacts(token),
    enabled: reason === undefined,
    reason: reason ?? null,
  })),
})

function toQuoteBody({ offer, paymentRequired, inFlight }: Quote): QuoteBody {
  const { requirements, terms, periodDays, symbol } = offer
  const { network } = requirements
  return {
    quoteId: offer.id,
    expiresAt: toIso(offer.expiresMs),
    paymentRequirements: requirements,
    paymentRequired: { ...paymentRequired, accepts: [...paymentRequired.accepts] },
    payer: offer.payer ?? null,
    tier: { tierId: terms.tierId, name: terms.name, periodDays },
    chain: toChainFacts(chainOf(network)),
    token: toTokenFacts(tokenOf(network, symbol)),
    ...(inFlight === undefined ? {} : { paymentInFlight: toInFlight(inFlight) }),
  }
}
