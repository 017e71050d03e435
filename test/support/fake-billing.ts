/** Billing without a chain: every account has bought Pro once, and has a payment in flight. */
import type { Billing, PaymentRequired, Settlement } from '#src/billing/billing.ts'
import { AppError, type ErrorCode, type ErrorExtras } from '#src/domain/errors.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type {
  Offer,
  Payment,
  PaymentRequirements,
  PaymentState,
} from '#src/domain/selling/payment.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import { defaultTiers, termsOf } from '#src/domain/selling/tier.ts'

import { NOW_MS } from './harness.ts'

export const ACTIVE_ID = 'pay_active'
export const PENDING_ID = 'pay_pending'
export const SIGNATURE = `0x${'5a'.repeat(64)}1b`

const DAY_MS = 86_400_000
const PAYER = `0x${'12'.repeat(20)}`
export const TX_HASH = `0x${'ab'.repeat(32)}`

const requirements: PaymentRequirements = {
  scheme: 'exact',
  network: 'eip155:137',
  asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  amount: '48999863',
  payTo: `0x${'11'.repeat(20)}`,
  maxTimeoutSeconds: 600,
  extra: { name: 'USD Coin', version: '2' },
}

export const fakeChallenge: PaymentRequired = {
  x402Version: 2,
  error: 'Payment required',
  resource: {
    url: 'http://127.0.0.1:3000/v1/billing/x402/settle',
    description: 'Pro for 30 days',
    mimeType: 'application/json',
    serviceName: 'Bookfeed',
  },
  accepts: [requirements],
}

export function fakeOffer(accountId: string): Offer {
  const terms = defaultTiers.find(({ tierId }) => tierId === 'pro')
  if (terms === undefined) throw new Error('There is a Pro tier.')
  return {
    id: 'quote_fake',
    accountId,
    terms,
    periodDays: 30,
    symbol: 'USDC',
    method: 'eip3009',
    requirements,
    fromBlock: 1,
    createdMs: NOW_MS,
    expiresMs: NOW_MS + 600_000,
  }
}

export const fakePeriod = (accountId: string, change: Partial<Subscription> = {}) => ({
  id: 'sub_fake',
  accountId,
  tierId: 'pro',
  startMs: NOW_MS,
  endMs: NOW_MS + 30 * DAY_MS,
  paymentId: ACTIVE_ID,
  createdMs: NOW_MS,
  ...change,
})

/** A payment of an account in a state, with its related records. */
export function fakeSettlement(
  accountId: string,
  state: PaymentState,
  change: Partial<Payment> = {},
): Settlement {
  const isPaid = state === 'provisioned'
  const offer = fakeOffer(accountId)
  const proof = isPaid ? { proof: { txHash: TX_HASH, blockNumber: 2, logIndex: 1 } } : {}
  const payment: Payment = {
    id: isPaid ? ACTIVE_ID : PENDING_ID,
    offerId: offer.id,
    accountId,
    state,
    signed: {
      network: 'eip155:137',
      method: 'eip3009',
      asset: requirements.asset.toLowerCase(),
      payer: PAYER,
      payTo: requirements.payTo,
      amount: 48_999_863n,
      validAfter: 0n,
      validBefore: BigInt(Math.floor(NOW_MS / 1000) + 600),
      nonce: `0x${'3c'.repeat(32)}`,
      nonceContract: requirements.asset.toLowerCase(),
      payloadHash: 'cd'.repeat(32),
      payload: JSON.stringify({ payload: { signature: SIGNATURE } }),
    },
    attempts: 1,
    ...proof,
    createdMs: NOW_MS,
    updatedMs: NOW_MS,
    ...change,
  }
  const { id: paymentId } = payment
  const subscription = isPaid ? fakePeriod(accountId, { paymentId }) : undefined
  return { payment, offer, subscription }
}

/** The account of a payer without a key. */
export const PAYER_ACCOUNT = 'acc_fake'

/** Responds like the real billing; `script` replaces verbs. */
export function fakeBilling(script: Partial<Billing> = {}): Billing {
  const all = ({ accountId }: Caller) => [
    fakeSettlement(accountId, 'settling', { createdMs: NOW_MS + 1 }),
    fakeSettlement(accountId, 'provisioned'),
  ]
  const statuses = [homeChain].map((chain) => ({
    chain,
    tokens: chain.tokens.map((token) => ({
      token,
      reason: token.symbol === 'USDT' ? 'Permit2 is not there.' : undefined,
    })),
  }))
  return {
    isOpen: true,
    chains: () => statuses,
    sales: () => ({ state: 'open', sinceMs: undefined, faults: [] }),
    warnings: () => [],
    quote: async ({ accountId }, { tierId, network, token }) => {
      if (tierId !== 'pro') throw new AppError('unknown_tier', 'No such tier.')
      if (network !== 'eip155:137') throw new AppError('unknown_network', 'No such chain.')
      if (token !== 'USDC') throw new AppError('unknown_token', 'No such token.')
      return { offer: fakeOffer(accountId), paymentRequired: fakeChallenge, startMs: NOW_MS }
    },
    challenge: async ({ accountId }) => ({
      kind: 'unpaid',
      quote: { offer: fakeOffer(accountId), paymentRequired: fakeChallenge, startMs: NOW_MS },
    }),
    settle: async ({ accountId }, payload) => {
      if (isVersion2(payload)) return fakeSettlement(accountId, 'provisioned')
      throw new AppError('payment_invalid', 'No payment of x402 v2.', { param: 'paymentPayload' })
    },
    demand: async () => fakeChallenge,
    settleUnquoted: async ({ requests, ...terms }) => {
      const settlement = { ...fakeSettlement(PAYER_ACCOUNT, 'provisioned'), isProved: true }
      if (requests === undefined) return settlement
      const { id, accountId } = settlement.payment
      const bought = { id, accountId, terms: termsOf(terms), requests, used: 0 }
      return { ...settlement, subscription: undefined, credit: { ...bought, createdMs: NOW_MS } }
    },
    resume: async ({ accountId }) => fakeSettlement(accountId, 'provisioned'),
    payment: async (caller, id) => {
      const found = all(caller).find(({ payment }) => payment.id === id)
      if (found) return found
      throw new AppError('unknown_payment', 'You have no such payment.', { param: 'id' })
    },
    payments: (caller, { limit, after }) => {
      const isAfter = ({ payment }: Settlement) =>
        after === undefined || payment.createdMs < after.createdMs
      return all(caller).filter(isAfter).slice(0, limit)
    },
    subscriptions: ({ accountId }) => [
      fakePeriod(accountId),
      fakePeriod(accountId, {
        id: 'sub_next',
        startMs: NOW_MS + 30 * DAY_MS,
        endMs: NOW_MS + 60 * DAY_MS,
      }),
    ],
    onSubmitted: () => undefined,
    reconcile: async () => 0,
    watch: async () => undefined,
    refresh: async () => undefined,
    ...script,
  }
}

/** Every verb used by a route throws. */
export function failingBilling(error: () => Error): Billing {
  const fail = (): never => {
    throw error()
  }
  return fakeBilling({
    chains: fail,
    quote: async () => fail(),
    challenge: fail,
    settle: async () => fail(),
    demand: async () => fail(),
    settleUnquoted: async () => fail(),
    resume: async () => fail(),
    payment: fail,
    payments: fail,
    subscriptions: fail,
  })
}

/** Every verb refuses with a code. */
export const refusingBilling = (code: ErrorCode, extras: ErrorExtras = {}): Billing =>
  failingBilling(() => new AppError(code, 'It is refused.', extras))

const isVersion2 = (payload: unknown): boolean =>
  typeof payload === 'object' &&
  payload !== null &&
  'x402Version' in payload &&
  payload.x402Version === 2 &&
  'payload' in payload
