/** Copies stores from one location to another, with progress. */
import type { StoreName } from '#src/database/stores.ts'
import { toIso } from '#src/domain/time.ts'
import { openHistory } from '#src/history/open.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { throttleLines } from '#src/platform/throttle.ts'

import { isPostgres, shownAddress } from './address.ts'
import { copyHistory } from './copy-history.ts'
import { copyLedger } from './copy-ledger.ts'
import { type CopyStore, isThere, openCopyStore } from './copy-store.ts'
import { formats } from './formats.ts'
import { createRowProgress } from './tables.ts'

/** Copied in this order. */
export const stores: readonly StoreName[] = ['ledger', 'history']

/** `from` and `to` are paths or addresses. */
export type Copy = { store: StoreName; from: string; to: string }
export type Start = { copies: Copy[]; keepsSource: boolean; nowMs: number }
type Say = { print: (line: string) => void; progress: (line: string) => void }
/** Opens a store, which is closed at the end or when the copy is stopped. */
type Open = (store: StoreName, place: string) => Promise<CopyStore>

const PROGRESS_EVERY_MS = 2000
const FAULTS_SHOWN_MAX = 20
const STOPPED = 'Stopped. Run the command again to continue.'

export const shown = (place: string): string => (isPostgres(place) ? shownAddress(place) : place)

/**
 * Rejects with the error, or when `signal` is aborted. The database rolls back an unfinished
 * transaction, or the next call continues.
 */
export async function copyStores(start: Start, signal: AbortSignal, say: Say): Promise<void> {
  const opened: CopyStore[] = []
  const close = async (): Promise<void> => {
    for (const store of opened.splice(0)) await store.close()
  }
  const open: Open = async (store, place) => {
    signal.throwIfAborted()
    const found = await openCopyStore(place, formats[store])
    opened.push(found)
    return found
  }
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => {
    stopped.reject(new Error(STOPPED))
    void close()
  }
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const copying = copyAll(start, open, signal, say)
  // Closing the stores makes the copy fail.
  copying.catch(() => {})
  try {
    await Promise.race([copying, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
    await close()
  }
}

async function copyAll(start: Start, open: Open, signal: AbortSignal, say: Say): Promise<void> {
  const { copies } = start
  const found: Copy[] = []
  for (const copy of copies) if (await isThere(copy.from, formats[copy.store])) found.push(copy)
  if (found.length === 0) {
    const [first] = copies
    const what = copies.map(({ store }) => `no ${store}`).join(' and ')
    throw new Error(`There is ${what} at ${shown(first?.from ?? '')}. Set --from or BOOKFEED_DATA.`)
  }
  for (const copy of copies)
    if (!found.includes(copy))
      say.print(`There is no ${copy.store} at ${shown(copy.from)}: it is skipped.`)
  for (const copy of found) {
    const startedMs = performance.now()
    const result =
      copy.store === 'ledger'
        ? await moveLedger(copy, start, open, say)
        : await copyBooks(copy, open, signal, say)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    say.print(`${copy.store} copied to ${shown(copy.to)} in ${seconds} s, ${result}`)
  }
}

async function moveLedger(
  { from, to }: Copy,
  { keepsSource, nowMs }: Start,
  open: Open,
  { progress }: Say,
): Promise<string> {
  const source = await open('ledger', from)
  const target = {
    isThere: () => isThere(to, formats.ledger),
    open: () => open('ledger', to),
  }
  const { rows, tables, head } = await copyLedger(source, target, {
    movedTo: keepsSource ? undefined : `${shown(to)} at ${toIso(nowMs)}`,
    onRows: createRowProgress('ledger', progress),
  })
  const chain = head === undefined ? '' : `, head ${head.seq}:${head.hash}`
  const use = keepsSource
    ? 'The source stays in use: sell from one of them only.'
    : 'The source is no longer in use.'
  return `and compared: ${count(rows, 'row')} of ${tables} tables, audit chain sound${chain}. ${use}`
}

async function copyBooks(
  { from, to }: Copy,
  open: Open,
  signal: AbortSignal,
  say: Say,
): Promise<string> {
  const stores = [await open('history', from), await open('history', to)] as const
  const noteRows = createRowProgress('history', say.progress)
  const noteCompared = createRowProgress('history', say.progress, 'compared')
  for await (const { rows, table, isComparing } of copyHistory(...stores)) {
    signal.throwIfAborted()
    const note = isComparing ? noteCompared : noteRows
    note(rows, table)
  }
  for (const store of stores) await store.close()
  const file = [to, from].find((place) => !isPostgres(place))
  return file === undefined
    ? 'and compared.'
    : `and compared, ${await readAgain(file, signal, say)}`
}

/** Reads a copied history again and verifies it. */
async function readAgain(path: string, signal: AbortSignal, say: Say): Promise<string> {
  const history = openHistory(path, { chunkCacheBytes: 0 })
  const report = throttleLines(PROGRESS_EVERY_MS, () => performance.now(), say.progress)
  try {
    const onProgress = (done: number, total: number): void =>
      report(() => `read again ${formatCount(done)} of ${formatCount(total)} markets`)
    let faults = 0
    let asideMs = performance.now()
    for (const fault of history.verify(onProgress)) {
      if (++faults <= FAULTS_SHOWN_MAX) say.print(fault)
      if (performance.now() - asideMs < PROGRESS_EVERY_MS) continue
      // Lets signals arrive.
      await Bun.sleep(0)
      signal.throwIfAborted()
      asideMs = performance.now()
    }
    if (faults > 0) throw new Error(`${count(faults, 'fault')} in ${path}.`)
    const { markets, snapshots } = history.totals()
    return `and read again: ${count(snapshots, 'snapshot')} of ${count(markets, 'market')}.`
  } finally {
    history.dispose()
  }
}
