/** What is done without payers: brings payments to their end, finds money that has none. */
import { AppError } from '#src/domain/errors.ts'
import type { ChainView, FoundTransfer } from '#src/domain/selling/chain-view.ts'
import { isUndecided, type Offer, openStates, type Payment } from '#src/domain/selling/payment.ts'

import type { BillingOptions } from './billing.ts'
import {
  advance,
  ATTEMPTS_MAX,
  findContext,
  findOfferOf,
  move,
  observe,
  reread,
  RESEND_UNKNOWN_MS,
  type SettlementContext,
} from './payment-machine.ts'

/** Payments that are looked at side by side: a look is two to five questions to the node. */
const LOOKS_AT_ONCE = 8
/** Only their payers can make rejected ones, so few of them are looked at, and seldom. */
const REJECTED_LOOKS = 20
const REJECTED_EVERY_MS = 60_000
/** How often at most a payer's question leads to a look, and how long the answer waits for it. */
const POLL_EVERY_MS = 3000
const POLL_WAIT_MS = 2000
const HEAD_AGE_MS_MAX = 10_000
/** Public nodes answer no larger ranges. */
const BLOCKS_PER_CALL = 1000
/** Ranges that one call reads; the next call resumes there. */
const CALLS_MAX = 20

/** What callers do with a payment and what is done without them never happens at a time. */
export function createReconciler(options: BillingOptions) {
  const { ledger, clock, log, chains, payTo } = options
  const { payments } = ledger
  /** What callers do with payments, and looks without them, by payment. */
  const flights = createSingleFlight()
  const looks = createSingleFlight()
  const polled = new Map<string, number>()
  let rejectedAtMs = Number.NEGATIVE_INFINITY
  let lastRejected: Payment | undefined
  /** Payments that were reported to be missing from their chain. */
  const warned = new Set<string>()

  async function run(payment: Payment, work: typeof observe): Promise<void> {
    const context = findContext(options, payment.signed.network, 'system')
    if (!context || flights.has(payment.id)) return
    try {
      await looks.run(payment.id, () => {
        const current = reread(context, payment.id)
        return work(context, current, findOfferOf(options, current))
      })
    } catch (error) {
      // A refusal is for callers; it comes again at every look.
      if (error instanceof AppError) return
      log(`billing: ${payment.id} stays ${payment.state}: ${String(error)}`, 'warn')
    }
  }

  /** Looks at some payments now. Never rejects. */
  async function attend(some: readonly Payment[]): Promise<void> {
    const rest = some.values()
    const worker = async () => {
      for (const payment of rest) await run(payment, step)
    }
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker))
  }

  /** The next ones in their order, and the first again after the last. */
  function nextRejected(): Payment[] {
    const nowMs = clock()
    if (nowMs < rejectedAtMs + REJECTED_EVERY_MS) return []
    rejectedAtMs = nowMs
    const page = { limit: REJECTED_LOOKS, after: lastRejected }
    const found = payments.listPaymentsIn(['rejected'], page)
    lastRejected = found.length < REJECTED_LOOKS ? undefined : found.at(-1)
    return found
  }

  async function watchChain(network: string, view: ChainView): Promise<void> {
    const head = await view.head(HEAD_AGE_MS_MAX)
    if (!head) return
    const scanned = payments.scannedBlock(network)
    // What was there before this server sold anything is not its concern.
    if (scanned === undefined) return payments.setScannedBlock(network, head.finalNumber)
    let from = scanned + 1
    for (let call = 0; call < CALLS_MAX && from <= head.finalNumber; call++) {
      const to = Math.min(from + BLOCKS_PER_CALL - 1, head.finalNumber)
      const doneTo = await scan(network, view, from, to)
      if (doneTo >= from) payments.setScannedBlock(network, doneTo)
      if (doneTo < to) return
      from = to + 1
    }
  }

  /** Up to which block all is decided: undecided payments that a transfer fits come first. */
  async function scan(network: string, view: ChainView, from: number, to: number) {
    const transfers = await view.transfersTo(payTo, { from, to })
    if (transfers.length === 0) return to
    /** Undecided payments that the transfer fits; none if it has paid one already. */
    const findCandidates = (transfer: FoundTransfer): Payment[] => {
      const { txHash, logIndex } = transfer
      const alike = payments.listPaymentsLike({ network, ...transfer })
      const isPaid = alike.some(
        ({ proof }) => proof?.txHash === txHash && proof.logIndex === logIndex,
      )
      return isPaid ? [] : alike.filter(isUndecided)
    }
    await attend(transfers.flatMap(findCandidates))
    const undecided = transfers.filter((transfer) => findCandidates(transfer).length > 0)
    const doneTo = Math.min(to, ...undecided.map(({ blockNumber }) => blockNumber - 1))
    const nowMs = clock()
    for (const transfer of transfers) {
      if (transfer.blockNumber > doneTo) continue
      const id = `transfer_${transfer.txHash.slice(2)}_${transfer.logIndex}`
      // The ledger takes none that is the proof of a payment.
      const isNew = payments.addUnmatchedTransfer(
        { ...transfer, id, network, foundMs: nowMs },
        { actor: 'system', nowMs },
      )
      if (isNew) log(`billing: ${id} is money that no payment explains`, 'warn')
    }
    return doneTo
  }

  /**
   * Looks again, once it is final, at what was provisioned after a few confirmations: a
   * reorganisation may have taken it back. The operator decides what becomes of the tier.
   */
  async function recheckChain(
    network: string,
    finality: NonNullable<ChainView['finality']>,
  ): Promise<void> {
    const final = await finality.final()
    if (final === undefined) return
    // Below this block every provisioned payment was seen at finality.
    const key = `confirmed ${network}`
    // What was final before anything was rechecked is not gone over again.
    const doneTo = payments.scannedBlock(key) ?? final
    let confirmed = final
    for (const payment of payments.listPaidIn(network, { from: doneTo + 1, to: final })) {
      const { fromBlock } = findOfferOf(options, payment)
      const verdict = await finality.look(payment.signed, { fromBlock })
      if (verdict.kind === 'paid' && verdict.isFinal) continue
      if (verdict.kind === 'void') {
        reportUndone(payment.id)
        continue
      }
      // It may be mined again, or the node gives no answer: looked at next time.
      confirmed = Math.min(confirmed, (payment.proof?.blockNumber ?? doneTo + 1) - 1)
      if (verdict.kind !== 'open' || warned.has(payment.id)) continue
      warned.add(payment.id)
      log(
        `billing: ${payment.id} is not on the chain any more: a reorganisation has taken its payment back, which may still be mined`,
        'warn',
      )
    }
    if (confirmed > doneTo || payments.scannedBlock(key) === undefined) {
      payments.setScannedBlock(key, confirmed)
    }
  }

  function reportUndone(id: string): void {
    const change = { from: ['provisioned'], to: 'review', reason: 'reorganised' } as const
    const moved = payments.move(id, change, { actor: 'system', nowMs: clock() })
    if (moved === undefined) return
    log(
      `billing: ${id} provisioned -> review (reorganised): what it bought was given, and its money is gone`,
      'warn',
    )
  }

  return {
    /** What no payment of ours explains is the operator's, and never granted. Never rejects. */
    async watch(): Promise<void> {
      for (const { chain, view } of chains) {
        if (!view || payTo === '') continue
        try {
          await watchChain(chain.network, view)
        } catch (error) {
          log(`billing: transfers on ${chain.network} could not be read: ${String(error)}`, 'warn')
        }
      }
      for (const { chain, view } of chains) {
        if (!view?.finality) continue
        try {
          await recheckChain(chain.network, view.finality)
        } catch (error) {
          log(`billing: ${chain.network} could not be read again: ${String(error)}`, 'warn')
        }
      }
    },

    /** What callers want: a caller meanwhile joins the first, which waits for a look under way. */
    work: (id: string, body: () => Promise<Payment>): Promise<Payment> =>
      flights.run(id, async () => {
        await looks.over(id)
        return body()
      }),

    async reconcile(): Promise<number> {
      await attend(payments.listPaymentsIn(openStates))
      await attend(nextRejected())
      return payments.listPaymentsIn(openStates).length
    },

    /** Looks for one payment, unless a look is under way or has just ended. Never rejects. */
    async poll(payment: Payment): Promise<void> {
      const nowMs = clock()
      for (const [id, atMs] of polled) {
        if (atMs > nowMs - POLL_EVERY_MS) break
        polled.delete(id)
      }
      if (!isUndecided(payment) || polled.has(payment.id)) return
      polled.set(payment.id, nowMs)
      await Promise.race([run(payment, observe), options.sleep(POLL_WAIT_MS)])
    },
  }
}

async function step(context: SettlementContext, payment: Payment, offer: Offer): Promise<Payment> {
  const { state, reason } = payment
  if (!isUndecided(payment)) return payment
  // We never sent it, but the payer can, until it is void; a forged signature cannot arrive at all.
  if (state === 'rejected' && reason === 'signature_invalid') {
    return move(context, payment, { to: 'void', reason })
  }
  if (state === 'rejected') return observe(context, payment, offer)
  if (state !== 'received' && state !== 'screened') return advance(context, payment, offer)
  // The payer may have submitted it while we were away.
  const seen = await observe(context, payment, offer)
  return seen.state === state && isDue(context, seen) ? advance(context, payment, offer) : seen
}

/** A facilitator that refuses is asked a few times more; after that the payer has to ask. */
const isDue = ({ clock }: SettlementContext, { attempts, updatedMs }: Payment): boolean =>
  attempts < ATTEMPTS_MAX && updatedMs + RESEND_UNKNOWN_MS <= clock()

/** Joins calls for the same payment: the first does the work, the others get its outcome. */
function createSingleFlight() {
  const flights = new Map<string, Promise<Payment>>()
  return {
    run(id: string, body: () => Promise<Payment>): Promise<Payment> {
      const flying = flights.get(id)
      if (flying !== undefined) return flying
      const flight = body().finally(() => flights.delete(id))
      flights.set(id, flight)
      return flight
    },
    has: (id: string): boolean => flights.has(id),
    /** Resolves once the work is over, also where it rejects. */
    over: async (id: string) => flights.get(id)?.catch(() => undefined),
  }
}
