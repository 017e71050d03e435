/** Buys a tier: quotes, signs once, settles, and follows the payment to its end. */
import type { components } from './api.ts'
import { BookfeedError } from './errors.ts'
import { type Requester, sleep } from './request.ts'

type Schemas = components['schemas']
export type PaymentRequired = Schemas['PaymentRequired']
export type PaymentRequirements = Schemas['PaymentRequirements']
/** The final state of a payment. */
export type Payment = Schemas['Payment'] | Schemas['PaidSettlement']

/** Any x402 v2 client (such as `x402Client` of `@x402/fetch`), or a function that signs. */
export type Payer =
  | { createPaymentPayload: (required: never) => Promise<object> }
  | ((required: PaymentRequired) => Promise<object>)

export type PayOptions = {
  tierId: string
  /** CAIP-2 name of the chain, such as `eip155:137`. */
  network: string
  /** `USDC` or `USDT`. */
  token: string
  /** Address of the signing wallet, if it differs from the account's. */
  payer?: string | undefined
  /**
   * True to buy one more period although a payment for the same tier and token is in flight, or was
   * made within the last hour. Otherwise that payment is followed, and nothing is signed.
   */
  anotherPeriod?: boolean | undefined
  /** Maximum amount in atomic units of the token (a millionth): nothing above it is signed. */
  maxAmount: bigint
  signal?: AbortSignal | undefined
}

/** A wallet that signs text (`personal_sign`), such as an account of viem or ethers. */
export type SignIn = {
  address: string
  signMessage: (text: { message: string }) => Promise<string>
}

/** Longest time for which a payment is followed: the signature has expired by then. */
const FOLLOW_MS = 20 * 60_000
const POLL_SECONDS = 10

/**
 * Buys a tier. Signs at most once: the signed payment is sent again, unchanged, until the server
 * reports its result. If a payment for the same tier and token is in flight, or was just made,
 * signs nothing and returns the result of that payment. `payment_unknown` means that a payment may
 * still arrive: check `payments()` and sign nothing. Any other failure means that nothing was paid.
 */
export async function pay(
  requester: Requester,
  payer: Payer,
  { maxAmount, signal, ...order }: PayOptions,
): Promise<Payment> {
  const post = async (path: string, body: object) =>
    (await requester.json({ path, method: 'POST', body, signal, isPlain: true })).body
  const quote = (await post('/v1/billing/x402/quote', order)) as Schemas['PaymentQuote']
  const { paymentRequired, paymentRequirements, paymentInFlight } = quote
  if (paymentInFlight !== undefined) {
    const { quoteId } = quote
    return await follow(requester, { quoteId }, signal)
  }
  const amount = BigInt(paymentRequirements.amount)
  if (amount > maxAmount)
    throw new BookfeedError('payment_failed', `The price is ${amount}, more than ${maxAmount}.`)
  const sign = typeof payer === 'function' ? payer : payer.createPaymentPayload.bind(payer)
  const paymentPayload = await sign(paymentRequired as never)
  return await follow(requester, { paymentPayload }, signal)
}

type Step = { path: string; method?: string; body?: object }

/**
 * Sends a signed payment until its result is known. Given the quote of a payment in flight, the
 * server answers as if that payment were sent again.
 */
async function follow(
  requester: Requester,
  body: { paymentPayload: object } | { quoteId: string },
  signal?: AbortSignal,
): Promise<Payment> {
  let call: Step = { path: '/v1/billing/x402/settle', method: 'POST', body }
  for (const endMs = Date.now() + FOLLOW_MS; Date.now() < endMs;) {
    const { payment, seconds } = await ask(requester, { ...call, signal })
    if (payment?.status === 'active') return payment
    // After `failed`, nothing was paid for certain; during a review that is open.
    if (payment?.status === 'failed')
      throw new BookfeedError('payment_failed', `Nothing was paid: ${JSON.stringify(payment)}`)
    if (payment?.status === 'review') break
    if (payment && 'pollUrl' in payment && payment.pollUrl) call = { path: payment.pollUrl }
    await sleep(seconds * 1000, signal).catch(unknown)
  }
  return unknown()
}

/** The state of the payment; undefined if the same request may be repeated. */
async function ask(
  requester: Requester,
  call: Step & { signal: AbortSignal | undefined },
): Promise<{ payment?: Payment; seconds: number }> {
  try {
    const { body, headers } = await requester.json({ ...call, isPlain: true })
    return { payment: body as Payment, seconds: Number(headers.get('retry-after') ?? POLL_SECONDS) }
  } catch (error) {
    if (!(error instanceof BookfeedError)) return unknown(error)
    // A quote was sent, and the payment in flight is for another order.
    if (error.code === 'payment_required') return unknown(error)
    const { retryAction = '' } = error.problem
    if (!error.isPassing && !/^(retry_same_payment|poll)$/.test(retryAction)) throw error
    return { seconds: error.retryAfterSeconds ?? POLL_SECONDS }
  }
}

function unknown(cause?: unknown): never {
  const detail = 'The signed payment may still arrive: check `payments()`, and sign no other.'
  throw new BookfeedError('payment_unknown', detail, { cause })
}

/** Signs up with a wallet; returns the key. */
export async function signUp(
  requester: Requester,
  { address, signMessage }: SignIn,
  label?: string,
): Promise<string> {
  const post = { method: 'POST' }
  const challenge = { ...post, path: '/v1/keys/challenge', body: { address } }
  const { message } = (await requester.json(challenge)).body as { message: string }
  const body = { message, signature: await signMessage({ message }), label }
  // If the response is lost, the same request returns the same key.
  const headers = { 'idempotency-key': crypto.randomUUID() }
  const { body: made } = await requester.json({ ...post, path: '/v1/keys', body, headers })
  return (made as { key: string }).key
}
