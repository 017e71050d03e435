/**
 * Requests without a key. A 402 says what to sign; a payment is settled first and answered then,
 * and counts only if it was answered. Whoever has paid before may sign in instead.
 */
import type { Billing, Settlement } from '#src/billing/billing.ts'
import { AppError } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import { continueTrace } from '#src/http/common-headers.ts'
import { readCoin } from '#src/http/data-query.ts'
import { type Arrived, type Unpaid, type Visit, visitOf } from '#src/http/gate.ts'
import { readPaymentHeader, readSignInHeader, toPaymentHeader } from '#src/http/x402.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { blockedError, type Caller } from '#src/selling/caller.ts'
import { covers, type Credit } from '#src/selling/credit.ts'
import { standingAt } from '#src/selling/subscription.ts'
import { FREE_TIER_ID, type Pack, type Tier, type TierRoute } from '#src/selling/tier.ts'

import { statusOf, toSettleResponse } from './bodies.ts'
import { POLL_SECONDS, SETTLE_SECONDS_MAX } from './shared.ts'

/** Port to the wallets that sign in; `access/sign-in.ts`. */
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
  /** Takes one from the window of a caller who was found late. Throws `rate_limited`. */
  adopt: (visit: Visit, caller: Caller) => Promise<void>
}

const SIGN_IN = 'sign-in-with-x'

export type Seller = ReturnType<typeof createSeller>

/** Sells a product to whoever brings a payment for it. */
export function createSeller({ billing, randomBytes, origin, signIns }: KeylessDeps) {
  async function demand(product: Tier, request: Request): Promise<AppError> {
    const { resource, ...challenge } = await billing.demand(product)
    const { pathname, search } = new URL(request.url)
    const error = 'PAYMENT-SIGNATURE header is required'
    return new AppError(
      'payment_required',
      'This costs something without a key. Sign one of `paymentRequired.accepts`, and send the same request with it in the header `PAYMENT-SIGNATURE`; or sign in with a wallet that has paid. POST /v1/keys/challenge begins a signup for a key.',
      {
        paymentRequired: {
          ...{ ...challenge, error },
          resource: { ...resource, url: origin() + pathname + search },
          extensions: { ...challenge.extensions, [SIGN_IN]: signIns.extension() },
        },
        ...{ reason: 'payment_required', retryAction: 'sign_anew' },
      },
    )
  }

  return {
    /**
     * Settles what a request brings. Throws `payment_required` where it brings nothing, and what
     * `Billing.settleUnquoted` throws.
     */
    async sell(product: Tier, request: Request): Promise<Settlement> {
      const payload = readPaymentHeader(request)
      if (payload === undefined) throw await demand(product, request)
      const visit = visitOf(request)
      visit.keepOpen?.(SETTLE_SECONDS_MAX)
      const trace = continueTrace(request, randomBytes)
      const settlement = await billing.settleUnquoted(product, payload, {
        ...{ trace, requestId: visit.requestId },
      })
      if (statusOf(settlement) === 'active') {
        visit.receipt = toPaymentHeader(toSettleResponse(settlement))
      }
      return settlement
    },
  }
}

type Next = (arrived: Arrived) => Response | Promise<Response>
/** A request that may be answered: what pays for it, if it is not a subscription. */
type Means = { caller: Caller; credit?: Credit | undefined }

/** Requests that are paid for count once they are answered, and are reserved before. */
function createSpending(payments: Ledger['payments']) {
  const reserved = new Map<string, number>()
  const reserve = (id: string, step: 1 | -1): void => {
    const count = (reserved.get(id) ?? 0) + step
    if (count === 0) reserved.delete(id)
    else reserved.set(id, count)
  }
  /** Where the ledger does not say whether it counted, the answer is given: it was paid for. */
  function isUsed(id: string): boolean {
    try {
      return payments.useCredit(id)
    } catch (error) {
      if (error instanceof AppError && error.code === 'storage_unavailable') return true
      throw error
    }
  }
  return {
    hasLeft: ({ id, requests, used }: Credit): boolean =>
      requests - used - (reserved.get(id) ?? 0) > 0,

    /** A body that breaks off gives its request back. Throws `payment_conflict`. */
    async spend({ id }: Credit, visit: Visit, answer: () => Promise<Response>): Promise<Response> {
      reserve(id, 1)
      try {
        const response = await answer()
        if (response.status >= 400) return response
        if (!isUsed(id)) throw spentError()
        void visit.body?.ended.then(({ error }) => error !== undefined && payments.returnCredit(id))
        return response
      } finally {
        reserve(id, -1)
      }
    },
  }
}

/** Lets requests without a key pay, or sign in, before `next` answers them. */
export function createKeyless(deps: KeylessDeps, { sell }: Seller) {
  const { ledger, clock, signIns, adopt } = deps
  const { payments } = ledger
  const credits = createSpending(payments)

  function callerOf(accountId: string, credit?: Credit): Caller {
    const account = ledger.findAccount(accountId)
    const [key] = ledger.listKeys(accountId)
    if (account === undefined || key === undefined) throw new Error(`${accountId} has no key.`)
    if (account.blockedMs !== undefined) throw blockedError()
    const standing =
      credit === undefined
        ? standingAt(ledger.listSubscriptions(accountId), deps.listTiers(), clock())
        : { terms: credit.terms, subscription: undefined, untilMs: Infinity }
    return { keyId: key.id, accountId, familyId: key.familyId, isBlocked: false, standing }
  }

  /** Undefined where the wallet has nothing that pays for it. */
  function findMeans(address: string, asked: Unpaid): Means | undefined {
    const account = ledger.findAccountByAddress(address)
    if (account === undefined || ledger.listKeys(account.id).length === 0) return undefined
    const caller = callerOf(account.id)
    const { terms } = caller.standing
    if (asked.access === 'key') return { caller }
    const wanted = toWanted(asked, asked.access)
    if (terms.tierId !== FREE_TIER_ID && covers({ terms }, wanted)) return { caller }
    if (!asked.isSold) return undefined
    const credit = payments
      .listCredits(account.id)
      .find((each) => covers(each, wanted) && credits.hasLeft(each))
    return credit && { caller: callerOf(account.id, credit), credit }
  }

  async function buy(asked: Unpaid, access: TierRoute, request: Request): Promise<Means> {
    const product = findCheapest(deps.listPacks(), toWanted(asked, access))
    if (product === undefined) throw new NotSold()
    const { credit, payment } = await sell(product, request)
    if (credit === undefined) throw pendingError()
    if (!credits.hasLeft(credit)) throw spentError()
    return { caller: callerOf(payment.accountId, credit), credit }
  }

  async function findOrBuy(asked: Unpaid, request: Request): Promise<Means> {
    if (request.method !== 'GET') throw new NotSold()
    const signedIn = readSignInHeader(request)
    const means = signedIn && findMeans(await signIns.verify(signedIn), asked)
    if (means !== undefined) return means
    if (asked.access === 'key' || !asked.isSold) throw new NotSold()
    return buy(asked, asked.access, request)
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
      if (!isUnpaid || asked === undefined) throw error
      const means = await findOrBuy(asked, request).catch((fault: unknown) => {
        throw fault instanceof NotSold ? error : fault
      })
      // What an account knows of itself takes from the allowance of the address alone.
      if (asked.access === 'key') visit.caller = means.caller
      else await adopt(visit, means.caller)
      const answer = async (): Promise<Response> => next(arrived)
      return means.credit === undefined ? answer() : credits.spend(means.credit, visit, answer)
    }
  }
}

/** A single request of what is wanted. */
const findCheapest = (packs: readonly Pack[], wanted: ReturnType<typeof toWanted>) =>
  packs
    .filter((pack) => pack.requests === 1 && pack.isForSale && covers({ terms: pack }, wanted))
    .toSorted((a, b) => (a.amountMillionths ?? 0) - (b.amountMillionths ?? 0))[0]

/** What is asked for is not sold by the request: the answer is the one to a missing key. */
class NotSold extends Error {}

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
    'This payment has bought a request that was answered. Ask without it for what to sign next.',
    { reason: 'payment_used', retryAction: 'sign_anew' },
  )
