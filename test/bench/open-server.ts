/**
 * Our server with its gate taken away: nobody is authenticated, nothing is limited, no rate header
 * is written, nothing is metered. All else is as `bookfeed serve` has it, the access log included.
 * Usage: bun open-server.ts <data folder> <port>
 */
import { join } from 'node:path'

import type { Sender } from '#src/http/call.ts'
import type { Gate } from '#src/http/rights.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createLogBuffer } from '#src/platform/log-buffer.ts'

import { openOurApp } from './our-app.ts'

const [dataPath = '', port = ''] = process.argv.slice(2)

const ledger = openLedger(join(dataPath, 'ledger.db'), { nowMs: Date.now() })
const terms = ledger.listTiers().at(-1)
ledger.dispose()
if (terms === undefined) throw new Error('The ledger has no tiers.')
const standing = { terms, subscription: undefined, untilMs: Infinity }
const sender: Sender = {
  caller: { keyId: 'key', accountId: 'acc', familyId: 'key', isBlocked: false, standing },
  rate: { limit: 1, remaining: 1, leftMs: 1 },
  isCounted: true,
  enteredMs: 0,
  refusal: undefined,
}
const gate: Gate = { admit: () => sender, writeHeaders() {}, count() {}, countMore() {} }

const log = createLogBuffer((lines) => void process.stderr.write(lines))
const { app } = openOurApp(dataPath, { gate, log: log.write })
Bun.serve({ port: Number(port), hostname: '127.0.0.1', fetch: app.fetch })
