/** A server that sells, on a ledger file as in production, and stops the time of whom it asks. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createBilling } from '#src/billing/create-billing.ts'
import { createChainView } from '#src/chain/chain-view.ts'
import { createRpc, type Rpc } from '#src/chain/rpc.ts'
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { createWallets } from '#src/chain/wallets.ts'
import type { Facilitator } from '#src/domain/selling/facilitator.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import { extensions } from '#src/extensions.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createScreener } from '#src/screening/screener.ts'
import { createApp } from '#src/server/app.ts'
import { loadExtensions } from '#src/server/extension.ts'

import { readConfig } from '../support/config.ts'
import { fakeHistory } from '../support/fake-history.ts'
import type { PaidServer } from '../support/paid-server.ts'
import { createStopwatch, type Stopwatch } from './stopwatch.ts'

const loaded = await loadExtensions(extensions)

const DAY_MS = 86_400_000
const fixed = { clock: () => Date.now(), log: () => {} }
const createId = () => crypto.randomUUID().replaceAll('-', '')

/** `facilitator` and `node` at work: one stopwatch each, and one for both. */
export type Watches = Record<'facilitator' | 'node' | 'others', Stopwatch>

type Shop = PaidServer & { watches: Watches }

export async function openShop(chain: LittlePolygon, facilitator: Facilitator): Promise<Shop> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-bench-'))
  const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: Date.now() })
  const watches = {
    facilitator: createStopwatch(),
    node: createStopwatch(),
    others: createStopwatch(),
  }
  const rpc = watchRpc(createRpc({ chain: homeChain, url: chain.url }), watches)
  const payTo = chain.payee.address
  let origin = ''
  const { screen, signup } = createScreener({
    ...fixed,
    ledger,
    oracle: createSanctionsOracle(rpc),
    staleAfterMs: DAY_MS,
    isListConfigured: false,
  })
  const billing = createBilling({
    ...fixed,
    ledger,
    screen,
    createId,
    payTo,
    listTiers: () => ledger.listTiers(),
    chains: [
      {
        chain: homeChain,
        view: createChainView(rpc, { ...fixed, payTo, confirmations: 'final' }),
        facilitator: watchFacilitator(facilitator, watches),
      },
    ],
    sleep: (ms) => watches.others.during(() => Bun.sleep(ms)),
    origin: () => origin,
  })
  const app = createApp({
    ...fixed,
    ledger,
    createId,
    history: fakeHistory(),
    config: readConfig({ BOOKFEED_LOG: 'off' }),
    extensions: loaded,
    timer: () => performance.now(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    version: 'bench',
    first: {
      billing,
      screen,
      signup,
      recording: () => undefined,
      wallets: createWallets(undefined),
      origin: () => origin,
    },
  })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
  origin = server.url.origin
  await billing.refresh()
  const stop = async () => {
    await server.stop(true)
    ledger.dispose()
    rmSync(folder, { recursive: true })
  }
  return { origin, chain, ledger, billing, watches, lines: [], time: { skewMs: 0 }, stop }
}

function watchRpc(rpc: Rpc, { node, others }: Watches): Rpc {
  const watch =
    <A extends unknown[], T>(ask: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      others.during(() => node.during(() => ask(...args)))
  return {
    chain: rpc.chain,
    origin: rpc.origin,
    findOtherChain: watch(rpc.findOtherChain),
    getCode: watch(rpc.getCode),
    call: watch(rpc.call),
    getBlock: watch(rpc.getBlock),
    getLogs: watch(rpc.getLogs),
    getReceipt: watch(rpc.getReceipt),
    getInput: watch(rpc.getInput),
    getSender: watch(rpc.getSender),
  }
}

const watchFacilitator = (
  facilitator: Facilitator,
  { facilitator: watch, others }: Watches,
): Facilitator => ({
  ...facilitator,
  settle: (payload, requirements) =>
    others.during(() => watch.during(() => facilitator.settle(payload, requirements))),
})
