/** What is done without payers: brings payments to their end, finds money that has none. */
import { AppError } from '#src/domain/errors.ts'
import type { ChainView, FoundTransfer } from '#src/domain/selling/chain-view.ts'
import type { PaymentChain } from '#src/domain/selling/payment-chain.ts'
import { isUndecided, openStates, type Payment } from '#src/domain/selling/payment.ts'

import type { BillingDeps } from './billing.ts'
import {
  advance,
  ATTEMPTS_MAX,
  type Case,
  caseOf,
  type Flow,
  flowOn,
  move,
  observe,
  reread,
  RESEND_UNKNOWN_MS,
} from './payment-machine.ts'

/** Payments that are looked at side by side: a look is two to five questions to the node. */
const LOOKS_AT_ONCE = 8
/** Rejected ones can be paid by their payers alone, so few of them are looked at, and seldom. */
const REJECTED_LOOKS = 20
const REJECTED_EVERY_MS = 60_000
/** How often at most a payer who asks gets a look, and how long the answer waits for it. */
const POLL_EVERY_MS = 3000
const POLL_WAIT_MS = 2000

type Attend = (payments: readonly Payment[]) => Promise<void>

/** What callers do with a payment and what is done without them never happens at a time. */
export function createReconciler(deps: BillingDeps) {
  const { ledger, clock, log } = deps
  const flights = createSingleFlight()
  const looks = createSingleFlight()
  const polled = new Map<string, number>()
  let rejectedAtMs = Number.NEGATIVE_INFINITY
  let lastRejected: Payment | undefined

  async function run(payment: Payment, work: typeof observe): Promise<void> {
    const flow = flowOn(deps, payment.signed.network, 'system')
    if (!flow || flights.has(payment.id)) return
    try {
      await looks.run(payment.id, () => work(flow, caseOf(deps, reread(flow, payment.id))))
    } catch (error) {
      // A refusal is for callers; it comes again at every look.
      if (error instanceof AppError) return
      log(`billing: ${payment.id} stays ${payment.state}: ${String(error)}`, 'warn')
    }
  }

  /** Looks at some payments now. Never rejects. */
  const attend: Attend = async (payments) => {
    const rest = payments.values()
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
    const found = ledger.payments.listPaymentsIn(['rejected'], page)
    lastRejected = found.length < REJECTED_LOOKS ? undefined : found.at(-1)
    return found
  }

  const warned = new Set<string>()

  return {
    async watch(): Promise<void> {
      await watch(deps, attend)
      await recheck(deps, warned)
    },

    /** What callers want: who comes meanwhile joins the first, who waits for a look under way. */
    work: (id: string, body: () => Promise<Payment>): Promise<Payment> =>
      flights.run(id, async () => {
        await looks.over(id)
        return body()
      }),

    async reconcile(): Promise<number> {
      await attend(ledger.payments.listPaymentsIn(openStates))
      await attend(nextRejected())
      return ledger.payments.listPaymentsIn(openStates).length
    },

    /** Looks for one payment, if nobody does and nobody has just done so. Never rejects. */
    async poll(payment: Payment): Promise<void> {
      const nowMs = clock()
      for (const [id, atMs] of polled) {
        if (atMs > nowMs - POLL_EVERY_MS) break
        polled.delete(id)
      }
      if (!isUndecided(payment) || polled.has(payment.id)) return
      polled.set(payment.id, nowMs)
      await Promise.race([run(payment, observe), deps.sleep(POLL_WAIT_MS)])
    },
  }
}

async function step(flow: Flow, it: Case): Promise<Payment> {
  const { payment } = it
  const { state, reason } = payment
  if (!isUndecided(payment)) return payment
  // We never sent it, but the payer can, until it is void; a forged signature cannot arrive at all.
  if (state === 'rejected' && reason === 'signature_invalid') {
    return move(flow, payment, { to: 'void', reason })
  }
  if (state === 'rejected') return observe(flow, it)
  if (state !== 'received' && state !== 'screened') return advance(flow, it)
  // The payer may have submitted it while we were away.
  const seen = await observe(flow, it)
  return seen.state === state && isDue(flow, seen) ? advance(flow, it) : seen
}

/** A facilitator that refuses is asked a few times more; after that the payer has to ask. */
const isDue = ({ deps }: Flow, { attempts, updatedMs }: Payment): boolean =>
  attempts < ATTEMPTS_MAX && updatedMs + RESEND_UNKNOWN_MS <= deps.clock()

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
    /** Resolves once nobody does it, also where the work rejects. */
    over: async (id: string) => flights.get(id)?.catch(() => undefined),
  }
}

const HEAD_AGE_MS_MAX = 10_000
/** Public nodes answer no larger ranges. */
const BLOCKS_PER_CALL = 1000
/** Ranges that one call reads; the next call resumes there. */
const CALLS_MAX = 20

type Range = { from: number; to: number }
type Watch = { deps: BillingDeps; attend: Attend; view: ChainView; chain: PaymentChain }

/** What no payment of ours explains is the operator's, and never granted. Never rejects. */
async function watch(deps: BillingDeps, attend: Attend): Promise<void> {
  const { chains, payTo, log } = deps
  for (const { chain, view } of chains) {
    if (!view || payTo === '') continue
    try {
      await watchChain({ deps, attend, view, chain })
    } catch (error) {
      log(`billing: transfers on ${chain.network} could not be read: ${String(error)}`, 'warn')
    }
  }
}

async function watchChain(watched: Watch): Promise<void> {
  const { view, chain } = watched
  const { payments } = watched.deps.ledger
  const head = await view.head(HEAD_AGE_MS_MAX)
  if (!head) return
  const scanned = payments.scannedBlock(chain.network)
  // What was there before this server sold anything is not its concern.
  if (scanned === undefined) return payments.setScannedBlock(chain.network, head.finalNumber)
  let from = scanned + 1
  for (let call = 0; call < CALLS_MAX && from <= head.finalNumber; call++) {
    const to = Math.min(from + BLOCKS_PER_CALL - 1, head.finalNumber)
    const doneTo = await scan(watched, { from, to })
    if (doneTo >= from) payments.setScannedBlock(chain.network, doneTo)
    if (doneTo < to) return
    from = to + 1
  }
}

/** Up to which block all is decided: undecided payments that a transfer fits come first. */
async function scan({ deps, attend, view, chain }: Watch, range: Range): Promise<number> {
  const { ledger, clock, payTo, log } = deps
  const { network } = chain
  const transfers = await view.transfersTo(payTo, range)
  if (transfers.length === 0) return range.to
  /** Undecided payments that the transfer fits; none if it has paid one already. */
  const candidatesOf = (transfer: FoundTransfer): Payment[] => {
    const { txHash, logIndex } = transfer
    const alike = ledger.payments.listPaymentsLike({ network, ...transfer })
    const isPaid = alike.some(
      ({ proof }) => proof?.txHash === txHash && proof.logIndex === logIndex,
    )
    return isPaid ? [] : alike.filter(isUndecided)
  }
  await attend(transfers.flatMap(candidatesOf))
  const undecided = transfers.filter((transfer) => candidatesOf(transfer).length > 0)
  const doneTo = Math.min(range.to, ...undecided.map(({ blockNumber }) => blockNumber - 1))
  const nowMs = clock()
  for (const transfer of transfers) {
    if (transfer.blockNumber > doneTo) continue
    const id = `transfer_${transfer.txHash.slice(2)}_${transfer.logIndex}`
    // The ledger takes none that is the proof of a payment.
    const isNew = ledger.payments.addUnmatchedTransfer(
      { ...transfer, id, network, foundMs: nowMs },
      { actor: 'system', nowMs },
    )
    if (isNew) log(`billing: ${id} is money that no payment explains`, 'warn')
  }
  return doneTo
}

/** Below it every provisioned payment was seen at finality. */
const confirmedKey = (network: string): string => `confirmed ${network}`

/**
 * Looks again, once it is final, at what was provisioned after a few confirmations: a reorganisation
 * may have taken it back. The operator decides what becomes of the tier. Never rejects.
 */
async function recheck(deps: BillingDeps, warned: Set<string>): Promise<void> {
  for (const { chain, view } of deps.chains) {
    if (!view?.finality) continue
    try {
      await recheckChain({ deps, warned, chain, finality: view.finality })
    } catch (error) {
      deps.log(`billing: ${chain.network} could not be read again: ${String(error)}`, 'warn')
    }
  }
}

type Recheck = {
  deps: BillingDeps
  /** Payments that were told to be missing. */
  warned: Set<string>
  chain: PaymentChain
  finality: NonNullable<ChainView['finality']>
}

async function recheckChain({ deps, warned, chain, finality }: Recheck): Promise<void> {
  const { payments } = deps.ledger
  const { network } = chain
  const final = await finality.final()
  if (final === undefined) return
  const key = confirmedKey(network)
  // What was final before anything was rechecked is not gone over again.
  const doneTo = payments.scannedBlock(key) ?? final
  let confirmed = final
  for (const payment of payments.listPaidIn(network, { from: doneTo + 1, to: final })) {
    const { offer } = caseOf(deps, payment)
    const verdict = await finality.look(payment.signed, { fromBlock: offer.fromBlock })
    if (verdict.kind === 'paid' && verdict.isFinal) continue
    if (verdict.kind === 'void') {
      reportUndone(deps, payment)
      continue
    }
    // It may be mined again, or the node gives no answer: looked at next time.
    confirmed = Math.min(confirmed, (payment.proof?.blockNumber ?? doneTo + 1) - 1)
    if (verdict.kind !== 'open' || warned.has(payment.id)) continue
    warned.add(payment.id)
    deps.log(
      `billing: ${payment.id} is not on the chain any more: a reorganisation has taken its payment back, which may still be mined`,
      'warn',
    )
  }
  if (confirmed > doneTo || payments.scannedBlock(key) === undefined) {
    payments.setScannedBlock(key, confirmed)
  }
}

function reportUndone(deps: BillingDeps, { id }: Payment): void {
  const change = { from: ['provisioned'], to: 'review', reason: 'reorganised' } as const
  const moved = deps.ledger.payments.move(id, change, { actor: 'system', nowMs: deps.clock() })
  if (moved === undefined) return
  deps.log(
    `billing: ${id} provisioned -> review (reorganised): what it bought was given, and its money is gone`,
    'warn',
  )
}
