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
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { addressOf, isPostgres, shownAddress } from './address.ts'
import { copyHistory } from './copy-history.ts'
import { copyLedger } from './copy-ledger.ts'
import { openPostgres, PostgresDatabase } from './database.ts'
import { formats } from './formats.ts'

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
    ? openPostgres(place, formats[store].remote)
    : openDatabase(place, { format: formats[store].file })

/** Opening makes what is not there, which is not meant of a source. */
function isThere(store: StoreName, place: string): boolean {
  if (!isPostgres(place)) return existsSync(place)
  const format = formats[store].remote
  const db = new PostgresDatabase(place, format)
  try {
    const find = db.prepare<{ found: string | null }, [string]>(
      'SELECT CAST(to_regclass($1) AS TEXT) AS found',
    )
    return (find.get(`${addressOf(place, format.schema).schema}.format`)?.found ?? null) !== null
  } finally {
    db.close()
  }
}

/** Says now and then how far it is. */
function createProgress(say: Say) {
  let shownMs = performance.now()
  return (line: () => string): void => {
    if (performance.now() - shownMs < PROGRESS_EVERY_MS) return
    shownMs = performance.now()
    say({ progress: line() })
  }
}

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
  const tell = createProgress(say)
  let copied = 0
  try {
    const target = { isThere: () => isThere('ledger', to), open: () => open('ledger', to) }
    const { rows, tables, head } = copyLedger(source, target, {
      nowMs,
      movedTo: keepsSource ? undefined : `${shown(to)} at ${toIso(nowMs)}`,
      onRows(some, table) {
        copied += some
        tell(() => `copied ${formatCount(copied)} rows of the ledger, now of ${table}`)
      },
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
  const tell = createProgress(say)
  let copied = 0
  try {
    for (const { rows, table } of copyHistory(source, target)) {
      copied += rows
      tell(() => `copied ${formatCount(copied)} rows of the history, now of ${table}`)
    }
  } finally {
    for (const db of [source, target]) db.engine.close(db)
  }
  return readAgain(to, say)
}

function readAgain(place: string, say: Say): string {
  const history = openHistory(place, { chunkCacheBytes: 0 })
  const tell = createProgress(say)
  try {
    const onProgress = (done: number, total: number): void =>
      tell(() => `read again ${formatCount(done)} of ${formatCount(total)} markets`)
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
