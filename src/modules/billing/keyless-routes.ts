/** Packs of requests, and tiers, for whoever brings a payment and no key. */
import { AppError } from '#src/core/errors.ts'
import { jsonResponse } from '#src/http/json.ts'
import { route } from '#src/http/route.ts'
import { digestOf, hintOf, mintKey } from '#src/selling/api-key.ts'
import { isPack, type Pack, type Tier } from '#src/selling/tier.ts'

import { statusOf, toBoughtBody, toPackBody, toPending } from './bodies.ts'
import type { KeylessDeps, Seller } from './keyless.ts'
import { BoughtBody, PackList, PendingBody, productId, ResourceList } from './model.ts'
import {
  noStore,
  paymentResponse,
  POLL_SECONDS,
  retryAfter,
  SETTLE_SECONDS_MAX,
  signatureParameter,
} from './shared.ts'

type Deps = Pick<KeylessDeps, 'ledger' | 'clock' | 'randomBytes' | 'listTiers' | 'listPacks'> & {
  /** Undefined where nothing is sold without a key. */
  seller: Seller | undefined
  keysPerAccountMax: number
}

const shared = { tag: 'billing', allowance: 'billing', access: 'open' } as const
const purchase = {
  ...shared,
  method: 'POST',
  caching: 'no-store',
  keepOpenSeconds: SETTLE_SECONDS_MAX,
  id: productId,
  requestHeaders: [signatureParameter],
  ok: [
    { description: 'Paid, and the payer’s.', schema: BoughtBody, headers: paymentResponse },
    {
      status: 202,
      description: 'On its way. Send the same payment again, and sign no other.',
      schema: PendingBody,
      headers: retryAfter,
    },
  ],
  fails: [
    ...(['unknown_tier', 'tier_not_for_sale', 'payment_invalid', 'payment_required'] as const),
    ...(['payment_rejected', 'payment_conflict', 'payment_limit', 'payment_in_review'] as const),
    ...(['offer_used', 'allowance_required', 'sanctioned', 'billing_unavailable'] as const),
    ...(['screening_unavailable', 'storage_unavailable'] as const),
  ],
} as const

export const keylessRoutes = (deps: Deps) => [
  route({
    ...shared,
    path: '/v1/billing/packs',
    operationId: 'listPacks',
    summary: 'Requests to buy without a key',
    description:
      'Packs of requests, and what a single request costs (`requests` is 1); empty where the operator sells nothing without a key. What was bought stays as it was.',
    ok: { description: 'The packs.', schema: PackList },
    caching: 'no-cache',
    answer: () => (deps.seller ? deps.listPacks() : []).map(toPackBody),
  }),
  route({
    ...purchase,
    path: '/v1/billing/packs/:id',
    operationId: 'buyPack',
    summary: 'Buy a pack of requests, without a key',
    description:
      'Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the requests are those of the wallet that paid, which spends them by signing in (`SIGN-IN-WITH-X`). GET /v1/usage shows what is left.',
    answer: (call) => sell(deps, deps.listPacks().filter(isBundle), call),
  }),
  route({
    ...purchase,
    path: '/v1/billing/buy/:id',
    operationId: 'buyTier',
    summary: 'Buy a tier, and get a key for it, without one',
    description:
      'Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the account of the wallet that paid has the tier, and the first answer shows a key of it. Who loses that signs up with the same wallet (POST /v1/keys) for another.',
    answer: (call) => sell(deps, deps.listTiers(), call),
  }),
  wellKnownRoute(deps),
]

/** A single request is bought where it is made. */
const isBundle = ({ requests }: Pack): boolean => requests > 1

type Wanted = { request: Request; id: string }

async function sell(deps: Deps, products: readonly Tier[], { request, id }: Wanted) {
  const { seller } = deps
  if (seller === undefined) {
    throw new AppError(
      'billing_unavailable',
      'Nothing is sold without a key here. POST /v1/keys/challenge begins a signup.',
      { retryAction: 'ask_operator' },
    )
  }
  const product = products.find(({ tierId }) => tierId === id)
  if (product === undefined) {
    throw new AppError(
      'unknown_tier',
      'There is no such pack or tier. GET /v1/billing/packs and GET /v1/billing/tiers list them.',
      { param: 'id' },
    )
  }
  assertForSale(product)
  const settlement = await seller.sell(product, request)
  if (statusOf(settlement) !== 'active') {
    const headers = { ...noStore, 'Retry-After': String(POLL_SECONDS) }
    const body = { ...toPending(settlement), retryAction: 'retry_same_payment' }
    return jsonResponse(body, { status: 202, headers })
  }
  const key = isPack(product) ? undefined : makeKey(deps, settlement.payment)
  return jsonResponse(toBoughtBody(settlement, key), { headers: noStore })
}

function assertForSale(product: Tier): void {
  const { isForSale, amountMillionths = 0, periodDays, requests, name } = product
  if (isForSale && amountMillionths > 0 && (periodDays ?? requests) !== undefined) return
  throw new AppError('tier_not_for_sale', `${name} is not for sale here.`, { param: 'id' })
}

/** A payment gives one key, in its first answer: its id is that of the payment. */
function makeKey(deps: Deps, { id: paymentId, accountId }: { id: string; accountId: string }) {
  const { ledger, clock, randomBytes, keysPerAccountMax } = deps
  const id = paymentId.replace('pay_', 'key_')
  const nowMs = clock()
  return ledger.atomically(() => {
    if (ledger.findKey(id) !== undefined) return undefined
    if (ledger.countValidKeys(accountId, nowMs) >= keysPerAccountMax) return undefined
    const key = mintKey(randomBytes)
    const draft = { id, accountId, digest: digestOf(key), hint: hintOf(key), familyId: id }
    ledger.createKey(draft, { actor: `account:${accountId}`, nowMs })
    return key
  })
}

/** What directories of x402 look for. */
const wellKnownRoute = ({ seller, listPacks, listTiers }: Deps) =>
  route({
    path: '/.well-known/x402',
    access: 'none',
    tag: 'billing',
    operationId: 'listResources',
    summary: 'What can be bought by x402 without a key',
    description: 'Addresses that answer 402 to a request without a payment.',
    ok: { description: 'The addresses.', schema: ResourceList },
    caching: 'no-cache',
    answer: () => {
      const packs = listPacks().filter((pack) => isBundle(pack) && pack.isForSale)
      const tiers = listTiers().filter(({ isForSale }) => isForSale)
      const resources = [
        ...packs.map(({ tierId }) => `/v1/billing/packs/${tierId}`),
        ...tiers.map(({ tierId }) => `/v1/billing/buy/${tierId}`),
      ]
      return { version: 1, resources: seller ? resources : [], openapi: '/openapi.json' }
    },
  })
