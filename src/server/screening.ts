/** The screening of wallets, and the state of the signup that depends on it. */
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { createWallets } from '#src/chain/wallets.ts'
import type { Config } from '#src/config/config.ts'
import { sha256 } from '#src/domain/manifest.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { every, startTimer } from '#src/platform/job.ts'
import type { Log } from '#src/platform/log.ts'
import { isLoopbackAddress } from '#src/platform/network.ts'
import { startScreening } from '#src/screening/schedule.ts'
import { createScreener } from '#src/screening/screener.ts'

import type { CliContext } from './extension.ts'
import type { Nodes } from './nodes.ts'
import { jobLockFor } from './open-data-folder.ts'

const CHECK_MS = 60_000

/** Creates the screener and the wallets of a server. No node is asked before it is needed. */
export function createScreening(context: CliContext, ledger: Ledger, nodes: Nodes) {
  const { clock } = context
  const { rpcUrls, sanctionsList, sanctionsDaysMax } = context.config()
  const log: Log = (line, level) => context.printError(`bookfeed: ${line}`, level)
  const [rpc] = nodes.list
  const url = rpc === undefined ? '' : (rpcUrls[rpc.chain.network] ?? '')
  const staleAfterMs = sanctionsDaysMax * DAY_MS
  const { screen, signup, check } = createScreener({
    ledger,
    oracle: rpc && createSanctionsOracle(rpc),
    clock,
    staleAfterMs,
    isListConfigured: sanctionsList !== '',
    log,
  })
  return {
    screen,
    signup,
    wallets: createWallets(rpc),
    /** Starts to refresh the list and to screen accounts; undefined without a list and a node. */
    start(report?: Parameters<typeof startScreening>[0]['report']) {
      if (!signup().isOpen) return undefined
      const location = sanctionsList === '' ? undefined : sanctionsList
      // Servers with other sources cannot screen in place of each other.
      const sources = sha256(`${sanctionsList} ${url}`)
      const lock = jobLockFor(context, 'ledger', `screening ${sources}`)
      const tools = { clock, log, startTimer, report, lock }
      const schedule = startScreening({ ...tools, ledger, screen, staleAfterMs, location })
      const checks = every(CHECK_MS, () => void check())
      return {
        async dispose(): Promise<void> {
          checks.dispose()
          await schedule.dispose()
        },
      }
    },
  }
}

export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || isLoopbackAddress(host)

/** Closed if wallets could not tell the server from an impostor by its address. */
export function signupStateOf({ publicUrl, host }: Config, screening: SignupState): SignupState {
  if (publicUrl !== '' || isLoopback(host)) return screening
  return {
    isOpen: false,
    reason: 'BOOKFEED_PUBLIC_URL is not set, so the message of a sign-in cannot name this server.',
  }
}
