import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { runCli } from '#src/cli/program.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { createCliContext } from './cli-context.ts'
import { NOW_MS } from './harness.ts'

/** A data folder that is removed with the test, and the command line on it. */
export function createCommandLine(env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-cli-'))
  const cli = createCliContext({ BOOKFEED_DATA: folder, BOOKFEED_RECORD: 'off', ...env })

  /** Runs a command line; the lists contain only its own output. */
  const run = async (...args: string[]) => {
    cli.printed.length = 0
    cli.errors.length = 0
    const exitCode = await runCli(args, cli.context)
    return { exitCode, printed: [...cli.printed], errors: [...cli.errors] }
  }
  const withLedger = async <T>(body: (ledger: Ledger) => T | Promise<T>): Promise<T> => {
    const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
    try {
      return await body(ledger)
    } finally {
      ledger.dispose()
    }
  }
  return {
    ...cli,
    folder,
    ledgerPath: join(folder, 'ledger.db'),
    run,
    withLedger,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
