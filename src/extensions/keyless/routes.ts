/** Packs of requests, and tiers, for callers that send a payment and no key. */
import { createHash } from 'node:crypto'

import { Elysia } from 'elysia'

import type { Settlement } from '#src/billing/billing.ts'
import { isUnquoted } from '#src/billing/sealed-offer.ts'
import { AppError } from '#src/domain/errors.ts'
import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import type { Pack, Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import { toBoughtBody, toPackBody, toPending, toStatus } from '#src/features/billing/bodies.ts'
import {
  BoughtBody,
  BuyQuery,
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
import { jsonResponse } from '#src/http/json.ts'
import { visitOf } from '#src/http/visit.ts'
import { isValidKey } from '#src/ledger/ledger.ts'

import { byPrice, type KeylessDeps, type Seller, unlessUnstored } from './keyless.ts'

type Deps = Pick<KeylessDeps, 'ledger' | 'clock' | 'randomBytes' | 'listTiers' | 'listPacks'> & {
  /** Undefined where nothing is sold without a key. */
  seller: Seller | undefined
  keysPerAccountMax: number
  handings: ReturnType<typeof createHandings>
}

const shared = { allowance: 'billing', openTo: 'open' } as const
const purchase = {
  ...shared,
  caching: 'no-store',
  keepOpenSeconds: SETTLE_SECONDS_MAX,
  id: productId,
  requestHeaders: [signatureParameter],
  response: { 200: BoughtBody, 202: PendingBody },
  answers: [
    { description: 'Paid, and the payer’s.', headers: paymentResponse },
    {
      status: 202,
      description: 'On its way. Send the same payment again, and sign no other.',
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

/** Without a `seller` nothing is sold without a key. */
export function keylessRoutes(
  api: Api,
  { ledger, clock, randomBytes, listTiers, listPacks }: KeylessDeps,
  seller: Seller | undefined,
  keysPerAccountMax: number,
) {
  const handings = createHandings(clock)
  const deps: Deps = {
    ledger,
    clock,
    randomBytes,
    listTiers,
    listPacks,
    seller,
    keysPerAccountMax,
    handings,
  }
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
        summary: 'Requests to buy without a key',
        description:
          'Packs of requests, and what a single request costs (`requests` is 1); empty where the operator sells nothing without a key. What was bought stays as it was.',
      },
    })
    .post(
      '/v1/billing/packs/:id',
      ({ request, params: { id } }) =>
        sell(deps, deps.listPacks().filter(isBundle), { request, id, isAnother: false }),
      {
        ...purchase,
        detail: {
          operationId: 'buyPack',
          summary: 'Buy a pack of requests',
          description:
            'Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the requests are those of the account of the wallet that paid, and the first answer shows a key that spends them. With the key of the account, the requests are added to those that it has. GET /v1/usage shows what is left. While a payment of the wallet for the pack may still be made, or was made within the last hour and its answer was not handed over, another payment is not settled: the answer is that of the first.',
        },
      },
    )
    .post(
      '/v1/billing/buy/:id',
      ({ request, params: { id }, query }) =>
        sell(deps, deps.listTiers(), { request, id, isAnother: query.anotherPeriod === 'true' }),
      {
        ...purchase,
        query: BuyQuery,
        detail: {
          operationId: 'buyTier',
          summary: 'Buy a tier, and get a key for it, without one',
          description:
            'Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the account of the wallet that paid has the tier, and the first answer shows a key of it. If that answer was not handed over, the next one shows a new key in its place. Who loses a key signs up with the same wallet (POST /v1/keys) for another. While a payment of the wallet for the tier may still be made, and for an hour after it was made, another payment is not settled: the answer is that of the first. `anotherPeriod=true` buys one more period once that answer was handed over.',
        },
      },
    )

/** A single request is bought where it is made. */
const isBundle = ({ requests }: Pack): boolean => requests > 1

async function sell(
  deps: Deps,
  products: readonly Tier[],
  { request, id, isAnother }: { request: Request; id: string; isAnother: boolean },
): Promise<Response> {
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
  const accountId = visitOf(request).caller?.accountId
  const settlement = await seller.sellProduct(product, request, { isAnother, accountId })
  if (toStatus(settlement) !== 'active') {
    const headers = { ...noStore, 'Retry-After': String(POLL_SECONDS) }
    const body = { ...toPending(settlement), retryAction: 'retry_same_payment' }
    return jsonResponse(body, { status: 202, headers })
  }
  const hasKey = accountId === undefined && isUnquoted(settlement.offer)
  const hand = hasKey ? await deps.handings.enter(settlement.payment.id) : undefined
  // An answer without the key that another one is still bringing is no delivery.
  const isHeld = hasKey && hand === undefined
  try {
    const key = hand && makeKey(deps, settlement.payment)
    const response = jsonResponse(toBoughtBody(settlement, key), { headers: noStore })
    if (!isHeld) noteDelivery(deps, request, { settlement, product, end: hand })
    return response
  } catch (error) {
    hand?.()
    throw error
  }
}

function assertForSale(product: Tier): void {
  const { isForSale, amountMillionths = 0, periodDays, requests, name } = product
  if (isForSale && amountMillionths > 0 && (periodDays ?? requests) !== undefined) return
  throw new AppError('tier_not_for_sale', `${name} is not for sale here.`, { param: 'id' })
}

type Handed = { settlement: Settlement; product: Tier; end: (() => void) | undefined }

/** Notes when the answer to a purchase was handed to its connection. */
function noteDelivery(
  { ledger, clock }: Deps,
  request: Request,
  { settlement, product, end }: Handed,
): void {
  const { id } = settlement.payment
  const address = createHash('sha256').update(`purchase ${product.tierId}`).digest('hex')
  visitOf(request).onSent = (isWhole) => {
    unlessUnstored(() => {
      if (isWhole) ledger.payments.deliverPurchase(id, { address, nowMs: clock() })
      return true
    })
    end?.()
  }
}

/** An answer that has not ended by then will not be handed over. */
const HANDING_MS_MAX = 60_000
const HANDING_WAIT_MS = 100
const HANDING_WAITS_MAX = 50

/** Answers with a key that are on their way to their connections, by payment. */
function createHandings(clock: Clock) {
  const handings = new Map<string, { ended: Promise<void>; startedMs: number }>()
  const find = (id: string) => {
    const handing = handings.get(id)
    return handing && clock() - handing.startedMs < HANDING_MS_MAX ? handing : undefined
  }
  return {
    /**
     * Begins one when the one before has ended, and resolves with what ends it; undefined if the
     * one before does not end soon.
     */
    async enter(id: string): Promise<(() => void) | undefined> {
      for (let waits = 0; ; waits++) {
        const before = find(id)
        if (before === undefined) break
        if (waits === HANDING_WAITS_MAX) return undefined
        await Promise.race([before.ended, Bun.sleep(HANDING_WAIT_MS)])
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      const handing = { ended: promise, startedMs: clock() }
      handings.set(id, handing)
      return () => {
        if (handings.get(id) === handing) handings.delete(id)
        resolve()
      }
    },
  }
}

/**
 * The key of a payment, which is shown until an answer with it was handed over. The id of the first
 * key is that of the payment, and the ids of those in its place are numbered. An undelivered key
 * ends when another takes its place.
 */
function makeKey(deps: Deps, { id: paymentId, accountId }: { id: string; accountId: string }) {
  const { ledger, clock, randomBytes, keysPerAccountMax } = deps
  const firstId = paymentId.replace('pay_', 'key_')
  const nowMs = clock()
  const by = { actor: `account:${accountId}`, nowMs } as const
  return ledger.atomically(() => {
    const made = ledger.listKeys(accountId).filter(({ familyId }) => familyId === firstId)
    const latest = made.at(-1)
    if (latest !== undefined) {
      const isDelivered = ledger.payments.findPaidAnswer(paymentId)?.deliveredMs !== undefined
      const isOurs = latest.id === idOfKey(firstId, made.length - 1)
      // What was used, rotated or revoked was received.
      const isTaken = made.some(({ lastUsedMs }) => lastUsedMs !== undefined)
      if (isDelivered || !isOurs || isTaken || !isValidKey(latest, nowMs)) return undefined
      ledger.revokeKey(latest.id, by)
    }
    if (ledger.countValidKeys(accountId, nowMs) >= keysPerAccountMax) return undefined
    const id = idOfKey(firstId, made.length)
    const key = createApiKey(randomBytes)
    const draft = { id, accountId, digest: digestOf(key), hint: hintOf(key), familyId: firstId }
    ledger.createKey(draft, by)
    return key
  })
}

const idOfKey = (firstId: string, place: number): string =>
  place === 0 ? firstId : `${firstId}n${place}`

/** What directories of x402 look for. */
const wellKnownRoute = (api: Api, { seller, listPacks, listTiers }: Deps) =>
  new Elysia({ name: 'well-known', tags: ['billing'] }).use(api).get(
    '/.well-known/x402',
    () => {
      // Stock clients pay a dollar without being allowed more: what costs least comes first.
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
        summary: 'What can be bought by x402 without a key',
        description: 'Addresses that answer 402 to a request without a payment.',
      },
    },
  )
