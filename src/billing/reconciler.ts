/** Completes payments without their payers, and finds money without a payment. */
import { AppError } from '#src/domain/errors.ts'
import type { ChainView, FoundTransfer } from '#src/domain/selling/chain-view.ts'
import { isUndecided, type Offer, openStates, type Payment } from '#src/domain/selling/payment.ts'

import type { BillingOptions } from './billing.ts'
import {
  advance,
  askPayment,
  ATTEMPTS_MAX,
  findContext,
  findOfferOf,
  move,
  observe,
  RESEND_UNKNOWN_MS,
  type SettlementContext,
} from './payment-machine.ts'

/** Concurrent checks of payments; each sends two to five requests to the node. */
const LOOKS_AT_ONCE = 8
/**
 * Rejected payments per check: only their payers can make them succeed, so few are checked, and
 * rarely.
 */
const REJECTED_LOOKS = 20
const REJECTED_EVERY_MS = 60_000
/** The shortest interval of checks caused by a payer's requests, and the longest wait for one. */
const POLL_EVERY_MS = 3000
const POLL_WAIT_MS = 2000
const HEAD_AGE_MS_MAX = 10_000
/** The largest range of blocks that public nodes answer. */
const BLOCKS_PER_CALL = 1000
/** The maximum number of ranges read by a call; the next call resumes there. */
const CALLS_MAX = 20

/** Creates the reconciler, which never runs concurrently with a caller on the same payment. */
export function createReconciler(options: BillingOptions) {
  const { ledger, clock, log, chains, payTo } = options
  const { payments } = ledger
  /** Running work, by payment: of callers, and checks without them. */
  const flights = createSingleFlight()
  const looks = createSingleFlight()
  const polled = new Map<string, number>()
  let rejectedAtMs = Number.NEGATIVE_INFINITY
  let lastRejected: Payment | undefined
  /** Payments that were reported missing from their chain. */
  const warned = new Set<string>()

  async function run(payment: Payment, work: typeof observe): Promise<void> {
    const context = findContext(options, payment.signed.network, 'system')
    if (!context || flights.has(payment.id)) return
    try {
      await looks.run(payment.id, async () => {
        const current = await askPayment(context, payment.id)
        return work(context, current, findOfferOf(options, current))
      })
    } catch (error) {
      // A refusal is for callers; it recurs at every check.
      if (error instanceof AppError) return
      log(`billing: ${payment.id} stays ${payment.state}: ${String(error)}`, 'warn')
    }
  }

  /** Checks some payments now. Never rejects. */
  async function attend(some: readonly Payment[]): Promise<void> {
    const rest = some.values()
    const worker = async () => {
      for (const payment of rest) await run(payment, step)
    }
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, worker))
  }

  /** The next rejected payments in order; wraps around after the last. */
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
    // Transfers from before this server sold anything are ignored.
    if (scanned === undefined) return payments.setScannedBlock(network, head.finalNumber)
    let from = scanned + 1
    for (let call = 0; call < CALLS_MAX && from <= head.finalNumber; call++) {
      const to = Math.min(from + BLOCKS_PER_CALL - 1, head.finalNumber)
      const doneTo = await scan(network, view, from, to)
      if (doneTo >= from) await payments.setScannedBlock(network, doneTo)
      if (doneTo < to) return
      from = to + 1
    }
  }

  /**
   * Processes the transfers of a range and returns the last decided block; undecided payments that
   * fit a transfer come first.
   */
  async function scan(network: string, view: ChainView, from: number, to: number) {
    const transfers = await view.transfersTo(payTo, { from, to })
    if (transfers.length === 0) return to
    /** Undecided payments that fit the transfer; none if it has already paid one. */
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
      // The ledger refuses a transfer that is the proof of a payment.
      const isNew = await payments.addUnmatchedTransfer(
        { ...transfer, id, network, foundMs: nowMs },
        { actor: 'system', nowMs },
      )
      if (isNew) log(`billing: ${id} is money that no payment explains`, 'warn')
    }
    return doneTo
  }

  /**
   * Checks payments provisioned after a few confirmations again once they are final: a
   * reorganisation may have removed them. The operator decides about the tier.
   */
  async function recheckChain(
    network: string,
    finality: NonNullable<ChainView['finality']>,
  ): Promise<void> {
    const final = await finality.final()
    if (final === undefined) return
    // Below this block every provisioned payment was seen at finality.
    const key = `confirmed ${network}`
    // Payments that were final before the first recheck are not checked again.
    const doneTo = payments.scannedBlock(key) ?? final
    let confirmed = final
    for (const payment of payments.listPaidIn(network, { from: doneTo + 1, to: final })) {
      const { fromBlock } = findOfferOf(options, payment)
      const verdict = await finality.look(payment.signed, { fromBlock })
      if (verdict.kind === 'paid' && verdict.isFinal) continue
      if (verdict.kind === 'void') {
        await reportUndone(payment.id)
        continue
      }
      // The transaction may be mined again, or the node gave no answer, so it is checked again next
      // time.
      confirmed = Math.min(confirmed, (payment.proof?.blockNumber ?? doneTo + 1) - 1)
      if (verdict.kind !== 'open' || warned.has(payment.id)) continue
      warned.add(payment.id)
      log(
        `billing: ${payment.id} is not on the chain any more: a reorganisation has taken its payment back, which may still be mined`,
        'warn',
      )
    }
    if (confirmed > doneTo || payments.scannedBlock(key) === undefined) {
      await payments.setScannedBlock(key, confirmed)
    }
  }

  async function reportUndone(id: string): Promise<void> {
    const change = { from: ['provisioned'], to: 'review', reason: 'reorganised' } as const
    const moved = await payments.move(id, change, { actor: 'system', nowMs: clock() })
    if (moved === undefined) return
    log(
      `billing: ${id} provisioned -> review (reorganised): what it bought was given, and its money is gone`,
      'warn',
    )
  }

  return {
    /** Transfers without a payment go to the operator and are never granted. Never rejects. */
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

    /**
     * Runs a caller's work: a concurrent caller joins the first, which waits for a running check.
     */
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

    /** Checks one payment, unless a check is running or has just ended. Never rejects. */
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
  // We never sent it, but the payer can until it is void; a forged signature cannot arrive at all.
  if (state === 'rejected' && reason === 'signature_invalid') {
    return move(context, payment, { to: 'void', reason })
  }
  if (state === 'rejected') return observe(context, payment, offer)
  if (state !== 'received' && state !== 'screened') return advance(context, payment, offer)
  // The payer may have submitted it while this server was down.
  const seen = await observe(context, payment, offer)
  return seen.state === state && isDue(context, seen) ? advance(context, payment, offer) : seen
}

/**
 * True if a refused payment should be sent again: a few times by itself, afterwards only by its
 * payer.
 */
const isDue = ({ clock }: SettlementContext, { attempts, updatedMs }: Payment): boolean =>
  attempts < ATTEMPTS_MAX && updatedMs + RESEND_UNKNOWN_MS <= clock()

/**
 * Joins concurrent calls for the same payment: the first does the work, the others share its
 * outcome.
 */
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
    /** Resolves when the work has ended, even if it rejects. */
    over: async (id: string) => flights.get(id)?.catch(() => undefined),
  }
}
