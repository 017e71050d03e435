import { afterAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { openApart } from './apart.ts'
import { conformPayments } from './payment-conformance.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-payments-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

conformPayments('in a file', (nowMs) => openLedger(newPath(), { nowMs }))
conformPayments('with a handle for reads', (nowMs) => openApart(newPath(), nowMs))
