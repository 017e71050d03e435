/** Packs of requests, and tiers, for callers that send a payment and no key. */
import { createHash } from 'node:crypto'

import { Elysia } from 'elysia'

import type { UnquotedSettlement } from '#src/billing/billing.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import type { Payment } from '#src/domain/selling/payment.ts'
import type { Pack, Tier } from '#src/domain/selling/tier.ts'
import { toBoughtBody, toPackBody, toPending, toStatus } from '#src/features/billing/bodies.ts'
import {
  BoughtBody,
  BuyQuery,
  ClaimBody,
  PackList,
  PendingBody,
  productId,
  ResourceList,
} from '#src/features/billing/schema.ts'
import {
  noStore,
  paymentResponse,
  POLL_SECONDS,
  retryAfter,
  SETTLE_SECONDS_MAX,
  signatureParameter,
} from '#src/features/billing/shared.ts'
import type { Api } from '#src/http/api.ts'
import { callOf, withEnding } from '#src/http/call.ts'
import { jsonResponse } from '#src/http/json.ts'

import { byPrice, type KeylessDeps, type Seller, unlessUnstored } from './keyless.ts'

type Deps = Pick<KeylessDeps, 'ledger' | 'clock' | 'claims' | 'listTiers' | 'listPacks'> & {
  /** Undefined if nothing is sold without a key. */
  seller: Seller | undefined
}

const shared = { allowance: 'billing', openTo: 'open' } as const
const purchase = {
  ...shared,
  caching: 'no-store',
  keepOpenSeconds: SETTLE_SECONDS_MAX,
  id: productId,
  requestHeaders: [signatureParameter],
  body: ClaimBody,
  response: { 200: BoughtBody, 202: PendingBody },
  answers: [
    { description: 'Paid and provisioned to the account of the payer.', headers: paymentResponse },
    {
      status: 202,
      description: 'Pending. Send `claim` to the same path, and do not sign another payment.',
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

/** Without a `seller`, nothing is sold without a key. */
export function keylessRoutes(api: Api, deps: Deps) {
  return [productRoutes(api, deps), wellKnownRoute(api, deps)]
}

const productRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'keyless', tags: ['billing'] })
    .use(api)
    .get('/v1/billing/packs', () => (deps.seller ? deps.listPacks() : []).map(toPackBody), {
      ...shared,
      caching: 'no-cache',
      response: { 200: PackList },
      answers: { description: 'The packs.' },
      detail: {
        operationId: 'listPacks',
        summary: 'List packs of requests',
        description:
          'Packs of requests, and the price of a single request (`requests` is 1). Empty if the operator sells nothing without a key. Later changes do not affect what was bought.',
      },
    })
    .post(
      '/v1/billing/packs/:id',
      ({ request, params: { id }, body: { claim } }) =>
        sell(deps, deps.listPacks().filter(isBundle), { request, id, claim }),
      {
        ...purchase,
        detail: {
          operationId: 'buyPack',
          summary: 'Buy a pack of requests',
          description:
            'Without a payment, the response is 402 with the challenge, as x402 clients expect. With a payment, the requests belong to the account of the wallet that paid. The response shows a key if the payment created the account, was on no chain before, and was submitted by this server; otherwise `howToGetKey` says how the owner of the wallet gets one. Within an hour of a purchase, a new signature of the same wallet is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the response is that of the first purchase. The `claim` of a 202, and the same payment with the same `payment-identifier`, get that response too. With the key of the account, the requests are added to the remaining ones. GET /v1/usage shows how many are left.',
        },
      },
    )
    .post(
      '/v1/billing/buy/:id',
      ({ request, params: { id }, query, body: { claim } }) => {
        const isAnother = query.anotherPeriod === 'true'
        return sell(deps, deps.listTiers(), { request, id, isAnother, claim })
      },
      {
        ...purchase,
        query: BuyQuery,
        detail: {
          operationId: 'buyTier',
          summary: 'Buy a tier without a key',
          description:
            'Without a payment, the response is 402 with the challenge, as x402 clients expect. With a payment, the account of the wallet that paid gets the tier. The response shows a key if the payment created the account, was on no chain before, and was submitted by this server; otherwise `howToGetKey` says how the owner of the wallet gets one. Within an hour of a purchase, a new signature of the same wallet is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the response is that of the first purchase. The `claim` of a 202, and the same payment with the same `payment-identifier`, get that response too. With the key of the account, `anotherPeriod=true` buys one more period within that hour.',
        },
      },
    )

/** Single requests are bought at the path of the data, not as a pack. */
const isBundle = ({ requests }: Pack): boolean => requests > 1

type Wish = {
  request: Request
  id: string
  isAnother?: boolean
  /** Sent in place of a payment. */
  claim: string | undefined
}

async function sell(
  deps: Deps,
  products: readonly Tier[],
  { request, id, isAnother = false, claim }: Wish,
): Promise<Response> {
  const { seller } = deps
  if (seller === undefined) {
    throw new AppError(
      'billing_unavailable',
      'This server sells nothing without a key. To sign up, begin with POST /v1/keys/challenge.',
      { retryAction: 'ask_operator' },
    )
  }
  const product = products.find(({ tierId }) => tierId === id)
  if (product === undefined) {
    throw new AppError(
      'unknown_tier',
      'The pack or tier does not exist. GET /v1/billing/packs and GET /v1/billing/tiers list them.',
      { param: 'id' },
    )
  }
  assertForSale(product)
  const accountId = callOf(request).caller?.accountId
  if (isAnother && accountId === undefined) {
    throw parameterError('anotherPeriod', '`anotherPeriod` needs the key of the account.')
  }
  const sold =
    claim === undefined
      ? await seller.sellProduct(product, request, { isAnother, accountId })
      : await seller.resumeClaim(product, claim, request)
  const { payment, isProved } = sold
  if (toStatus(sold) !== 'active') return pendingResponse(deps, sold, request)
  const key = isProved && accountId === undefined ? await deps.claims.showKey(payment) : undefined
  const isOwn = key !== undefined || accountId === payment.accountId
  const bought = jsonResponse(toBoughtBody(sold, { key, isOwn }), { headers: noStore })
  return withEnding(bought, { onSent: noteDelivery(deps, payment) })
}

/** Returns the claim only without a key: the payment alone does not prove who sends it. */
function pendingResponse({ claims }: Deps, sold: UnquotedSettlement, request: Request): Response {
  const headers = { ...noStore, 'Retry-After': String(POLL_SECONDS) }
  const { caller } = callOf(request)
  const pending: PendingBody = { ...toPending(sold), retryAction: 'retry_same_payment' }
  if (caller !== undefined) return jsonResponse(pending, { status: 202, headers })
  const { pathname } = new URL(request.url)
  const claim = sold.isProved ? { claim: claims.issue(sold.payment) } : {}
  return jsonResponse({ ...pending, pollUrl: pathname, ...claim }, { status: 202, headers })
}

function assertForSale(product: Tier): void {
  const { isForSale, amountMillionths = 0, periodDays, requests, name } = product
  if (isForSale && amountMillionths > 0 && (periodDays ?? requests) !== undefined) return
  throw new AppError('tier_not_for_sale', `${name} is not for sale here.`, { param: 'id' })
}

/**
 * Notes that the response to a purchase was sent, after which a purchase with the key is a new one.
 */
function noteDelivery({ ledger, clock }: Deps, { id }: Payment): (isWhole: boolean) => void {
  const address = createHash('sha256').update(`purchase ${id}`).digest('hex')
  return (isWhole) =>
    void unlessUnstored(async () => {
      if (isWhole) await ledger.payments.deliverPurchase(id, { address, nowMs: clock() })
      return true
    })
}

/** The document that directories of x402 look for. */
const wellKnownRoute = (api: Api, { seller, listPacks, listTiers }: Deps) =>
  new Elysia({ name: 'well-known', tags: ['billing'] }).use(api).get(
    '/.well-known/x402',
    () => {
      // Stock clients pay up to a dollar without a higher allowance, so the cheapest comes first.
      const packs = listPacks()
        .filter((pack) => isBundle(pack) && pack.isForSale)
        .toSorted(byPrice)
      const tiers = listTiers().filter(({ isForSale }) => isForSale)
      const resources = [
        ...packs.map(({ tierId }) => `/v1/billing/packs/${tierId}`),
        ...tiers.map(({ tierId }) => `/v1/billing/buy/${tierId}`),
      ]
      return { version: 1, resources: seller ? resources : [], openapi: '/openapi.json' }
    },
    {
      openTo: 'none',
      caching: 'no-cache',
      response: { 200: ResourceList },
      answers: { description: 'The addresses.' },
      detail: {
        operationId: 'listResources',
        summary: 'List products that x402 clients can buy without a key',
        description: 'Paths that respond with 402 to a request without a payment.',
      },
    },
  )
