/** The shop of a server: its chains, its facilitator, and the jobs of billing. */
import { UNCHECKED } from '#src/billing/availability.ts'
import type { Billing, ChainStatus } from '#src/billing/billing.ts'
import { closedBilling, createBilling } from '#src/billing/create-billing.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { toChecksum } from '#src/chain/checksum.ts'
import type { Config } from '#src/config/config.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import {
  findChain,
  homeChain,
  type PaymentChain,
  paymentChains,
} from '#src/domain/selling/payment-chain.ts'
import type { Screen } from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import { createCdpToken } from '#src/facilitator/cdp-token.ts'
import { readGasKey } from '#src/facilitator/gas-wallet.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'
import {
  createJob,
  type JobLock,
  type JobReport,
  LOCK_RETRY_MS,
  type StartTimer,
  startTimer,
  withJobLock,
} from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'

import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'
import type { Nodes } from './nodes.ts'
import { jobLockFor } from './open-data-folder.ts'

/** `closedReason` says why nothing is sold; undefined if something may be sold. */
type Shop = { billing: Billing; closedReason: string | undefined }

/**
 * Creates the billing of a server. No node is asked before it is needed. Throws a `secret_file`
 * fault for an unusable gas key.
 */
export function createShop(
  context: CliContext,
  ledger: Ledger,
  ports: { screen: Screen; origin: () => string },
  nodes: Nodes,
) {
  const config = context.config()
  assertPayee(config)
  const missing = listMissing(config)
  const closedReason =
    missing.length === 0
      ? undefined
      : `${join(missing)} ${missing.length === 1 ? 'is' : 'are'} not set.`
  // If something was sold before, receipts remain available and open payments are still checked.
  if (closedReason !== undefined && ledger.payments.listPayments({ limit: 1 }).length === 0) {
    const billing = closedBilling(closedReason, chainsOf(config))
    return { billing, closedReason, start: () => undefined }
  }
  const log: Log = (line, ...more) => context.printError(`bookfeed: ${line}`, ...more)
  const { clock, createId } = context
  const { payTo, confirmations } = config
  const createView = (chain: PaymentChain) => {
    const rpc = nodes.list.find((node) => node.chain === chain)
    return rpc && createChainView(rpc, { payTo: payTo || undefined, confirmations, clock, log })
  }
  const relay =
    closedReason === undefined ? createRelay(config, { clock, createId }) : () => undefined
  const billing = createBilling({
    ...ports,
    ledger,
    clock,
    createId,
    log,
    listTiers: () => ledger.listTiers(),
    chains: chainsOf(config).map((chain) => {
      return { chain, view: createView(chain), facilitator: relay(chain) }
    }),
    payTo,
    sleep: (ms) => Bun.sleep(ms),
  })
  return {
    billing,
    closedReason,
    start(job?: JobReport) {
      warnOfStrangers(ledger, log)
      return startBillingJobs(billing, {
        startTimer,
        log,
        report: job && { job, clock },
        turns: {
          reconcile: jobLockFor(context, 'ledger', 'reconciliation'),
          watch: jobLockFor(context, 'ledger', 'transfers'),
        },
      })
    },
  }
}

/** The chains in the order of `BOOKFEED_RPC_URL`, which is the order of offers. */
function chainsOf({ rpcUrls }: Config): readonly PaymentChain[] {
  const chains = Object.keys(rpcUrls).flatMap((network) => findChain(network) ?? [])
  return chains.length === 0 ? [homeChain] : chains
}

/** Warns of unmatched transfers: if two servers share an address, a transfer could buy twice. */
function warnOfStrangers({ payments }: Ledger, log: Log): void {
  const unmatched = payments.listUnmatchedTransfers(false).length
  if (unmatched === 0) return
  log(
    `${count(unmatched, 'transfer')} to BOOKFEED_PAY_TO ${unmatched === 1 ? 'belongs' : 'belong'} to no payment of this server: see bookfeed payments list. If another server sells to that address, give each one its own.`,
    'warn',
  )
}

/**
 * Refuses an address at which money would be lost: the zero address, a contract of a token, or a
 * mistyped address.
 */
function assertPayee({ payTo }: Config): void {
  const contracts = paymentChains.flatMap(({ permit2, permit2Proxy, tokens }) => {
    return [permit2, permit2Proxy, ...tokens.map(({ address }) => address)]
  })
  const lost = [`0x${'0'.repeat(40)}`, ...contracts]
  if (lost.some((address) => address.toLowerCase() === payTo.toLowerCase())) {
    throw commandError(
      'BOOKFEED_PAY_TO is a contract of the chain or the zero address: payments to it are lost.',
    )
  }
  const right = payTo === payTo.toLowerCase() ? payTo : toChecksum(payTo)
  if (payTo === right) return
  throw commandError(
    `BOOKFEED_PAY_TO is ${payTo}, whose capital letters are not its EIP-55 checksum, so a character may be mistyped. If all characters are right, write the address as ${right}.`,
  )
}

function listMissing({ payTo, facilitator, rpcUrls, gasKey }: Config): string[] {
  const wanted: [name: string, isThere: boolean][] = [
    ['BOOKFEED_PAY_TO', payTo !== ''],
    ['BOOKFEED_FACILITATOR', facilitator !== ''],
    ['BOOKFEED_RPC_URL', Object.keys(rpcUrls).length > 0],
    ['BOOKFEED_GAS_KEY', facilitator !== 'local' || gasKey !== ''],
  ]
  return wanted.flatMap(([name, isThere]) => (isThere ? [] : [name]))
}

function createRelay(
  config: Config,
  tools: Pick<CliContext, 'clock' | 'createId'>,
): (chain: PaymentChain) => Facilitator {
  const { facilitator, rpcUrls, facilitatorKeyId: id, facilitatorKeySecret: secret } = config
  if ((id === '') !== (secret === '')) {
    throw commandError(
      'BOOKFEED_FACILITATOR_KEY_ID and BOOKFEED_FACILITATOR_KEY_SECRET need each other: set both, or none.',
    )
  }
  if (facilitator === 'local') {
    const gasKey = readGasKey(config.gasKey)
    return (chain) =>
      createLocalFacilitator({ chain, rpcUrl: rpcUrls[chain.network] ?? '', gasKey })
  }
  const token = id === '' ? undefined : createCdpToken({ id, secret }, tools)
  const remote = createRemoteFacilitator(facilitator, { token })
  return () => remote
}

export function describeBilling({ billing, closedReason }: Shop): string {
  if (closedReason !== undefined) return `Nothing is sold: ${closedReason}`
  return `Payments: ${billing.chains().map(describeChain).join('; ')}.`
}

function describeChain({ chain, tokens }: ChainStatus): string {
  if (tokens.every(({ reason }) => reason === UNCHECKED)) {
    return `${chain.name} is not checked yet (GET /v1/billing/x402/chains says when)`
  }
  const works = tokens.flatMap(({ token, reason }) => (reason === undefined ? [token.symbol] : []))
  const fails = tokens.flatMap(({ token, reason }) =>
    reason === undefined ? [] : [`not ${token.symbol} (${reason.replace(/\.$/, '')})`],
  )
  const accepted = works.length === 0 ? 'nothing' : join(works)
  return [`${accepted} on ${chain.name}`, ...fails].join(', ')
}

const join = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
/** The delays between checks of open payments after a submission: they grow from `min` to `max`. */
const RECONCILE_MS = { min: 2 * SECOND_MS, max: MINUTE_MS }
const GROWTH = 1.5
/** One failed check may be chance: purchases are paused only if the next one fails too. */
const RECHECK_MS = 10 * SECOND_MS

type Tools = { startTimer: StartTimer; log: Log }

/** Locks among several servers. Each server checks for itself whether it can sell. */
type BillingLocks = Partial<Record<'reconcile' | 'watch', JobLock | undefined>>

/** Starts the jobs of billing. `checked` resolves after the first check of all chains. */
export function startBillingJobs(
  billing: Pick<Billing, 'refresh' | 'sales' | 'reconcile' | 'watch' | 'onSubmitted'>,
  tools: Tools & {
    report?: { job: JobReport; clock: Clock } | undefined
    turns?: BillingLocks
  },
) {
  const { job: board, clock } = tools.report ?? {}
  const { reconcile, watch } = tools.turns ?? {}
  const { promise: checked, resolve } = Promise.withResolvers<void>()
  let delayMs = RECONCILE_MS.min
  const reconciling = repeat(async () => {
    board?.began()
    const open = await withJobLock(reconcile, billing.reconcile)
    if (open === undefined) {
      board?.ended('Another server does it now.', (clock?.() ?? 0) + delayMs)
      return delayMs
    }
    const isIdle = open === 0
    const nextMs = isIdle ? RECONCILE_MS.max : delayMs
    board?.ended(
      `${count(open, 'payment')} ${open === 1 ? 'is' : 'are'} not decided yet.`,
      (clock?.() ?? 0) + nextMs,
    )
    delayMs = isIdle ? RECONCILE_MS.min : Math.min(delayMs * GROWTH, RECONCILE_MS.max)
    return nextMs
  }, tools)
  billing.onSubmitted(() => {
    delayMs = RECONCILE_MS.min
    reconciling.hasten(delayMs)
  })
  const refreshing = repeat(async () => {
    await billing.refresh()
    resolve()
    // A failure is published within this time, and a recovery too.
    return billing.sales().state === 'failing' ? RECHECK_MS : MINUTE_MS
  }, tools)
  const watching = repeat(async () => {
    const isDone = await withJobLock(watch, () => billing.watch().then(() => true))
    return isDone ? MINUTE_MS : LOCK_RETRY_MS
  }, tools)
  return {
    checked,
    /** Stops the jobs; resolves when none uses the ledger. */
    async dispose() {
      await Promise.all([reconciling, refreshing, watching].map((job) => job.dispose()))
    },
  }
}

/** Repeats work, beginning at once. */
function repeat(work: () => Promise<number>, { startTimer, log }: Tools) {
  const job = createJob(startTimer, () =>
    // The verbs never reject. If one does all the same, payments must still be checked.
    work().catch((error: unknown) => {
      log(`Billing failed: ${messageOf(error)}.`, 'error')
      return MINUTE_MS
    }),
  )
  job.hasten(0)
  return job
}
