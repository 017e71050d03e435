/** Bodies of the billing and key routes, and the typed data that a wallet signs for a quote. */

import type {
  ActiveBody,
  ChainBody,
  PaymentBody,
  PendingBody,
  PeriodBody,
  QuoteBody,
  ReceiptBody,
  SubscriptionBody,
  TierBody,
} from '#src/features/billing/schema.ts'
import type { Challenge, KeyBody, NewKey } from '#src/features/keys/schema.ts'
import type { UsageBody } from '#src/features/usage/schema.ts'

import { request } from './api.ts'
import { createStore } from './store.ts'
import { type Payer, randomWord, signMessage } from './wallet.ts'

export type Tier = TierBody
export type Chain = ChainBody
export type Quote = QuoteBody
export type Payment = PaymentBody
export type Period = PeriodBody
export type Receipt = ReceiptBody
export type Subscription = SubscriptionBody
export type Usage = UsageBody
export type Key = KeyBody
export type MadeKey = NewKey

/** The address is the same on every supported chain. */
export const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const PERMIT2_PROXY = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'

/** A key that was just made, until the visitor confirms that it is stored. */
export const freshKeyStore = createStore<MadeKey | undefined>(undefined)

/** Signs in with a wallet; a repeated request would give the same key. */
export async function signUp(payer: Payer, label: string): Promise<MadeKey> {
  const body = { address: payer.address }
  const { message } = await request<Challenge>('/v1/keys/challenge', { method: 'POST', body })
  const signature = await signMessage(payer, message)
  return await request<MadeKey>('/v1/keys', {
    method: 'POST',
    body: { message, signature, ...(label === '' ? {} : { label }) },
    headers: { 'Idempotency-Key': crypto.randomUUID() },
  })
}

export const settle = (paymentPayload: object): Promise<ActiveBody | PendingBody> =>
  request('/v1/billing/x402/settle', { method: 'POST', body: { paymentPayload } })

/** An amount in atomic units as a decimal, exactly. */
export function formatAmount(amount: string | bigint, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return digits.slice(0, -decimals) + (fraction === '' ? '' : `.${fraction}`)
}

export type Draft = { typedData: object; payload: (signature: string) => object }

/** The authorization ends with the quote, by the clock of the server. */
const endOf = ({ expiresAt }: Quote): string => String(Math.floor(Date.parse(expiresAt) / 1000))

/** The typed data that pays a quote, and the payment made of its signature. */
export function draftPayment(quote: Quote, payer: string): Draft {
  const made =
    quote.token.transferMethod === 'permit2' ? permit(quote, payer) : transfer(quote, payer)
  return {
    typedData: made.typedData,
    payload: (signature) => ({
      x402Version: 2,
      accepted: quote.paymentRequirements,
      payload: { signature, ...made.members },
    }),
  }
}

const fields = (text: string) =>
  text.split(', ').map((field) => {
    const [type, name] = field.split(' ')
    return { name, type }
  })

const DOMAIN = 'string name, string version, uint256 chainId, address verifyingContract'

/** EIP-3009: the token itself moves the amount. */
function transfer(quote: Quote, from: string) {
  const { asset, amount, payTo } = quote.paymentRequirements
  const authorization = {
    from,
    to: payTo,
    value: amount,
    validAfter: '0',
    validBefore: endOf(quote),
    nonce: randomWord(),
  }
  const typedData = {
    domain: {
      ...quote.token.eip712Domain,
      chainId: quote.chain.chainId,
      verifyingContract: asset,
    },
    types: {
      EIP712Domain: fields(DOMAIN),
      TransferWithAuthorization: fields(
        'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
      ),
    },
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  }
  return { typedData, members: { authorization } }
}

/** Permit2: the proxy of x402 may take the amount, and give it to `payTo` alone. */
function permit(quote: Quote, from: string) {
  const { asset, amount, payTo } = quote.paymentRequirements
  const message = {
    permitted: { token: asset, amount },
    spender: PERMIT2_PROXY,
    nonce: BigInt(randomWord()).toString(),
    deadline: endOf(quote),
    witness: { to: payTo, validAfter: '0' },
  }
  const typedData = {
    domain: { name: 'Permit2', chainId: quote.chain.chainId, verifyingContract: PERMIT2 },
    types: {
      EIP712Domain: fields(DOMAIN.replace('string version, ', '')),
      PermitWitnessTransferFrom: fields(
        'TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline, Witness witness',
      ),
      TokenPermissions: fields('address token, uint256 amount'),
      Witness: fields('address to, uint256 validAfter'),
    },
    primaryType: 'PermitWitnessTransferFrom',
    message,
  }
  return { typedData, members: { permit2Authorization: { from, ...message } } }
}

/** The approval of exactly the quoted amount that Permit2 needs. */
export const approvalOf = ({ token, paymentRequirements: { amount } }: Quote) => {
  return { token: token.address, spender: PERMIT2, amount: BigInt(amount) }
}
