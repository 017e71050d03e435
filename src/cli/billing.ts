import type { Billing, ChainStatus } from '#src/billing/billing.ts'
import { closedBilling } from '#src/billing/closed-billing.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc } from '#src/chain/rpc.ts'
import type { Config } from '#src/config.ts'
import type { ChainView } from '#src/core/chain-view.ts'
import type { Facilitator } from '#src/core/facilitator.ts'
import { paymentChains } from '#src/core/payment-chain.ts'
import type { Screen } from '#src/core/screening.ts'
import type { Clock } from '#src/core/time.ts'
import { createCdpToken } from '#src/facilitator/cdp-token.ts'
import { GasKeyFault, readGasKey } from '#src/facilitator/gas-key.ts'
import { createLocalFacilitator } from '#src/facilitator/local.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'
import type { Ledger } from '#src/store/payments.ts'

import { startBillingJobs } from './billing-jobs.ts'
import { type CliContext, CliError } from './context.ts'

/** The first check of chain and facilitator is waited for so long before the greeting. */
const FIRST_CHECK_MS_MAX = 3000

export type Sale = {
  billing: Billing
  /** Why nothing is sold; undefined if something may be. */
  closedReason: string | undefined
  /** Begins to check, to look after open payments, and to look for money; undefined if nothing is sold. */
  start(): { checked: Promise<void>; dispose(): Promise<void> } | undefined
}

/** Puts the parts together; nothing is asked or loaded before it is needed. Throws `CliError` for an unusable gas key. */
export function createBillingFor(
  context: CliContext,
  ledger: Ledger,
  ports: { screen: Screen; origin: () => string },
): Sale {
  const config = context.config()
  const missing = listMissing(config)
  if (missing.length > 0) {
    const closedReason = `${join(missing)} ${missing.length === 1 ? 'is' : 'are'} not set.`
    return { billing: closedBilling(closedReason), closedReason, start: () => undefined }
  }
  const log = (line: string) => context.printError(`bookfeed: ${line}`)
  const { clock, mint } = context
  const billing = createBilling({
    ...ports,
    ledger,
    clock,
    mint,
    log,
    listTiers: () => ledger.listTiers(),
    chain: createChain(config, { clock, log }),
    facilitator: createFacilitator(config, { clock, mint }),
    payTo: config.payTo,
    sleep: (ms) => Bun.sleep(ms),
  })
  return {
    billing,
    closedReason: undefined,
    start() {
      const { checked, dispose } = startBillingJobs(billing, { startTimer, log })
      return { checked: atMost(checked, FIRST_CHECK_MS_MAX), dispose }
    },
  }
}

/** What a configuration lacks for selling, by name. */
function listMissing({ payTo, facilitator, rpcUrl, gasKey }: Config): string[] {
  const wanted: [name: string, value: string][] = [
    ['BOOKFEED_PAY_TO', payTo],
    ['BOOKFEED_FACILITATOR', facilitator],
    ['BOOKFEED_RPC_URL', rpcUrl],
    ['BOOKFEED_GAS_KEY', facilitator === 'local' ? gasKey : 'not needed'],
  ]
  return wanted.flatMap(([name, value]) => (value === '' ? [name] : []))
}

type Tools = { clock: Clock; mint: () => string }

/** The first chain of the registry is the only one with a node to ask. */
function createChain(
  { rpcUrl, payTo, confirmations }: Config,
  { clock, log }: { clock: Clock; log: (line: string) => void },
): ChainView | undefined {
  const [chain] = paymentChains
  return (
    chain &&
    createChainView(createRpc({ url: rpcUrl, log }), { chain, payTo, confirmations, clock, log })
  )
}

function createFacilitator(config: Config, tools: Tools): Facilitator {
  const { facilitator, rpcUrl, facilitatorKeyId: id, facilitatorKeySecret: secret } = config
  if (facilitator === 'local') {
    return createLocalFacilitator({ rpcUrl, gasKey: readKey(config) })
  }
  const token = id === '' ? undefined : createCdpToken({ id, secret }, tools)
  return createRemoteFacilitator(facilitator, { token })
}

function readKey({ gasKey }: Config) {
  try {
    return readGasKey(gasKey)
  } catch (cause) {
    if (cause instanceof GasKeyFault) throw new CliError(cause.message, { cause })
    throw cause
  }
}

/** One line: what can be paid with, or why nothing. */
export function describeBilling({ billing, closedReason }: Sale): string {
  if (closedReason !== undefined) return `Nothing is sold: ${closedReason}`
  return `Payments: ${billing.chains().map(describeChain).join('; ')}.`
}

function describeChain({ chain, tokens }: ChainStatus): string {
  const works = tokens.flatMap(({ token, reason }) => (reason === undefined ? [token.symbol] : []))
  const fails = tokens.flatMap(({ token, reason }) =>
    reason === undefined ? [] : [`not ${token.symbol} (${reason.replace(/\.$/, '')})`],
  )
  const accepted = works.length === 0 ? 'nothing' : join(works)
  return [`${accepted} on ${chain.name}`, ...fails].join(', ')
}

const join = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

function startTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}

async function atMost(promise: Promise<void>, ms: number): Promise<void> {
  const deadline = Promise.withResolvers<void>()
  const cancel = startTimer(deadline.resolve, ms)
  await Promise.race([promise, deadline.promise])
  cancel()
}
