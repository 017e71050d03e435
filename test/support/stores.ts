/** Opens stores in files and at addresses; registers their engines like `main.ts`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { addStores, prepareStore, type StoreName, type StorePlace } from '#src/database/stores.ts'
import { extensions } from '#src/extensions.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type HistoryOptions, openHistoryAt } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedgerAt } from '#src/ledger/open.ts'

for (const { stores } of extensions) if (stores !== undefined) addStores(stores)
await prepareStore()

// biome-ignore lint/style/noProcessEnv: processes that tests start and kill have their copies here, too.
const variables = process.env
let copies = 0

/** Removed by the process that created it. */
function folderOfCopies(): string {
  const held = variables.TEST_COPIES
  if (held !== undefined) return held
  const made = mkdtempSync(join(tmpdir(), 'bookfeed-copies-'))
  process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  variables.TEST_COPIES = made
  return made
}

/** A file, or a separate copy of the store at an address. */
export function toPlace(store: StoreName, place: string): StorePlace {
  if (!place.startsWith('postgres')) return { store, path: place }
  const path = join(folderOfCopies(), `${process.pid}-${++copies}.db`)
  return { store, path, address: place }
}

export const openHistoryIn = (place: string, options?: HistoryOptions): Promise<MarketHistory> =>
  openHistoryAt(toPlace('history', place), options)

export const openLedgerIn = (
  place: string,
  options: Parameters<typeof openLedgerAt>[1],
): Promise<Ledger & AsyncDisposable> => openLedgerAt(toPlace('ledger', place), options)
