/**
 * Finds money that arrived without a payment of ours, for the operator:
 * it is never granted by itself.
 */
import type { ChainView, FoundTransfer } from '#src/selling/chain-view.ts'
import type { PaymentChain } from '#src/selling/payment-chain.ts'
import { isUndecided, type Payment } from '#src/selling/payment.ts'

import type { BillingDeps } from './billing.ts'

const HEAD_AGE_MS_MAX = 10_000
/** Public nodes answer no larger ranges. */
const BLOCKS_PER_CALL = 1000
/** Ranges that one call reads; the next call resumes there. */
const CALLS_MAX = 20

type Range = { from: number; to: number }
type Attend = (payments: readonly Payment[]) => Promise<void>
type Watch = { deps: BillingDeps; attend: Attend; view: ChainView; chain: PaymentChain }

/** See `Billing.watch`. `attend` looks at payments that a transfer may be. */
export async function watch(deps: BillingDeps, attend: Attend): Promise<void> {
  const { chains, payTo, log } = deps
  for (const { chain, view } of chains) {
    if (!view || payTo === '') continue
    try {
      await watchChain({ deps, attend, view, chain })
    } catch (error) {
      log(`billing: transfers on ${chain.network} could not be read: ${String(error)}`)
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

/**
 * Notes what is unmatched in a range; returns the block up to which all is decided. A transfer that
 * a payment still open or rejected may turn out to be is decided with that payment, which is looked
 * at.
 */
async function scan({ deps, attend, view, chain }: Watch, range: Range): Promise<number> {
  const { ledger, clock, payTo } = deps
  const transfers = await view.transfersTo(payTo, range)
  if (transfers.length === 0) return range.to
  const candidatesOf = (transfer: FoundTransfer) => findCandidates(deps, chain, transfer)
  await attend(transfers.flatMap(candidatesOf))
  const undecided = transfers.filter((transfer) => candidatesOf(transfer).length > 0)
  const doneTo = Math.min(range.to, ...undecided.map(({ blockNumber }) => blockNumber - 1))
  const nowMs = clock()
  for (const transfer of transfers) {
    if (transfer.blockNumber > doneTo) continue
    const id = `transfer_${transfer.txHash.slice(2)}_${transfer.logIndex}`
    // The ledger takes none that is the proof of a payment.
    const isNew = ledger.payments.addUnmatchedTransfer(
      { ...transfer, id, network: chain.network, foundMs: nowMs },
      { actor: 'system', nowMs },
    )
    if (isNew) deps.log(`billing: ${id} is money that no payment explains`)
  }
  return doneTo
}

/** Undecided payments that the transfer fits; none if it has paid one already. */
function findCandidates(
  { ledger }: BillingDeps,
  { network }: PaymentChain,
  transfer: FoundTransfer,
): Payment[] {
  const alike = ledger.payments.listPaymentsLike({ network, ...transfer })
  if (alike.some((payment) => isProof(payment, transfer))) return []
  return alike.filter(isUndecided)
}

const isProof = ({ proof }: Payment, { txHash, logIndex }: FoundTransfer): boolean =>
  proof?.txHash === txHash && proof.logIndex === logIndex
