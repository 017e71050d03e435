import { join } from 'node:path'

import { closedBilling } from '#src/billing/create-billing.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { extensions } from '#src/extensions.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Gate } from '#src/http/rights.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createIdGenerator } from '#src/platform/id-generator.ts'
import { type App, createApp } from '#src/server/app.ts'
import { loadExtensions } from '#src/server/extension.ts'
import { openPool } from '#src/server/pool-thread.ts'

import { readConfig } from '../support/config.ts'

const loaded = await loadExtensions(extensions)

export type OurApp = { app: App; history: MarketHistory; dispose(): void }

type Options = {
  /** In place of the real one. */
  gate?: Gate
  /** Takes the lines of the access log; they are made also when nobody takes them. */
  log?: (line: string) => void
}

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

/** The whole application on a data folder, with its defaults, in this process. */
export function openOurApp(dataPath: string, { gate, log = () => {} }: Options = {}): OurApp {
  const config = readConfig({})
  const { chunkCacheBytes } = config
  const history = openHistory(join(dataPath, 'history.db'), { chunkCacheBytes, lagMs: 1 })
  const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs: Date.now(), lagMs: 1 })
  const app = createApp({
    history,
    pool: openPool(history),
    ledger,
    clock: () => Date.now(),
    extensions: loaded,
    timer: () => performance.now(),
    createId: createIdGenerator(randomBytes),
    randomBytes,
    config,
    log,
    version: 'bench',
    first: {
      screen: () => Promise.reject(new Error('Nobody signs up here.')),
      wallets: createWallets(undefined),
      billing: closedBilling('a bench'),
      recording: () => undefined,
      signup: () => ({ isOpen: false, reason: 'a bench' }),
      origin: () => '',
    },
    replaced: { ...(gate && { gate }) },
  })
  return {
    app,
    history,
    dispose() {
      history.dispose()
      ledger.dispose()
    },
  }
}
