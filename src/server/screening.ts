import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { createWallets } from '#src/chain/wallets.ts'
import type { Config } from '#src/config/config.ts'
import { sha256 } from '#src/domain/manifest.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'
import { isLoopbackAddress } from '#src/platform/network.ts'
import { startScreening } from '#src/screening/schedule.ts'
import { createScreener } from '#src/screening/screener.ts'

import type { CliContext } from './extension.ts'
import type { Nodes } from './nodes.ts'
import { jobLockFor } from './open-data-folder.ts'
import { every, startTimer } from './server-jobs.ts'

const CHECK_MS = 60_000

/** What a server needs to take in wallets; nothing is asked or loaded before it is needed. */
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
    /** Begins to keep the list and the accounts screened; undefined if there is nothing to ask. */
    start(report?: Parameters<typeof startScreening>[0]['report']) {
      if (!signup().isOpen) return undefined
      const location = sanctionsList === '' ? undefined : sanctionsList
      // Servers that ask others do not stand in for each other.
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

/** Closed where wallets could not tell the server, by its address, from an impostor. */
export function signupStateOf({ publicUrl, host }: Config, screening: SignupState): SignupState {
  if (publicUrl !== '' || isLoopback(host)) return screening
  return {
    isOpen: false,
    reason: 'BOOKFEED_PUBLIC_URL is not set, so the message of a sign-in cannot name this server.',
  }
}
