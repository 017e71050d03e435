import { accessSync, constants, existsSync } from 'node:fs'
import { join } from 'node:path'

import type { HistoryStore } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { messageOf } from '#src/lib/message.ts'

import { type CliContext, CliError } from './context.ts'
import { keepPrivate } from './private-folder.ts'

/** The file of the history in a data folder. */
export const historyPathOf = (dataPath: string): string => join(dataPath, 'history.db')

/** The file of accounts and keys in a data folder. */
export const ledgerPathOf = (dataPath: string): string => join(dataPath, 'ledger.db')

/** What another process writes, such as an import, shows after a millisecond at most. */
const LAG_MS = 1

/** Opens the history in the data folder, making both if absent. A failure says what to change. */
export function openDataFolder({ config, printError }: CliContext): HistoryStore {
  const { dataPath, chunkCacheBytes } = config()
  makeFolder(dataPath, printError)
  return openHistory(historyPathOf(dataPath), { chunkCacheBytes, lagMs: LAG_MS })
}

/** Opens the ledger in the data folder, making both if absent. A failure says what to change. */
export function openLedgerFile({ config, clock }: CliContext): Ledger {
  const { dataPath } = config()
  makeFolder(dataPath)
  return openLedger(ledgerPathOf(dataPath), { nowMs: clock(), lagMs: LAG_MS })
}

/** Opens the ledger for one command, making it if absent, and closes it when that has ended. */
export function withLedger<T>(context: CliContext, body: (ledger: Ledger) => T): T {
  const ledger = openLedgerFile(context)
  let isLater = false
  try {
    const result = body(ledger)
    if (!(result instanceof Promise)) return result
    isLater = true
    // A promise of what `body` promised, which is what T says.
    return result.finally(() => ledger.dispose()) as T
  } finally {
    if (!isLater) ledger.dispose()
  }
}

/** The same for a command that makes no sense on an empty ledger. Throws `CliError` if there is none. */
export function withExistingLedger<T>(context: CliContext, body: (ledger: Ledger) => T): T {
  const { dataPath } = context.config()
  // Opening would make an empty one, which has no keys, is sound, and is not what was meant.
  if (existsSync(ledgerPathOf(dataPath))) return withLedger(context, body)
  throw new CliError(
    `There is no ledger in ${dataPath}. Set BOOKFEED_DATA to its folder; bookfeed serve and bookfeed keys create make one.`,
  )
}

/** A server opens both files, and warns once. */
function makeFolder(dataPath: string, warn: (message: string) => void = () => {}): void {
  try {
    keepPrivate(dataPath, warn)
    accessSync(dataPath, constants.W_OK)
  } catch (cause) {
    const message = `Cannot write to the data folder ${dataPath} (${messageOf(cause)}). Set BOOKFEED_DATA to a folder that this user may write to.`
    throw new CliError(message, { cause })
  }
}
