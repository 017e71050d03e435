import { createRpc } from '#src/chain/rpc.ts'
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { DAY_MS } from '#src/core/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { startScreening } from '#src/screening/schedule.ts'
import { createScreener } from '#src/screening/screener.ts'
import { paymentChains } from '#src/selling/payment-chain.ts'
import type { Screen, SignupState } from '#src/selling/screening.ts'
import type { Wallets } from '#src/selling/wallet.ts'

import type { CliContext } from './context.ts'

/** What a server needs to take in wallets, as far as it is configured. */
export type Screening = {
  screen: Screen
  wallets: Wallets
  signup(): SignupState
  /** Begins to keep the list and the accounts screened; undefined if there is nothing to ask. */
  start(): { dispose(): Promise<void> } | undefined
}

/** Puts the parts together; nothing is asked or loaded before it is needed. */
export function createScreening(context: CliContext, ledger: Ledger): Screening {
  const { clock } = context
  const { rpcUrls, sanctionsList, sanctionsDaysMax } = context.config()
  const log = (line: string) => context.printError(`bookfeed: ${line}`)
  const chain = paymentChains.find(({ network }) => rpcUrls[network] !== undefined)
  const rpc = chain && createRpc({ chain, url: rpcUrls[chain.network] ?? '', log })
  const staleAfterMs = sanctionsDaysMax * DAY_MS
  const { screen, signup } = createScreener({
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
    start() {
      if (!signup().isOpen) return undefined
      const location = sanctionsList === '' ? undefined : sanctionsList
      return startScreening({ ledger, screen, clock, log, staleAfterMs, location, startTimer })
    },
  }
}

/** Calls back once; returns how to cancel that. */
export function startTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, delayMs)
  return () => clearTimeout(timer)
}
