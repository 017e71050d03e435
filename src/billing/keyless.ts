/**
 * Selling to whoever has no key. The offer is in the x402 challenge itself (`sealed-offer.ts`), is
 * at the plain price, and is written down with its payment: the payer's account has what it buys.
 */
import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { blockedError } from '#src/domain/selling/caller.ts'
import {
  networkError,
  type ParsedPayment,
  parsePayment,
  sealPayment,
} from '#src/domain/selling/payload.ts'
import { type Offer, OFFER_LIFE_MS, type Payment } from '#src/domain/selling/payment.ts'
import { termsOf, type Tier } from '#src/domain/selling/tier.ts'
import { isRecord } from '#src/platform/record.ts'

import { offerFault } from './admission.ts'
import type { Billing, BillingOptions, PaymentRequired, UnquotedOrigin } from './billing.ts'
import { readMoment } from './chain-clock.ts'
import { extensionsOf, identifierOf } from './extensions.ts'
import {
  assertFewFailed,
  type createAvailability,
  missingPart,
  toAtomic,
  toRequirements,
  type Where,
} from './offers.ts'
import {
  allowanceError,
  conflictError,
  describe,
  rejectedError,
  SERVICE_NAME,
  unavailableError,
} from './payment-errors.ts'
import { askFaults, findOfferOf, type PaymentWithOffer } from './payment-machine.ts'
import { openOffer, SEAL, type SealedOffer, sealOffer } from './sealed-offer.ts'

/** A challenge may name a block so old: a payment is in a later one all the same. */
const HEAD_AGE_MS_MAX = 10_000

const boughtOf = (product: Tier) => ({
  terms: termsOf(product),
  periodDays: product.requests === undefined ? (product.periodDays ?? 0) : 0,
  requests: product.requests,
})

const requirementsFor = (deps: BillingOptions, where: Where, sealed: SealedOffer) => ({
  ...toRequirements(deps, where, { [SEAL]: sealOffer(deps.ledger.challengeKey, sealed) }),
  amount: sealed.amount,
})

export function createDemand(
  deps: BillingOptions,
  { findReason }: ReturnType<typeof createAvailability>,
): Billing['demand'] {
  return async (product): Promise<PaymentRequired> => {
    const { amountMillionths = 0, tierId: productId } = product
    const ofChains = deps.chains.map(async (sold) => {
      const tokens = sold.chain.tokens.filter((token) => findReason(sold, token) === undefined)
      const head = tokens.length > 0 ? await sold.view?.head(HEAD_AGE_MS_MAX) : undefined
      if (head === undefined) return []
      return tokens.map((token) => {
        const amount = String(toAtomic(amountMillionths, token))
        const { network } = sold.chain
        const fromBlock = head.latestNumber
        const named = { productId, network, symbol: token.symbol, amount, fromBlock }
        const sealed = { ...named, secret: deps.createId() }
        return requirementsFor(deps, { sold, token }, sealed)
      })
    })
    const accepts = (await Promise.all(ofChains)).flat()
    if (accepts.length === 0) {
      throw unavailableError('Nothing can be paid with just now. Try again.', 'wait_and_retry')
    }
    return {
      x402Version: 2,
      resource: {
        url: deps.origin(),
        description: describe(boughtOf(product)),
        mimeType: 'application/json',
        serviceName: SERVICE_NAME,
      },
      accepts,
      extensions: extensionsOf(product.requests === 1 ? 'GET' : 'POST'),
    }
  }
}

/** Throws what `Billing.settleUnquoted` throws before anything is sent. */
export async function admitUnquoted(
  deps: BillingOptions,
  product: Tier,
  input: unknown,
  onAdmitted: UnquotedOrigin['onAdmitted'],
): Promise<PaymentWithOffer> {
  const parsed = parsePayment(input)
  const identifier = identifierOf(input)
  const { payments } = deps.ledger
  const known = payments.findPaymentByNonce(parsed.signed)
  if (known) {
    const again = assertSame(deps, { product, input, parsed, payment: known })
    await onAdmitted?.(parsed.signed.payer, true)
    return again
  }
  const { sealed, where } = readOffer(deps, product, { input, parsed })
  const { view } = where.sold
  const missing = missingPart(deps, where.sold)
  if (!view || missing !== undefined) throw unavailableError(missing ?? 'Nothing is sold here.')
  const offer = draftOffer(deps, product, { parsed, sealed, where })
  const signed = sealPayment(parsed, offer)
  const faults = await askFaults(view, signed, parsed.body.signature)
  const fault = faults[0] ?? offerFault(signed, offer, await readMoment(deps.clock, view))
  // Whoever reads the chain could present it: only what comes here first is the payer's for sure.
  if (faults.includes('nonce_used')) {
    const taken = payments.findPaymentByNonce(signed)
    if (taken) {
      const again = assertSame(deps, { product, input, parsed, payment: taken })
      await onAdmitted?.(parsed.signed.payer, true)
      return again
    }
    throw conflictError(
      'This payment was made before it was sent here. Do not pay again: ask the operator, who sees the money.',
    )
  }
  // A wallet that has paid already may have nothing left to pay with.
  if (fault === 'allowance_required' || fault === 'insufficient_balance') {
    const isForged = faults.includes('signature_invalid')
    if (!isForged) await onAdmitted?.(signed.payer, false)
  }
  // Written down only if it can be made: whoever signs what cannot be costs nothing.
  if (fault === 'allowance_required') throw allowanceError({ signed }, offer)
  if (fault !== undefined) throw rejectedError(deps, { reason: fault, signed, offer })
  assertFewFailed(deps, offer)
  await onAdmitted?.(signed.payer, false)
  const ids = { id: `pay_${deps.createId()}`, keyId: `key_${deps.createId()}`, identifier }
  const { kind, payment } = payments.claimUnquoted(
    { ...ids, offer, signed },
    { nowMs: deps.clock() },
  )
  if (kind === 'identifier_taken') {
    throw conflictError(
      'Another payment of this wallet has the same `payment-identifier`, and was made or may be, so this one is not taken and no money moved. Do not pay again: what the other payment buys belongs to the wallet.',
    )
  }
  return assertSame(deps, { product, input, parsed, payment })
}

type Found = { product: Tier; input: unknown; parsed: ParsedPayment; payment: Payment }

/**
 * The payment that was taken before. All that is signed can be read on the chain, so that alone
 * proves nothing: who signed it knows its offer too.
 */
function assertSame(
  deps: BillingOptions,
  { product, input, parsed, payment }: Found,
): PaymentWithOffer {
  const offer = findOfferOf(deps, payment)
  const { [SEAL]: seal } = offer.requirements.extra
  const isSame =
    offer.terms.tierId === product.tierId &&
    offer.requests === product.requests &&
    seal !== undefined &&
    seal === sealIn(input) &&
    sealPayment(parsed, offer).payloadHash === payment.signed.payloadHash
  if (isSame) return { payment, offer }
  throw conflictError('This payment was made for something else. Sign a new one for this.')
}

function sealIn(input: unknown): unknown {
  const accepted = isRecord(input) ? input.accepted : undefined
  const extra = isRecord(accepted) ? accepted.extra : undefined
  return isRecord(extra) ? extra[SEAL] : undefined
}

type Sent = { input: unknown; parsed: ParsedPayment }

/** What the challenge said, at a price that still holds. Throws `payment_invalid`. */
function readOffer(deps: BillingOptions, product: Tier, { input, parsed }: Sent) {
  const { signed, token } = parsed
  const sealed = openOffer(deps.ledger.challengeKey, sealIn(input))
  const isOurs =
    sealed?.productId === product.tierId &&
    sealed.network === signed.network &&
    sealed.symbol === token.symbol &&
    sealed.amount === String(signed.amount) &&
    sealed.amount === String(toAtomic(product.amountMillionths ?? 0, token))
  if (!isOurs) {
    throw new AppError(
      'payment_invalid',
      'The payment is not one of the offers that this address makes now. Nothing was sent. Ask again without a payment, and sign one of `accepts` as it is.',
      { param: 'PAYMENT-SIGNATURE', ...unsoundPayment },
    )
  }
  const sold = deps.chains.find(({ chain }) => chain.network === signed.network)
  if (!sold) throw networkError()
  return { sealed, where: { sold, token } }
}

type Drafted = { parsed: ParsedPayment; sealed: SealedOffer; where: Where }

function draftOffer(deps: BillingOptions, product: Tier, { parsed, sealed, where }: Drafted) {
  const { payer } = parsed.signed
  const account = deps.ledger.findAccountByAddress(payer)
  if (account?.blockedMs !== undefined) throw blockedError()
  const { symbol, method } = where.token
  const nowMs = deps.clock()
  return {
    id: `quote_${deps.createId()}`,
    accountId: account?.id ?? `acc_${deps.createId()}`,
    payer,
    ...boughtOf(product),
    ...{ symbol, method },
    requirements: requirementsFor(deps, where, sealed),
    fromBlock: sealed.fromBlock,
    createdMs: nowMs,
    expiresMs: nowMs + OFFER_LIFE_MS,
  } satisfies Offer
}
