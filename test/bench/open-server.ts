/**
 * Our server with its gate taken away: nobody is authenticated, nothing is limited, no rate header is
 * written, nothing is metered. All else is as `bookfeed serve` has it, the access log included.
 * Usage: bun open-server.ts <data folder> <port>
 */
import { join } from 'node:path'

import { createApp } from '#src/app.ts'
import { closedBilling } from '#src/billing/closed-billing.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { readConfig } from '#src/config.ts'
import type { Gate, Visit } from '#src/http/gate.ts'
import { createLogBuffer } from '#src/lib/log-buffer.ts'
import { openLedger } from '#src/store/ledger/open.ts'
import { openHistory } from '#src/store/open.ts'

const [dataPath = '', port = ''] = process.argv.slice(2)

const config = readConfig({})
const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs: Date.now(), lagMs: 1 })
const terms = ledger.listTiers().at(-1)
if (terms === undefined) throw new Error('The ledger has no tiers.')
const standing = { terms, subscription: undefined, untilMs: Infinity }
const visit: Visit = {
  caller: { keyId: 'key', accountId: 'acc', familyId: 'key', isBlocked: false, standing },
  rate: { limit: 1, remaining: 1, leftMs: 1 },
  isCounted: true,
  enteredMs: 0,
  refusal: undefined,
  route: '',
}
const gate: Gate = { enter: () => visit, mark() {}, leave() {} }

const { chunkCacheBytes } = config
const log = createLogBuffer((lines) => void process.stderr.write(lines))
const app = createApp({
  history: openHistory(join(dataPath, 'history.db'), { chunkCacheBytes, lagMs: 1 }),
  ledger,
  clock: () => Date.now(),
  timer: () => performance.now(),
  mint: () => crypto.randomUUID().replaceAll('-', ''),
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  screen: () => Promise.reject(new Error('Nobody signs up here.')),
  wallets: createWallets(undefined),
  billing: closedBilling('a bench'),
  signup: () => ({ isOpen: false, reason: 'a bench' }),
  origin: () => '',
  config,
  log: log.write,
  version: 'bench',
  gate,
})
Bun.serve({ port: Number(port), hostname: '127.0.0.1', fetch: app.fetch })
