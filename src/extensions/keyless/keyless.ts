/**
 * Requests that are paid for one by one: without a key by a payment, and with the key of a pack by
 * what is left of it. What can fail is found out before anything is asked for: a request that
 * cannot be answered is refused, and any other gets 402 with what to sign. A payment is settled
 * first and answered then. It is spent once the whole body was handed to the connection; for some
 * minutes after that it reads the same address again.
 */

import { createHash } from 'node:crypto'

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
import {
  isPack,
  type Pack,
  type Terms,
  termsOf,
  type Tier,
  type TierRoute,
} from '#src/domain/selling/tier.ts'
import type { Clock } from '#src/domain/time.ts'
import { toSettleResponse, toStatus } from '#src/features/billing/bodies.ts'
import { POLL_SECONDS, SETTLE_SECONDS_MAX } from '#src/features/billing/shared.ts'
import { continueTrace } from '#src/http/common-headers.ts'
import { readCoin } from '#src/http/data-query.ts'
import type { ChargeWindow } from '#src/http/gate.ts'
import { type Arrived, type Unpaid, type Visit, visitOf } from '#src/http/visit.ts'
import { PAYMENT_SIGNATURE_HEADER, readPaymentHeader, toPaymentHeader } from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { Fault } from '#src/platform/fault.ts'
import type { Handle } from '#src/server/extension.ts'

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
  /** What is sold without a key. */
  listPacks: () => readonly Pack[]
  /** Takes one from the window of a caller that was found late. Throws `rate_limited`. */
  chargeWindow: ChargeWindow
}

const URL_LENGTH_MAX = 200

export type Seller = ReturnType<typeof createSeller>

type JustSigned = Pick<SignedPayment, 'payer' | 'validBefore'>

/** Who buys a tier or a pack: the account of the key, if one was sent. */
type Buyer = { accountId: string | undefined; isAnother: boolean }

/** Sells a product to any caller that sends a payment for it. */
export function createSeller(deps: KeylessDeps) {
  const { billing, ledger, clock, randomBytes, origin, claims } = deps
  const queue = createQueue()
  const answered = createAnswered(clock)

  async function demand(product: Tier, request: Request, why = UNPAID): Promise<AppError> {
    const { resource, ...challenge } = await billing.demand(product)
    // Directories list it, and a header holds it: without the query, which may be long.
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
    requestId: visitOf(request).requestId,
  })

  /**
   * Settles what a request brings. Throws `payment_required` where it brings nothing, and what
   * `Billing.settleUnquoted` and `findBefore` throw. What `findBefore` returns is the answer: the
   * wallet has paid before for what it asks for, and nothing is settled.
   */
  async function sell(
    product: Tier,
    request: Request,
    findBefore: (payer: string, isKnown: boolean) => Promise<Settlement | undefined>,
    origin: Pick<UnquotedOrigin, 'accountId' | 'repeatsSinceMs'> = {},
  ): Promise<UnquotedSettlement> {
    const payload = readPaymentHeader(request)
    if (payload === undefined) throw await demand(product, request)
    const visit = visitOf(request)
    visit.keepOpen?.(SETTLE_SECONDS_MAX)
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
    noteReceipt(visit, settlement)
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

  /** The first of some payments that is made, or may still be. */
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

    /** A payment of an account for a product that may still be made, or was made just now. */
    async findOpen(accountId: string, product: Tier, request: Request) {
      const of = { accountId, productId: product.tierId, sinceMs: clock() }
      return resumeFirst(ledger.payments.listPurchases(of), request)
    },

    /**
     * What became of the payment of a claim. Throws `payment_conflict` for a claim that is none, and
     * `payment_required` if the payment was not made.
     */
    async resumeClaim(product: Tier, claim: string, request: Request): Promise<UnquotedSettlement> {
      const payment = claims.find(claim)
      const offer = payment && ledger.payments.findOffer(payment.offerId)
      if (payment === undefined || offer?.terms.tierId !== product.tierId) throw claimError()
      const settlement = await billing.resume(payment, traceOf(request))
      if (settlement === undefined || toStatus(settlement) === 'failed') {
        throw await demand(product, request, 'The payment of this claim was not made.')
      }
      noteReceipt(visitOf(request), settlement)
      return { ...settlement, isProved: true }
    },

    /**
     * As `sell`, of a tier or a pack. A wallet that has paid for it within the hour, or whose
     * payment may still be made, is answered with that payment, and the new one is not settled. With
     * a key, which only the wallet of its account pays with, a pack is bought again once the answer
     * of that payment was handed over, and a tier if `isAnother` asks for one more period.
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

/** So many payments are remembered that others were answered in place of. */
const ANSWERED_MAX = 10_000

/**
 * Payments that were answered with an earlier one, and so are not settled later either: their
 * clients may send them again.
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

function noteReceipt(visit: Visit, settlement: Settlement): void {
  if (toStatus(settlement) !== 'active') return
  visit.receipt = toPaymentHeader(toSettleResponse(settlement))
}

type Answer = () => Promise<Response>
/** Requests of packs count once they are answered, and are reserved before. */
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

    /** Called before anything is waited for, so that no two requests have the last one. */
    reserve: ({ id }: Credit) => reserve(id, 1),
    release: ({ id }: Credit) => reserve(id, -1),

    /**
     * Counts an answer; a body that breaks off gives its request back. Undefined where another
     * server had the last request of the pack.
     */
    async spend({ id }: Credit, visit: Visit, answer: Answer): Promise<Response | undefined> {
      const response = await answer()
      if (response.status >= 400) return response
      if (!unlessUnstored(() => payments.useCredit(id))) return undefined
      void visit.body?.ended.then(({ error }) => error !== undefined && payments.returnCredit(id))
      return response
    },
  }
}

/** Where the ledger does not say whether it counted, the answer is given: it was paid for. */
export function unlessUnstored(count: () => boolean): boolean {
  try {
    return count()
  } catch (error) {
    if (error instanceof AppError && error.code === 'storage_unavailable') return true
    throw error
  }
}

/** Answers with the payment of a single request, which is bound to the address that it reads. */
function createSingles({ ledger: { payments }, clock }: Pick<KeylessDeps, 'ledger' | 'clock'>) {
  return {
    /** Whether the payment may be answered at the address of the request. */
    mayAnswer({ id, requests, used }: Credit, arrived: Arrived): boolean {
      const at = { address: addressOf(arrived), isUsed: used >= requests, nowMs: clock() }
      return mayAnswer(payments.findPaidAnswer(id), at)
    },

    /** Throws `payment_conflict`. */
    async spend({ id }: Credit, arrived: Arrived, answer: Answer): Promise<Response> {
      const { request, visit } = arrived
      const response = await answer()
      // A client that has left is answered when it comes again.
      if (response.status >= 400 || request.signal.aborted) return response
      const at = { address: addressOf(arrived), nowMs: clock() }
      if (!unlessUnstored(() => payments.beginPaidAnswer(id, at))) throw spentError()
      visit.onSent = (isWhole) =>
        void unlessUnstored(() => {
          if (isWhole) payments.deliverPaidAnswer(id, clock())
          return true
        })
      return response
    },
  }
}

/** By what a payment for a single request is bound: the method, the path and the query as sent. */
const addressOf = ({ request: { method }, target }: Arrived): string =>
  createHash('sha256').update(`${method} ${target.pathAndQuery}`).digest('hex')

/**
 * Purchases of one wallet at one address go one after the other: a client that gave up waiting and
 * signs another payment is answered with the first.
 */
function createQueue() {
  const ends = new Map<string, Promise<void>>()
  return {
    /** Resolves with what ends the turn. */
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

/** A wallet has a window of its own, as each key has, from before it has an account. */
const walletWindow = (address: string): string => `wallet ${address}`

/** Lets requests pay, without a key or from a pack, before `next` answers them. */
export function createKeyless(deps: KeylessDeps, { sell, sellProduct, demand, findOpen }: Seller) {
  const { ledger, clock, chargeWindow } = deps
  const { payments } = ledger
  const packs = createPacks(payments)
  const singles = createSingles(deps)
  const queue = createQueue()

  /** A payment for a single request that is made or on its way, whose answer was not delivered. */
  function findUndelivered(payer: string, arrived: Arrived): Settlement | undefined {
    const account = ledger.findAccountByAddress(payer)
    if (account === undefined) return undefined
    const { id: accountId } = account
    const at = { accountId, address: addressOf(arrived), sinceMs: clock() - UNDELIVERED_MS }
    for (const { id } of payments.listUndelivered(at)) {
      const payment = payments.findPayment(id)
      const offer = payment && payments.findOffer(payment.offerId)
      if (payment === undefined || offer === undefined) continue
      const credit = payments.findCredit(id)
      const isOpen = openStates.some((state) => state === payment.state)
      if (credit === undefined ? isOpen : singles.mayAnswer(credit, arrived)) {
        return { payment, offer, subscription: undefined, credit }
      }
    }
    return undefined
  }

  /** The caller of a request that a payment for it alone answers. */
  function callerOf(accountId: string, { terms }: Credit): Caller {
    const account = ledger.findAccount(accountId)
    const [key] = ledger.listKeys(accountId)
    if (account === undefined || key === undefined) throw new Error(`${accountId} has no key.`)
    if (account.blockedMs !== undefined) throw blockedError()
    const standing = { terms, subscription: undefined, untilMs: Infinity }
    const familyId = account.address === undefined ? key.familyId : walletWindow(account.address)
    return { keyId: key.id, accountId, familyId, isBlocked: false, standing }
  }

  /** Answers with a request of a pack of the caller; undefined where none is left that covers it. */
  async function answerFromPack(
    caller: Caller,
    wanted: Wanted,
    { visit }: Arrived,
    answer: Answer,
  ): Promise<Response | undefined> {
    for (;;) {
      const credit = payments
        .listCredits(caller.accountId)
        .find((each) => !isSingle(each) && covers(each, wanted) && packs.hasLeft(each))
      if (credit === undefined) return undefined
      packs.reserve(credit)
      try {
        const standing = { ...caller.standing, terms: credit.terms, isMetered: false }
        visit.caller = { ...caller, standing }
        const response = await packs.spend(credit, visit, answer)
        if (response !== undefined) return response
        visit.caller = caller
      } finally {
        packs.release(credit)
      }
    }
  }

  /** What a caller whose pack is used up is offered: the same pack, or another that covers it. */
  function findNextPack(terms: Terms, wanted: Wanted): Pack | undefined {
    const fit = deps
      .listPacks()
      .filter((pack) => pack.isForSale && !isSingle(pack) && covers({ terms: pack }, wanted))
      .toSorted(byPrice)
    return fit.find(({ tierId }) => tierId === terms.tierId) ?? fit[0]
  }

  async function answerMetered(arrived: Arrived, caller: Caller, next: Handle): Promise<Response> {
    const { visit, request } = arrived
    const answer = async (): Promise<Response> => next(arrived)
    try {
      return await answer()
    } catch (error) {
      const { asked } = visit
      const isUnpaid = error instanceof AppError && error.code === 'payment_required'
      if (!isUnpaid || asked === undefined || asked.access === 'key') throw error
      const wanted = toWanted(asked, asked.access)
      const answered = await answerFromPack(caller, wanted, arrived, answer)
      if (answered !== undefined) return answered
      const product = findNextPack(caller.standing.terms, wanted)
      if (product === undefined || visit.isHead) throw error
      visit.keepsPayment = request.headers.has(PAYMENT_SIGNATURE_HEADER)
      await rehearse(arrived, product, next)
      const { accountId, standing } = caller
      let settlement = await findOpen(accountId, product, request)
      if (settlement === undefined) {
        if (!visit.keepsPayment) {
          throw await demand(
            product,
            request,
            `The requests of ${standing.terms.name} are used up.`,
          )
        }
        visit.keepsPayment = false
        settlement = await sellProduct(product, request, { isAnother: false, accountId })
        visit.keepsPayment = true
      }
      const bought = await answerFromPack(caller, wanted, arrived, answer)
      if (bought !== undefined) return bought
      throw toStatus(settlement) === 'active' ? spentError() : pendingError()
    }
  }

  /** Throws what the request fails with, before anything is asked for. */
  async function rehearse(arrived: Arrived, product: Pack, next: Handle): Promise<void> {
    const { visit } = arrived
    visit.rehearsedFor = toProspect(termsOf(product))
    try {
      await next(arrived)
    } finally {
      visit.rehearsedFor = undefined
    }
  }

  async function buy(arrived: Arrived, product: Pack, next: Handle): Promise<Response> {
    const { request, visit } = arrived
    await rehearse(arrived, product, next)
    const at = addressOf(arrived)
    let leave: (() => void) | undefined
    try {
      visit.keepsPayment = false
      const { credit, payment } = await sell(product, request, async (payer, isKnown) => {
        visit.keepsPayment = true
        const limit = product.requestsPerMinute
        chargeWindow(visit, { key: walletWindow(payer), limit })
        leave = await queue.enter(`${payer} ${at}`)
        const before = isKnown ? undefined : findUndelivered(payer, arrived)
        if (before === undefined) visit.keepsPayment = false
        return before
      })
      unlessUnstored(() => {
        payments.aimPaidAnswer(payment.id, at)
        return true
      })
      if (credit === undefined) throw pendingError()
      if (!singles.mayAnswer(credit, arrived)) throw spentError()
      visit.caller = callerOf(payment.accountId, credit)
      visit.keepsPayment = true
      return await singles.spend(credit, arrived, async () => next(arrived))
    } finally {
      leave?.()
    }
  }

  async function answerUnpaid(arrived: Arrived, next: Handle): Promise<Response> {
    const { visit, request } = arrived
    try {
      return await next(arrived)
    } catch (error) {
      const { asked } = visit
      const isUnpaid = error instanceof AppError && error.code === 'unauthenticated'
      if (!isUnpaid || asked === undefined || request.method !== 'GET') throw error
      // HEAD neither asks for money nor takes any.
      if (asked.access === 'key' || !asked.isSold || visit.isHead) throw error
      visit.keepsPayment = request.headers.has(PAYMENT_SIGNATURE_HEADER)
      const product = findCheapest(deps.listPacks(), toWanted(asked, asked.access))
      if (product === undefined) {
        visit.keepsPayment = false
        throw error
      }
      return buy(arrived, product, next)
    }
  }

  return (arrived: Arrived, next: Handle): Response | Promise<Response> => {
    const { visit, request } = arrived
    adoptCredential(request)
    if (visit.caller !== undefined) deps.claims.noteUse(visit.caller.familyId)
    if (visit.caller?.standing.isMetered) return answerMetered(arrived, visit.caller, next)
    if ((visit.caller ?? visit.guest) || request.headers.has('authorization')) return next(arrived)
    return answerUnpaid(arrived, next)
  }
}

const isSingle = ({ requests }: { requests: number }): boolean => requests === 1

export const byPrice = (a: Pack, b: Pack): number =>
  (a.amountMillionths ?? 0) - (b.amountMillionths ?? 0)

/** Whom an answer would be for that is not paid for yet. */
const toProspect = (terms: Terms): Caller => ({
  keyId: '',
  accountId: '',
  familyId: '',
  isBlocked: false,
  standing: { terms, subscription: undefined, untilMs: Infinity },
})

/** A single request of what is wanted. */
export const findCheapest = (packs: readonly Pack[], wanted: Wanted) =>
  packs
    .filter((pack) => isSingle(pack) && pack.isForSale && covers({ terms: pack }, wanted))
    .toSorted(byPrice)[0]

type Wanted = ReturnType<typeof toWanted>
const toWanted = ({ coin }: Unpaid, route: TierRoute) =>
  coin === undefined ? { route } : { route, coin: readCoin(coin) }

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
    'The wallet that signed this payment is not that of the account of your key. Nothing was sent. Pay from the wallet of the account, or send the payment without a key: what it buys then belongs to the wallet that signed it.',
    { reason: 'foreign_wallet', retryAction: 'sign_anew' },
  )

const pendingError = () =>
  new AppError(
    'billing_unavailable',
    'The payment is on its way, and is not final yet. Send the same request with the same payment again, and sign no other.',
    {
      retryAfterSeconds: POLL_SECONDS,
      reason: 'payment_pending',
      retryAction: 'retry_same_payment',
    },
  )

const spentError = () =>
  new AppError(
    'payment_conflict',
    'This payment is spent: it paid for another URL, for this one more than ten minutes ago, or for a pack that is used up. Repeat the request without it to learn what to sign.',
    { reason: 'payment_used', retryAction: 'sign_anew' },
  )
