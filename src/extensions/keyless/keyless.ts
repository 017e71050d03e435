/**
 * Requests paid one by one. A payment pays for a request without a key; a pack pays for a request with
 * the key of the pack. Errors are detected before a payment is requested: a request that cannot succeed is
 * refused, and any other gets 402 with the challenge. A payment is settled first, then the request
 * is answered. The payment is spent when the whole body was sent; for some minutes after that it
 * can read the same address again.
 */

import { createHash } from 'node:crypto'

import { Elysia } from 'elysia'

import type {
  Billing,
  Settlement,
  UnquotedOrigin,
  UnquotedSettlement,
} from '#src/billing/billing.ts'
import { isUnquoted } from '#src/billing/sealed-offer.ts'
import { AppError } from '#src/domain/errors.ts'
import { blockedError, type Caller } from '#src/domain/selling/caller.ts'
import { covers, type Credit, mayAnswer, UNDELIVERED_MS } from '#src/domain/selling/credit.ts'
import {
  isSignedAfter,
  openStates,
  type Payment,
  type SignedPayment,
} from '#src/domain/selling/payment.ts'
import { isPack, type Pack, type Terms, termsOf, type Tier } from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import { toSettleResponse, toStatus } from '#src/features/billing/bodies.ts'
import { POLL_SECONDS, SETTLE_SECONDS_MAX } from '#src/features/billing/shared.ts'
import { readBody } from '#src/http/body.ts'
import { amendCall, type Call, callOf, endingOf, keepOpen, withEnding } from '#src/http/call.ts'
import { readCoin } from '#src/http/data-query.ts'
import { continueTrace, type Promises } from '#src/http/promises.ts'
import type { ChargeWindow, UnpaidError } from '#src/http/rights.ts'
import { PAYMENT_SIGNATURE_HEADER, readPaymentHeader, toPaymentHeader } from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { Fault } from '#src/platform/fault.ts'

import type { Claims } from './claims.ts'
import { adoptCredential, toPaymentChallenge } from './payment-scheme.ts'

export type KeylessDeps = {
  billing: Billing
  ledger: Ledger
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  origin: () => string
  claims: Claims
  listTiers: () => readonly Tier[]
  /** The products that are sold without a key. */
  listPacks: () => readonly Pack[]
  /** Charges the window of a caller that was identified late. Throws `rate_limited`. */
  chargeWindow: ChargeWindow
  fetchAgain: Promises['fetchAgain']
}

const URL_LENGTH_MAX = 200

export type Seller = ReturnType<typeof createSeller>

type JustSigned = Pick<SignedPayment, 'payer' | 'validBefore'>

/** The buyer of a tier or a pack: the account of the key, if one was sent. */
type Buyer = { accountId: string | undefined; isAnother: boolean }

/** Sells a product to any caller that sends a payment for it. */
export function createSeller(deps: KeylessDeps) {
  const { billing, ledger, clock, randomBytes, origin, claims } = deps
  const queue = createQueue()
  const answered = createAnswered(clock)

  async function demand(product: Tier, request: Request, why = UNPAID): Promise<AppError> {
    const { resource, ...challenge } = await billing.demand(product)
    // Directories list the URL, and headers contain it: without the query, which may be long.
    const url = (origin() + new URL(request.url).pathname).slice(0, URL_LENGTH_MAX)
    const error = 'PAYMENT-SIGNATURE header is required'
    return new AppError(
      'payment_required',
      `${why} Sign one of \`paymentRequired.accepts\`, and repeat the request with it in the header \`PAYMENT-SIGNATURE\`.`,
      {
        paymentRequired: { ...challenge, error, resource: { ...resource, url } },
        authenticate: toPaymentChallenge(challenge, { origin: origin(), nowMs: clock() }),
        reason: 'payment_required',
        retryAction: 'sign_anew',
      },
    )
  }

  const traceOf = (request: Request) => ({
    trace: continueTrace(request, randomBytes),
    requestId: callOf(request).requestId,
  })

  /**
   * Settles the payment of a request. Throws `payment_required` without a payment, and the errors
   * of `Billing.settleUnquoted` and `findBefore`. If `findBefore` returns an earlier payment of the
   * wallet for the same product, that is the result and nothing is settled.
   */
  async function sell(
    product: Tier,
    request: Request,
    findBefore: (payer: string, isKnown: boolean) => Promise<Settlement | undefined>,
    origin: Pick<UnquotedOrigin, 'accountId' | 'repeatsSinceMs'> = {},
  ): Promise<UnquotedSettlement> {
    const payload = readPaymentHeader(request)
    if (payload === undefined) throw await demand(product, request)
    keepOpen(request, SETTLE_SECONDS_MAX)
    const { trace, requestId } = traceOf(request)
    let before: UnquotedSettlement | undefined
    async function onAdmitted(signed: JustSigned, isKnown: boolean): Promise<void> {
      const found = await findBefore(signed.payer, isKnown)
      if (found === undefined) return
      before = { ...found, isProved: isSignedAfter(signed, found.payment.signed) }
      throw new Fault('The wallet has paid before.', { kind: 'paid_before' })
    }
    const settlement = await billing
      .settleUnquoted(product, payload, { ...origin, trace, requestId, onAdmitted })
      .catch((error: unknown) => {
        if (before !== undefined) return before
        throw error
      })
    noteReceipt(request, settlement)
    return settlement
  }

  /** Payments of a wallet for a product that a new one would repeat. */
  function listRepeated(payer: string, product: Tier, { accountId, isAnother }: Buyer): Payment[] {
    const account = ledger.findAccountByAddress(payer)
    if (account === undefined) return []
    const { payments } = ledger
    const sinceMs = clock() - UNDELIVERED_MS
    const of = { accountId: account.id, productId: product.tierId, sinceMs }
    return payments.listPurchases(of).filter(({ id, state, offerId }) => {
      if (state !== 'provisioned' || accountId === undefined) return true
      if (!isPack(product) && !isAnother) return true
      const offer = payments.findOffer(offerId)
      const isDelivered = payments.findPaidAnswer(id)?.deliveredMs !== undefined
      const isUsed = (payments.findCredit(id)?.used ?? 0) > 0
      return offer !== undefined && isUnquoted(offer) && !isDelivered && !isUsed
    })
  }

  /** The first of some payments that succeeded or may still succeed. */
  async function resumeFirst(found: readonly Payment[], request: Request) {
    for (const payment of found) {
      const settlement = await billing.resume(payment, traceOf(request))
      const status = settlement && toStatus(settlement)
      if (status === 'active' || status === 'pending') return settlement
    }
    return undefined
  }

  return {
    sell,
    demand,

    /** A payment of an account for a product that may still succeed or has just succeeded. */
    async findOpen(accountId: string, product: Tier, request: Request) {
      const of = { accountId, productId: product.tierId, sinceMs: clock() }
      return resumeFirst(ledger.payments.listPurchases(of), request)
    },

    /**
     * The state of the payment of a claim. Throws `payment_conflict` for an invalid claim, and
     * `payment_required` if the payment failed.
     */
    async resumeClaim(product: Tier, claim: string, request: Request): Promise<UnquotedSettlement> {
      const payment = await claims.find(claim)
      const offer = payment && ledger.payments.findOffer(payment.offerId)
      if (payment === undefined || offer?.terms.tierId !== product.tierId) throw claimError()
      const settlement = await billing.resume(payment, traceOf(request))
      if (settlement === undefined || toStatus(settlement) === 'failed') {
        throw await demand(product, request, 'The payment of this claim was not made.')
      }
      noteReceipt(request, settlement)
      return { ...settlement, isProved: true }
    },

    /**
     * Like `sell`, for a tier or a pack. If the wallet has paid for it within the hour, or its
     * payment may still succeed, that payment is the result, and the new one is not settled. With a
     * key, which only the wallet of its account may pay with, a pack is bought again after the
     * response to that payment was sent, and a tier if `isAnother` requests one more period.
     */
    async sellProduct(product: Tier, request: Request, buyer: Buyer): Promise<UnquotedSettlement> {
      const { accountId } = buyer
      const nowMs = clock()
      const repeatsSinceMs = accountId === undefined ? nowMs - UNDELIVERED_MS : nowMs

      const header = request.headers.get(PAYMENT_SIGNATURE_HEADER) ?? ''
      let leave: (() => void) | undefined
      try {
        const findBefore = async (payer: string, isKnown: boolean) => {
          if (accountId !== undefined && ledger.findAccountByAddress(payer)?.id !== accountId) {
            throw foreignWalletError()
          }
          if (isKnown) return undefined
          leave = await queue.enter(`${payer} ${product.tierId}`)
          const earlierId = answered.find(header)
          const earlier =
            earlierId === undefined ? undefined : ledger.payments.findPayment(earlierId)
          const found = listRepeated(payer, product, buyer)
          const before = await resumeFirst(earlier ? [earlier, ...found] : found, request)
          if (before !== undefined) answered.add(header, before.payment.id)
          return before
        }
        return await sell(product, request, findBefore, { accountId, repeatsSinceMs })
      } finally {
        leave?.()
      }
    },
  }
}

/** The maximum number of remembered payments that were answered with another one. */
const ANSWERED_MAX = 10_000

/**
 * Payments that were answered with an earlier one. They are not settled later either, although
 * their clients may send them again.
 */
function createAnswered(clock: Clock) {
  const entries = new Map<string, { paymentId: string; addedMs: number }>()
  const keyOf = (header: string) => createHash('sha256').update(header).digest('base64')
  return {
    find(header: string): string | undefined {
      const entry = entries.get(keyOf(header))
      if (entry === undefined || clock() - entry.addedMs > UNDELIVERED_MS) return undefined
      return entry.paymentId
    },
    add(header: string, paymentId: string): void {
      const [oldest] = entries.keys()
      if (entries.size >= ANSWERED_MAX && oldest !== undefined) entries.delete(oldest)
      entries.set(keyOf(header), { paymentId, addedMs: clock() })
    },
  }
}

function noteReceipt(request: Request, settlement: Settlement): void {
  if (toStatus(settlement) !== 'active') return
  amendCall(request, { receipt: toPaymentHeader(toSettleResponse(settlement)) })
}

type Answer = () => Promise<Response>
/** Requests of packs are reserved first and count when they are answered. */
function createPacks(payments: Ledger['payments']) {
  const reserved = new Map<string, number>()
  const reserve = (id: string, step: 1 | -1): void => {
    const count = (reserved.get(id) ?? 0) + step
    if (count === 0) reserved.delete(id)
    else reserved.set(id, count)
  }
  return {
    hasLeft: ({ id, requests, used }: Credit): boolean =>
      requests - used - (reserved.get(id) ?? 0) > 0,

    /** Called before anything is awaited, so that no two requests take the last one. */
    reserve: ({ id }: Credit) => reserve(id, 1),
    release: ({ id }: Credit) => reserve(id, -1),

    /**
     * Counts a response; a body that breaks off returns its request. Undefined if another server
     * took the last request of the pack.
     */
    async spend({ id }: Credit, answer: Answer): Promise<Response | undefined> {
      const response = await answer()
      if (response.status >= 400) return response
      if (!(await unlessUnstored(() => payments.useCredit(id)))) return undefined
      void endingOf(response).stream?.ended.then(({ error }) =>
        unlessUnstored(async () => {
          if (error !== undefined) await payments.returnCredit(id)
          return true
        }),
      )
      return response
    },
  }
}

/** If it is unknown whether the ledger counted, the response is sent: it was paid for. */
export async function unlessUnstored(count: () => Promise<boolean>): Promise<boolean> {
  try {
    return await count()
  } catch (error) {
    if (error instanceof AppError && error.code === 'storage_unavailable') return true
    throw error
  }
}

/** Answers with the payment of a single request, which is bound to the address that it reads. */
function createSingles({ ledger: { payments }, clock }: Pick<KeylessDeps, 'ledger' | 'clock'>) {
  return {
    /** True if the payment may be answered at the address of the request. */
    mayAnswer({ id, requests, used }: Credit, request: Request): boolean {
      const at = { address: addressOf(request), isUsed: used >= requests, nowMs: clock() }
      return mayAnswer(payments.findPaidAnswer(id), at)
    },

    /** Throws `payment_conflict`. */
    async spend({ id }: Credit, request: Request, answer: Answer): Promise<Response> {
      const response = await answer()
      // A client that has left is answered when it returns.
      if (response.status >= 400 || request.signal.aborted) return response
      const at = { address: addressOf(request), nowMs: clock() }
      if (!(await unlessUnstored(() => payments.beginPaidAnswer(id, at)))) throw spentError()
      const onSent = (isWhole: boolean): void =>
        void unlessUnstored(async () => {
          if (isWhole) await payments.deliverPaidAnswer(id, clock())
          return true
        })
      return withEnding(response, { onSent })
    },
  }
}

/**
 * The address that binds a payment for a single request: the method, the path and the raw query.
 */
const addressOf = (request: Request): string =>
  createHash('sha256')
    .update(`${request.method} ${callOf(request).target.pathAndQuery}`)
    .digest('hex')

/**
 * Queues purchases of one wallet at one address: a client that stopped waiting and signs another
 * payment is answered with the first.
 */
function createQueue() {
  const ends = new Map<string, Promise<void>>()
  return {
    /** Resolves with the function that ends the turn. */
    async enter(key: string): Promise<() => void> {
      for (let end = ends.get(key); end !== undefined; end = ends.get(key)) await end
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.set(key, promise)
      return () => {
        ends.delete(key)
        resolve()
      }
    },
  }
}

/** A wallet has its own window, like a key, even before it has an account. */
const walletWindow = (address: string): string => `wallet ${address}`

/** Answers requests that pay, without a key or from a pack. */
export function createKeyless(deps: KeylessDeps, { sell, sellProduct, demand, findOpen }: Seller) {
  const { ledger, clock, chargeWindow } = deps
  const { payments } = ledger
  const packs = createPacks(payments)
  const singles = createSingles(deps)
  const queue = createQueue()

  /**
   * A payment for a single request that succeeded or is on its way, without a delivered response.
   */
  function findUndelivered(payer: string, request: Request): Settlement | undefined {
    const account = ledger.findAccountByAddress(payer)
    if (account === undefined) return undefined
    const { id: accountId } = account
    const at = { accountId, address: addressOf(request), sinceMs: clock() - UNDELIVERED_MS }
    for (const { id } of payments.listUndelivered(at)) {
      const payment = payments.findPayment(id)
      const offer = payment && payments.findOffer(payment.offerId)
      if (payment === undefined || offer === undefined) continue
      const credit = payments.findCredit(id)
      const isOpen = openStates.some((state) => state === payment.state)
      if (credit === undefined ? isOpen : singles.mayAnswer(credit, request)) {
        return { payment, offer, subscription: undefined, credit }
      }
    }
    return undefined
  }

  /** The caller of a request that is answered by its own payment. */
  function callerOf(accountId: string, { terms }: Credit): Caller {
    const account = ledger.findAccount(accountId)
    const [key] = ledger.listKeys(accountId)
    if (account === undefined || key === undefined) throw new Error(`${accountId} has no key.`)
    if (account.blockedMs !== undefined) throw blockedError()
    const standing = { terms, subscription: undefined, untilMs: Infinity }
    const familyId = account.address === undefined ? key.familyId : walletWindow(account.address)
    return { keyId: key.id, accountId, familyId, isBlocked: false, standing }
  }

  /**
   * Answers with a request of a pack of the caller; undefined if no pack with requests covers it.
   */
  async function answerFromPack(
    request: Request,
    caller: Caller,
    wanted: Wanted,
    again: Again,
  ): Promise<Response | undefined> {
    for (;;) {
      const credit = payments
        .listCredits(caller.accountId)
        .find((each) => !isSingle(each) && covers(each, wanted) && packs.hasLeft(each))
      if (credit === undefined) return undefined
      packs.reserve(credit)
      try {
        const standing = { ...caller.standing, terms: credit.terms, isMetered: false }
        const paying = { ...caller, standing }
        const response = await packs.spend(credit, () => again({ caller: paying }))
        if (response !== undefined) {
          amendCall(request, { caller: paying })
          return response
        }
      } finally {
        packs.release(credit)
      }
    }
  }

  /**
   * The pack offered to a caller whose pack is used up: the same, or another that covers the
   * request.
   */
  function findNextPack(terms: Terms, wanted: Wanted): Pack | undefined {
    const fit = deps
      .listPacks()
      .filter((pack) => pack.isForSale && !isSingle(pack) && covers({ terms: pack }, wanted))
      .toSorted(byPrice)
    return fit.find(({ tierId }) => tierId === terms.tierId) ?? fit[0]
  }

  /** A body can be read once, and results of a rehearsal are sent when they are paid for. */
  async function repeatable(request: Request): Promise<Again> {
    const body = request.method === 'GET' ? null : await readBody(request)
    const rehearsed = new Map<string, unknown>()
    return (changes) => deps.fetchAgain(request, { rehearsed, ...changes }, body)
  }

  /** The response to a request that cannot succeed, before a payment is requested. */
  async function findRefusal(again: Again, product: Pack): Promise<Response | undefined> {
    const response = await again({ rehearsedFor: toProspect(termsOf(product)) })
    return response.status < 400 ? undefined : response
  }

  async function answerMetered(
    request: Request,
    caller: Caller,
    error: UnpaidError,
  ): Promise<Response> {
    const wanted = toWanted(error)
    const again = await repeatable(request)
    const answered = await answerFromPack(request, caller, wanted, again)
    if (answered !== undefined) return answered
    const product = findNextPack(caller.standing.terms, wanted)
    if (product === undefined || callOf(request).isHead) throw error
    const refused = await findRefusal(again, product)
    if (refused !== undefined) return refused
    const { accountId, standing } = caller
    let settlement = await findOpen(accountId, product, request)
    if (settlement === undefined) {
      if (!request.headers.has(PAYMENT_SIGNATURE_HEADER)) {
        throw await demand(product, request, `The requests of ${standing.terms.name} are used up.`)
      }
      amendCall(request, { keepsPayment: false })
      settlement = await sellProduct(product, request, { isAnother: false, accountId })
      amendCall(request, { keepsPayment: true })
    }
    const bought = await answerFromPack(request, caller, wanted, again)
    if (bought !== undefined) return bought
    throw toStatus(settlement) === 'active' ? spentError() : pendingError()
  }

  async function buy(request: Request, product: Pack): Promise<Response> {
    const again = await repeatable(request)
    const refused = await findRefusal(again, product)
    if (refused !== undefined) return refused
    const at = addressOf(request)
    let leave: (() => void) | undefined
    try {
      amendCall(request, { keepsPayment: false })
      const { credit, payment } = await sell(product, request, async (payer, isKnown) => {
        amendCall(request, { keepsPayment: true })
        chargeWindow(request, { key: walletWindow(payer), limit: product.requestsPerMinute })
        leave = await queue.enter(`${payer} ${at}`)
        const before = isKnown ? undefined : findUndelivered(payer, request)
        if (before === undefined) amendCall(request, { keepsPayment: false })
        return before
      })
      await unlessUnstored(async () => {
        await payments.aimPaidAnswer(payment.id, at)
        return true
      })
      if (credit === undefined) throw pendingError()
      if (!singles.mayAnswer(credit, request)) throw spentError()
      const caller = callerOf(payment.accountId, credit)
      amendCall(request, { caller, keepsPayment: true })
      return await singles.spend(credit, request, () => again({ caller }))
    } finally {
      leave?.()
    }
  }

  async function answerKeyless(request: Request, error: UnpaidError): Promise<Response> {
    if (request.headers.has('authorization') || request.method !== 'GET') throw error
    // HEAD neither requests nor accepts a payment.
    if (callOf(request).isHead) throw error
    const product = findCheapest(deps.listPacks(), toWanted(error))
    if (product === undefined) {
      amendCall(request, { keepsPayment: false })
      throw error
    }
    return buy(request, product)
  }

  return {
    hooks: new Elysia({ name: 'payments' }).onRequest(({ request }) => {
      adoptCredential(request)
      const { caller, address } = callOf(request)
      // A caller with an address came without a key, and has paid.
      if (caller !== undefined && address === undefined) deps.claims.noteUse(caller.familyId)
    }),

    /** Answers a request that fails because nobody pays for it. Throws why it stays so. */
    answerUnpaid(request: Request, error: UnpaidError): Promise<Response> {
      const { caller } = callOf(request)
      return caller === undefined
        ? answerKeyless(request, error)
        : answerMetered(request, caller, error)
    },
  }
}

/** Answers a request again, by its route, with changes of its `Call`. */
type Again = (changes: Partial<Call>) => Promise<Response>

const isSingle = ({ requests }: { requests: number }): boolean => requests === 1

export const byPrice = (a: Pack, b: Pack): number =>
  (a.amountMillionths ?? 0) - (b.amountMillionths ?? 0)

/** The caller that an unpaid request would have. */
const toProspect = (terms: Terms): Caller => ({
  keyId: '',
  accountId: '',
  familyId: '',
  isBlocked: false,
  standing: { terms, subscription: undefined, untilMs: Infinity },
})

/** The cheapest single request that covers what is wanted. */
export const findCheapest = (packs: readonly Pack[], wanted: Wanted) =>
  packs
    .filter((pack) => isSingle(pack) && pack.isForSale && covers({ terms: pack }, wanted))
    .toSorted(byPrice)[0]

type Wanted = ReturnType<typeof toWanted>
const toWanted = ({ access, coin }: UnpaidError) =>
  coin === undefined ? { route: access } : { route: access, coin: readCoin(coin) }

const UNPAID =
  'Without a key, this request must be paid for; POST /v1/keys/challenge begins a signup for one.'

const claimError = () =>
  new AppError(
    'payment_conflict',
    'This claim belongs to no payment for this product. Send it to the address that returned it, exactly as it was returned.',
    { param: 'claim', reason: 'claim_unknown', retryAction: 'abandon' },
  )

const foreignWalletError = () =>
  new AppError(
    'payment_conflict',
    'The wallet that signed this payment is not that of the account of your key. Nothing was sent to the chain. Pay from the wallet of the account, or send the payment without a key to buy for the account of the signing wallet.',
    { reason: 'foreign_wallet', retryAction: 'sign_anew' },
  )

const pendingError = () =>
  new AppError(
    'billing_unavailable',
    'The payment is pending. Send the same request with the same payment again, and do not sign another payment.',
    {
      retryAfterSeconds: POLL_SECONDS,
      reason: 'payment_pending',
      retryAction: 'retry_same_payment',
    },
  )

const spentError = () =>
  new AppError(
    'payment_conflict',
    'This payment is spent: it paid for another URL, for this URL more than ten minutes ago, or for a pack that is used up. To get a new challenge, repeat the request without it.',
    { reason: 'payment_used', retryAction: 'sign_anew' },
  )
