/**
 * Offers and signed payments for tests of the ledger, by number: the same number is the same one.
 */

import { paymentChains } from '#src/domain/selling/payment-chain.ts'
import type {
  Offer,
  Payment,
  PaymentProof,
  PaymentState,
  SignedPayment,
} from '#src/domain/selling/payment.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type {
  OfferDraft,
  OfferRules,
  PaymentVerbs,
  UnmatchedTransfer,
} from '#src/ledger/payments.ts'

import { accountIdOf, addressOf, by, createKeyOne, NOW_MS, tierOf } from './ledger-records.ts'

export const network = 'eip155:137'
export const ASSET = paymentChains[0]?.tokens[0]?.address ?? ''
export const PRICE = 49_000_000n
export const RESERVED_UNTIL_MS = NOW_MS + 86_400_000
/** In every payload, and nowhere else. */
export const SIGNATURE = `0x${'5e'.repeat(65)}`

export const offerIdOf = (number: number): string => `quote_${number}`
export const paymentIdOf = (number: number): string => `pay_${number}`
export const idsOf = (number: number) => ({
  subscriptionId: `sub_paid${number}`,
  restId: `sub_rest${number}`,
})

export const anOffer = (number: number, changes: Partial<OfferDraft> = {}): OfferDraft => ({
  id: offerIdOf(number),
  accountId: accountIdOf(1),
  terms: tierOf('pro'),
  periodDays: 30,
  symbol: 'USDC',
  method: 'eip3009',
  requirements: {
    scheme: 'exact',
    network,
    asset: ASSET,
    payTo: addressOf(9),
    maxTimeoutSeconds: 600,
    extra: { name: 'USD Coin', version: '2' },
  },
  fromBlock: 1000 + number,
  expiresMs: NOW_MS + 600_000,
  ...changes,
})

function payloadOf(number: number): Pick<SignedPayment, 'payload' | 'payloadHash'> {
  const payload = JSON.stringify({ number, signature: SIGNATURE })
  return { payload, payloadHash: new Bun.CryptoHasher('sha256').update(payload).digest('hex') }
}

export const aSigned = (
  number: number,
  offer: Offer,
  changes: Partial<SignedPayment> = {},
): SignedPayment => ({
  network,
  method: 'eip3009',
  asset: ASSET.toLowerCase(),
  payer: addressOf(1),
  payTo: addressOf(9),
  amount: BigInt(offer.requirements.amount),
  validAfter: 0n,
  validBefore: 2n ** 256n - 1n,
  nonce: `0x${number.toString(16).padStart(64, '0')}`,
  nonceContract: ASSET.toLowerCase(),
  ...payloadOf(number),
  ...changes,
})

export const aProof = (number: number, changes: Partial<PaymentProof> = {}): PaymentProof => ({
  txHash: `0x${number.toString(16).padStart(64, 'a')}`,
  blockNumber: 2000 + number,
  logIndex: number,
  ...changes,
})

export const aTransfer = (
  number: number,
  changes: Partial<UnmatchedTransfer> = {},
): UnmatchedTransfer => ({
  ...aProof(number),
  id: `transfer_${number}`,
  network,
  asset: ASSET.toLowerCase(),
  from: addressOf(5),
  // More than a double holds.
  amount: 9_007_199_254_740_993n,
  foundMs: NOW_MS,
  ...changes,
})

/** Makes account 1 unless it is there. */
export async function ensureAccount(ledger: Ledger): Promise<void> {
  const isThere = ({ findAccount }: Pick<Ledger, 'findAccount'>) =>
    findAccount(accountIdOf(1)) !== undefined
  // Another process may have made it.
  if (isThere(ledger) || (await ledger.atomically(isThere))) return
  await createKeyOne(ledger)
}

export async function openOffer(
  ledger: Ledger,
  number: number,
  changes: Partial<OfferDraft> & { atomic?: bigint; nowMs?: number; reservedUntilMs?: number } = {},
): Promise<Offer> {
  await ensureAccount(ledger)
  const { atomic, nowMs, reservedUntilMs, ...rest } = changes
  const rules = rulesOf({ ...(atomic && { atomic }), ...(reservedUntilMs && { reservedUntilMs }) })
  return offerOf(await ledger.payments.openOffer(anOffer(number, rest), rules, by(nowMs)))
}

export function offerOf(opened: ReturnType<PaymentVerbs['openOffer']>): Offer {
  if ('offer' in opened) return opened.offer
  throw new Error(opened.kind)
}

export const amountOf = ({ requirements }: Offer): bigint => BigInt(requirements.amount)

/** As many offers as one likes, each a new one. */
export const rulesOf = (changes: Partial<OfferRules> = {}): OfferRules => ({
  atomic: PRICE,
  reservedUntilMs: RESERVED_UNTIL_MS,
  offersMax: Number.POSITIVE_INFINITY,
  uniqueMax: Number.POSITIVE_INFINITY,
  usableUntilMs: Number.POSITIVE_INFINITY,
  ...changes,
})

/** Opens an offer and takes its payment. */
export async function claim(
  ledger: Ledger,
  number: number,
  changes: Partial<OfferDraft> = {},
): Promise<Payment> {
  const offer = await openOffer(ledger, number, changes)
  const draft = { id: paymentIdOf(number), offer, signed: aSigned(number, offer) }
  const { kind, payment } = await ledger.payments.claim(draft, by())
  if (kind !== 'claimed') throw new Error(kind)
  return payment
}

/** The moves that lead to a state. */
const paths: Partial<Record<PaymentState, PaymentState[]>> = {
  received: [],
  screened: ['screened'],
  settling: ['screened', 'settling'],
  pending: ['screened', 'settling', 'pending'],
  unknown: ['screened', 'settling', 'unknown'],
  settled: ['screened', 'settling', 'settled'],
  rejected: ['rejected'],
  void: ['screened', 'settling', 'unknown', 'void'],
  review: ['review'],
}

/** Takes a payment and leads it to a state. */
export async function claimUpTo(
  ledger: Ledger,
  number: number,
  options: { state: PaymentState; leaseUntilMs?: number; offer?: Partial<OfferDraft> },
): Promise<Payment> {
  let payment = await claim(ledger, number, options.offer)
  const proof = aProof(number)
  for (const to of paths[options.state] ?? []) {
    const change = { from: [payment.state], to, ...(to === 'settled' ? { proof } : {}) }
    const leaseUntilMs = options.leaseUntilMs ?? NOW_MS + 60_000
    const after =
      to === 'settling'
        ? await ledger.payments.lease(payment.id, leaseUntilMs, by())
        : await ledger.payments.move(payment.id, change, by())
    if (after === undefined) throw new Error(`Payment ${number} cannot be ${to}.`)
    payment = after
  }
  return payment
}

/** Buys a period as of `nowMs`. */
export async function buy(
  ledger: Ledger,
  number: number,
  { tierId = 'pro', nowMs = NOW_MS }: { tierId?: string; nowMs?: number } = {},
) {
  const { id } = await claimUpTo(ledger, number, {
    state: 'settled',
    offer: { terms: tierOf(tierId) },
  })
  await ledger.payments.provision(id, idsOf(number), by(nowMs))
  const subscription = ledger.payments.findSubscriptionOf(id)
  if (subscription === undefined) throw new Error(`Payment ${number} has bought no period.`)
  return subscription
}
