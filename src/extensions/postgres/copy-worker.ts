/**
 * Copies on a thread of its own: whatever takes long there, the command hears signals, and ends at
 * any moment. What was begun is undone by the engine, or continued by the next run.
 */
import { existsSync } from 'node:fs'

import type { Database } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { prepareStore, type StoreName } from '#src/database/stores.ts'
import { toIso } from '#src/domain/time.ts'
import { openHistory } from '#src/history/open.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { throttleLines } from '#src/platform/throttle.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { isPostgres, shownAddress } from './address.ts'
import { copyHistory } from './copy-history.ts'
import { copyLedger } from './copy-ledger.ts'
import { migratePostgres, openPostgres } from './database.ts'
import { formats } from './formats.ts'
import { createRowProgress } from './tables.ts'

/** In the order in which they are copied. */
export const stores: readonly StoreName[] = ['ledger', 'history']

/** Files, or addresses. */
export type Copy = { store: StoreName; from: string; to: string }
export type Start = { copies: Copy[]; keepsSource: boolean; nowMs: number }
type Said = { progress: string } | { line: string }
type Say = (said: Said) => void

const PROGRESS_EVERY_MS = 2000
const FAULTS_SHOWN_MAX = 20

export const shown = (place: string): string => (isPostgres(place) ? shownAddress(place) : place)

/** Rejects with what went wrong, or when `signal` is aborted. */
export async function copyInWorker(
  start: Start,
  signal: AbortSignal,
  say: { print: (line: string) => void; progress: (line: string) => void },
): Promise<void> {
  const thread = copyWorker.start(start, (said) => {
    if ('progress' in said) say.progress(said.progress)
    else say.print(said.line)
  })
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => stopped.reject(new Error('Stopped. Run the command again to continue.'))
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    await Promise.race([thread.result, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
    void thread.terminate()
  }
}

const open = (store: StoreName, place: string): Database =>
  isPostgres(place)
    ? openPostgres(place, formats[store])
    : openDatabase(place, { format: formats[store].file })

/** Opening makes what is not there, which is not meant of a source. */
const isThere = (store: StoreName, place: string): boolean =>
  isPostgres(place) ? migratePostgres(place, formats[store], false).from > 0 : existsSync(place)

function copy(start: Start, say: Say): void {
  const { copies } = start
  const found = copies.filter(({ store, from }) => isThere(store, from))
  if (found.length === 0) {
    const [first] = copies
    const what = copies.map(({ store }) => `no ${store}`).join(' and ')
    throw new Error(`There is ${what} at ${shown(first?.from ?? '')}. Set --from or BOOKFEED_DATA.`)
  }
  for (const { store, from } of copies)
    if (!found.some((copy) => copy.store === store))
      say({ line: `There is no ${store} at ${shown(from)}: it is left out.` })
  for (const copy of found) {
    const startedMs = performance.now()
    const result = copy.store === 'ledger' ? moveLedger(copy, start, say) : copyBooks(copy, say)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    say({ line: `${copy.store} copied to ${shown(copy.to)} in ${seconds} s, ${result}` })
  }
}

function moveLedger({ from, to }: Copy, { keepsSource, nowMs }: Start, say: Say): string {
  const source = open('ledger', from)
  try {
    const target = { isThere: () => isThere('ledger', to), open: () => open('ledger', to) }
    const { rows, tables, head } = copyLedger(source, target, {
      nowMs,
      movedTo: keepsSource ? undefined : `${shown(to)} at ${toIso(nowMs)}`,
      onRows: createRowProgress('ledger', (progress) => say({ progress })),
    })
    const chain = head === undefined ? '' : `, head ${head.seq}:${head.hash}`
    const use = keepsSource
      ? 'The source stays in use: sell from only one of them.'
      : 'The source is not used any more.'
    return `and compared: ${count(rows, 'row')} of ${tables} tables, audit chain sound${chain}. ${use}`
  } finally {
    source.engine.close(source)
  }
}

function copyBooks({ from, to }: Copy, say: Say): string {
  const source = open('history', from)
  const target = open('history', to)
  const noteRows = createRowProgress('history', (progress) => say({ progress }))
  try {
    for (const { rows, table } of copyHistory(source, target)) noteRows(rows, table)
  } finally {
    for (const db of [source, target]) db.engine.close(db)
  }
  return readAgain(to, say)
}

function readAgain(place: string, say: Say): string {
  const history = openHistory(place, { chunkCacheBytes: 0 })
  const report = throttleLines(
    PROGRESS_EVERY_MS,
    () => performance.now(),
    (progress) => say({ progress }),
  )
  try {
    const onProgress = (done: number, total: number): void =>
      report(() => `read again ${formatCount(done)} of ${formatCount(total)} markets`)
    let faults = 0
    for (const fault of history.verify(onProgress))
      if (++faults <= FAULTS_SHOWN_MAX) say({ line: fault })
    if (faults > 0) throw new Error(`${count(faults, 'fault')} in ${shown(place)}.`)
    const { markets, snapshots } = history.totals()
    return `and read again: ${count(snapshots, 'snapshot')} of ${count(markets, 'market')}.`
  } finally {
    history.dispose()
  }
}

const copyWorker = defineWorker(
  { name: 'copy', purpose: 'copies', keepsProcess: true },
  async (start: Start, parent: Parent<Said>) => {
    // What was copied is read again as a store.
    await prepareStore(...start.copies.map(({ to }) => to))
    copy(start, parent.send)
  },
)
