/**
 * Requests without a key. What can fail is found out before anything is asked for: a request that
 * cannot be answered is refused, and any other gets 402 with what to sign. A payment is settled
 * first and answered then. It is spent once the whole body was handed to the connection; for some
 * minutes after that it reads the same address again. A wallet that has paid before may sign in
 * instead.
 */

import { createHash } from 'node:crypto'

import type { Billing, Settlement } from '#src/billing/billing.ts'
import { isUnquoted } from '#src/billing/sealed-offer.ts'
import { AppError } from '#src/domain/errors.ts'
import { blockedError, type Caller } from '#src/domain/selling/caller.ts'
import { covers, type Credit, mayAnswer, UNDELIVERED_MS } from '#src/domain/selling/credit.ts'
import { openStates, type Payment } from '#src/domain/selling/payment.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import {
  FREE_TIER_ID,
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
import {
  PAYMENT_SIGNATURE_HEADER,
  readPaymentHeader,
  readSignInHeader,
  toPaymentHeader,
} from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { Fault } from '#src/platform/fault.ts'

/** Port to the wallets that sign in; `sign-in.ts`. */
export type SignIns = {
  extension(): object
  /** The address, in lower case. Throws `challenge_invalid`, `challenge_expired`, … */
  verify(sent: Readonly<Record<string, unknown>>): Promise<string>
}

export type KeylessDeps = {
  billing: Billing
  ledger: Ledger
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  origin: () => string
  signIns: SignIns
  listTiers: () => readonly Tier[]
  /** What is sold without a key. */
  listPacks: () => readonly Pack[]
  /** Takes one from the window of a caller that was found late. Throws `rate_limited`. */
  chargeWindow: ChargeWindow
}

const SIGN_IN = 'sign-in-with-x'

export type Seller = ReturnType<typeof createSeller>

/** Sells a product to any caller that sends a payment for it. */
export function createSeller(deps: KeylessDeps) {
  const { billing, ledger, clock, randomBytes, origin, signIns } = deps
  const queue = createQueue()
  const answered = createAnswered(clock)

  async function demand(product: Tier, request: Request): Promise<AppError> {
    const { resource, ...challenge } = await billing.demand(product)
    const { pathname, search } = new URL(request.url)
    const error = 'PAYMENT-SIGNATURE header is required'
    return new AppError(
      'payment_required',
      'Without a key, this request must be paid for. Sign one of `paymentRequired.accepts`, and repeat the request with it in the header `PAYMENT-SIGNATURE`; or sign in with a wallet that has paid. POST /v1/keys/challenge begins a signup for a key.',
      {
        paymentRequired: {
          ...challenge,
          error,
          resource: { ...resource, url: origin() + pathname + search },
          extensions: { ...challenge.extensions, [SIGN_IN]: signIns.extension() },
        },
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
    findBefore?: (payer: string, isKnown: boolean) => Promise<Settlement | undefined>,
  ): Promise<Settlement> {
    const payload = readPaymentHeader(request)
    if (payload === undefined) throw await demand(product, request)
    const visit = visitOf(request)
    visit.keepOpen?.(SETTLE_SECONDS_MAX)
    const { trace, requestId } = traceOf(request)
    let before: Settlement | undefined
    async function onAdmitted(payer: string, isKnown: boolean): Promise<void> {
      before = await findBefore?.(payer, isKnown)
      if (before !== undefined)
        throw new Fault('The wallet has paid before.', { kind: 'paid_before' })
    }
    const settlement = await billing
      .settleUnquoted(product, payload, { trace, requestId, onAdmitted })
      .catch((error: unknown) => {
        if (before !== undefined) return before
        throw error
      })
    noteReceipt(visit, settlement)
    return settlement
  }

  /** Payments of a wallet for a product that a new one would repeat. */
  function listRepeated(payer: string, product: Tier, isAnother: boolean): Payment[] {
    const account = ledger.findAccountByAddress(payer)
    if (account === undefined) return []
    const { payments } = ledger
    const sinceMs = clock() - UNDELIVERED_MS
    const of = { accountId: account.id, productId: product.tierId, sinceMs }
    return payments.listPurchases(of).filter(({ id, state, offerId }) => {
      if (state !== 'provisioned' || (!isPack(product) && !isAnother)) return true
      const offer = payments.findOffer(offerId)
      const isDelivered = payments.findPaidAnswer(id)?.deliveredMs !== undefined
      return offer !== undefined && isUnquoted(offer) && !isDelivered
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

    /**
     * As `sell`, of a tier or a pack. A wallet that has paid for it within the hour, or whose
     * payment may still be made, is answered with that payment, and the new one is not settled: if
     * the answer of that payment was not handed over; of a tier always, unless `isAnother` asks for
     * one more period.
     */
    async sellProduct(
      product: Tier,
      request: Request,
      { isAnother }: { isAnother: boolean },
    ): Promise<Settlement> {
      const header = request.headers.get(PAYMENT_SIGNATURE_HEADER) ?? ''
      let leave: (() => void) | undefined
      try {
        return await sell(product, request, async (payer, isKnown) => {
          if (isKnown) return undefined
          leave = await queue.enter(`${payer} ${product.tierId}`)
          const earlierId = answered.find(header)
          const earlier =
            earlierId === undefined ? undefined : ledger.payments.findPayment(earlierId)
          const found = listRepeated(payer, product, isAnother)
          const before = await resumeFirst(earlier ? [earlier, ...found] : found, request)
          if (before !== undefined) answered.add(header, before.payment.id)
          return before
        })
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

type Next = (arrived: Arrived) => Response | Promise<Response>
type Answer = () => Promise<Response>
/** A request that a signed-in wallet may have answered: what pays for it, if no subscription does. */
type Means = { caller: Caller; credit?: Credit | undefined }

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

/** For so long a payment is for the request alone that brought it. */
const AIMED_MS = 2 * SETTLE_SECONDS_MAX * 1000

/** Answers with the payment of a single request, which is bound to the address that it reads. */
function createSingles({ ledger: { payments }, clock }: Pick<KeylessDeps, 'ledger' | 'clock'>) {
  return {
    /** Whether the payment may be answered at the address of the request. */
    mayAnswer({ id, requests, used }: Credit, arrived: Arrived): boolean {
      const at = { address: addressOf(arrived), isUsed: used >= requests, nowMs: clock() }
      return mayAnswer(payments.findPaidAnswer(id), at)
    },

    /** Whether a signed-in wallet may read with it what the payment was not made for. */
    isFree(credit: Credit, arrived: Arrived): boolean {
      const known = payments.findPaidAnswer(credit.id)
      // The request that has paid may still be on its way to its answer.
      const isMeantElsewhere = known !== undefined && known.address !== addressOf(arrived)
      if (isMeantElsewhere && clock() - credit.createdMs < AIMED_MS) return false
      return this.mayAnswer(credit, arrived)
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

/** Lets requests without a key pay, or sign in, before `next` answers them. */
export function createKeyless(deps: KeylessDeps, { sell }: Seller) {
  const { ledger, clock, signIns, chargeWindow } = deps
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

  function callerOf(accountId: string, credit?: Credit): Caller {
    const account = ledger.findAccount(accountId)
    const [key] = ledger.listKeys(accountId)
    if (account === undefined || key === undefined) throw new Error(`${accountId} has no key.`)
    if (account.blockedMs !== undefined) throw blockedError()
    const standing =
      credit === undefined
        ? standingAt(ledger.listSubscriptions(accountId), deps.listTiers(), clock())
        : { terms: credit.terms, subscription: undefined, untilMs: Infinity }
    const familyId = account.address === undefined ? key.familyId : walletWindow(account.address)
    return { keyId: key.id, accountId, familyId, isBlocked: false, standing }
  }

  /** Undefined where the wallet has nothing that pays for it. */
  function findMeans(address: string, asked: Unpaid, arrived: Arrived): Means | undefined {
    const account = ledger.findAccountByAddress(address)
    if (account === undefined || ledger.listKeys(account.id).length === 0) return undefined
    const caller = callerOf(account.id)
    const { terms } = caller.standing
    if (asked.access === 'key') return { caller }
    const wanted = toWanted(asked, asked.access)
    if (terms.tierId !== FREE_TIER_ID && covers({ terms }, wanted)) return { caller }
    if (!asked.isSold || arrived.visit.isHead) return undefined
    const credit = payments
      .listCredits(account.id)
      .find(
        (each) =>
          covers(each, wanted) &&
          (isSingle(each) ? singles.isFree(each, arrived) : packs.hasLeft(each)),
      )
    return credit && { caller: callerOf(account.id, credit), credit }
  }

  /** What a signed-in wallet is answered; undefined where it has nothing that pays for it. */
  async function answerSignedIn(
    address: string,
    asked: Unpaid,
    arrived: Arrived,
    answer: Answer,
  ): Promise<Response | undefined> {
    const { visit } = arrived
    // What an account knows of itself takes from the allowance of the address alone.
    let isCharged = asked.access === 'key'
    for (;;) {
      const means = findMeans(address, asked, arrived)
      if (means === undefined) return undefined
      const { caller, credit } = means
      const pack = credit !== undefined && !isSingle(credit) ? credit : undefined
      if (pack !== undefined) packs.reserve(pack)
      try {
        if (!isCharged) {
          const limit = caller.standing.terms.requestsPerMinute
          await chargeWindow(visit, { key: caller.familyId, limit })
          isCharged = true
        }
        visit.caller = caller
        if (credit === undefined) return await answer()
        if (pack === undefined) return await singles.spend(credit, arrived, answer)
        const response = await packs.spend(pack, visit, answer)
        if (response !== undefined) return response
        visit.caller = undefined
      } finally {
        if (pack !== undefined) packs.release(pack)
      }
    }
  }

  /** Throws what the request fails with, before anything is asked for. */
  async function rehearse(arrived: Arrived, product: Pack, next: Next): Promise<void> {
    const { visit } = arrived
    visit.rehearsedFor = toProspect(termsOf(product))
    try {
      await next(arrived)
    } finally {
      visit.rehearsedFor = undefined
    }
  }

  async function buy(
    arrived: Arrived,
    product: Pack,
    next: Next,
    answer: Answer,
  ): Promise<Response> {
    const { request, visit } = arrived
    await rehearse(arrived, product, next)
    const at = addressOf(arrived)
    let leave: (() => void) | undefined
    try {
      visit.keepsPayment = false
      const { credit, payment } = await sell(product, request, async (payer, isKnown) => {
        visit.keepsPayment = true
        const limit = product.requestsPerMinute
        await chargeWindow(visit, { key: walletWindow(payer), limit })
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
      return await singles.spend(credit, arrived, answer)
    } finally {
      leave?.()
    }
  }

  return (arrived: Arrived, next: Next): Response | Promise<Response> => {
    const { visit, request } = arrived
    if (visit.caller ?? visit.guest) return next(arrived)
    if (request.headers.has('authorization')) return next(arrived)
    return answerUnpaid(arrived, next)
  }

  async function answerUnpaid(arrived: Arrived, next: Next): Promise<Response> {
    const { visit, request } = arrived
    try {
      return await next(arrived)
    } catch (error) {
      const { asked } = visit
      const isUnpaid = error instanceof AppError && error.code === 'unauthenticated'
      if (!isUnpaid || asked === undefined || request.method !== 'GET') throw error
      const answer = async (): Promise<Response> => next(arrived)
      const signedIn = readSignInHeader(request)
      if (signedIn !== undefined) {
        const address = await signIns.verify(signedIn)
        const answered = await answerSignedIn(address, asked, arrived, answer)
        if (answered !== undefined) return answered
      }
      // HEAD neither asks for money nor takes any.
      if (asked.access === 'key' || !asked.isSold || visit.isHead) throw error
      visit.keepsPayment = request.headers.has(PAYMENT_SIGNATURE_HEADER)
      const product = findCheapest(deps.listPacks(), toWanted(asked, asked.access))
      if (product === undefined) {
        visit.keepsPayment = false
        throw error
      }
      return buy(arrived, product, next, answer)
    }
  }
}

const isSingle = ({ requests }: Credit): boolean => requests === 1

/** Whom an answer would be for that is not paid for yet. */
const toProspect = (terms: Terms): Caller => ({
  keyId: '',
  accountId: '',
  familyId: '',
  isBlocked: false,
  standing: { terms, subscription: undefined, untilMs: Infinity },
})

/** A single request of what is wanted. */
const findCheapest = (packs: readonly Pack[], wanted: ReturnType<typeof toWanted>) =>
  packs
    .filter((pack) => pack.requests === 1 && pack.isForSale && covers({ terms: pack }, wanted))
    .toSorted((a, b) => (a.amountMillionths ?? 0) - (b.amountMillionths ?? 0))[0]

const toWanted = ({ coin }: Unpaid, route: TierRoute) =>
  coin === undefined ? { route } : { route, coin: readCoin(coin) }

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
    'This payment is spent: it paid for another URL, or for this one more than ten minutes ago. Repeat the request without it to learn what to sign.',
    { reason: 'payment_used', retryAction: 'sign_anew' },
  )
