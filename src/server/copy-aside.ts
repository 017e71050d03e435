/**
 * Copies on a thread of its own: whatever takes long there, the command hears signals, and ends at
 * any moment. What was begun is undone by the engine, or continued by the next run.
 */
import { existsSync } from 'node:fs'
import { parentPort, Worker, workerData } from 'node:worker_threads'

import type { Database } from '#src/database/database.ts'
import { historyFormat, ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { toIso } from '#src/domain/time.ts'
import { copyHistory } from '#src/history/copy.ts'
import { openHistory } from '#src/history/open.ts'
import { copyLedger } from '#src/ledger/copy.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { messageOf } from '#src/platform/message.ts'
import { addressOf, isPostgres, shownAddress } from '#src/postgres/address.ts'
import {
  openPostgres,
  PostgresDatabase,
  postgresHistory,
  postgresLedger,
} from '#src/postgres/database.ts'

export const stores = ['ledger', 'history'] as const
export type Store = (typeof stores)[number]

/** Files, or addresses. */
export type Copy = { store: Store; from: string; to: string }
export type Start = { copies: Copy[]; keepsSource: boolean; nowMs: number }
type Message = { progress: string } | { line: string } | { end: true } | { fault: string }

const PROGRESS_EVERY_MS = 2000
const FAULTS_SHOWN_MAX = 20

const formats = {
  ledger: { file: ledgerFormat, postgres: postgresLedger },
  history: { file: historyFormat, postgres: postgresHistory },
} as const

export const shown = (place: string): string => (isPostgres(place) ? shownAddress(place) : place)

/** Rejects with what went wrong, or when `signal` is aborted. */
export async function copyAside(
  start: Start,
  signal: AbortSignal,
  say: { print: (line: string) => void; progress: (line: string) => void },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const worker = new Worker(import.meta.filename, { workerData: start })
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('The thread that copies has ended.')))
  worker.on('message', (message: Message) => {
    if ('progress' in message) say.progress(message.progress)
    else if ('line' in message) say.print(message.line)
    else if ('end' in message) resolve()
    else reject(new Error(message.fault))
  })
  const stop = (): void => reject(new Error('Stopped. Run it again to go on.'))
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    await promise
  } finally {
    signal.removeEventListener('abort', stop)
    void worker.terminate()
  }
}

const open = (store: Store, place: string): Database =>
  isPostgres(place)
    ? openPostgres(place, formats[store].postgres)
    : openDatabase(place, { format: formats[store].file })

/** Opening makes what is not there, which is not meant of a source. */
function isThere(store: Store, place: string): boolean {
  if (!isPostgres(place)) return existsSync(place)
  const format = formats[store].postgres
  const db = new PostgresDatabase(place, format, false)
  try {
    const find = db.prepare<{ found: string | null }, [string]>(
      'SELECT CAST(to_regclass($1) AS TEXT) AS found',
    )
    return (find.get(`${addressOf(place, format.schema).schema}.format`)?.found ?? null) !== null
  } finally {
    db.close()
  }
}

const post = (message: Message): void => parentPort?.postMessage(message)

/** Says now and then how far it is. */
function createProgress() {
  let shownMs = performance.now()
  return (line: () => string): void => {
    if (performance.now() - shownMs < PROGRESS_EVERY_MS) return
    shownMs = performance.now()
    post({ progress: line() })
  }
}

function run(given: Start): void {
  const { copies } = given
  const found = copies.filter(({ store, from }) => isThere(store, from))
  if (found.length === 0) {
    const [first] = copies
    const what = copies.map(({ store }) => `no ${store}`).join(' and ')
    throw new Error(`There is ${what} at ${shown(first?.from ?? '')}. Set --from or BOOKFEED_DATA.`)
  }
  for (const { store, from } of copies)
    if (!found.some((copy) => copy.store === store))
      post({ line: `There is no ${store} at ${shown(from)}: it is left out.` })
  for (const copy of found) {
    const startedMs = performance.now()
    const result = copy.store === 'ledger' ? moveLedger(copy, given) : copyBooks(copy)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    post({ line: `${copy.store} copied to ${shown(copy.to)} in ${seconds} s, ${result}` })
  }
}

function moveLedger({ from, to }: Copy, { keepsSource, nowMs }: Start): string {
  const source = open('ledger', from)
  const tell = createProgress()
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

function copyBooks({ from, to }: Copy): string {
  const [source, target] = [open('history', from), open('history', to)]
  const tell = createProgress()
  let copied = 0
  try {
    for (const { rows, table } of copyHistory(source, target)) {
      copied += rows
      tell(() => `copied ${formatCount(copied)} rows of the history, now of ${table}`)
    }
  } finally {
    for (const db of [source, target]) db.engine.close(db)
  }
  return readAgain(to)
}

function readAgain(place: string): string {
  const history = openHistory(place, { chunkCacheBytes: 0 })
  const tell = createProgress()
  try {
    const onProgress = (done: number, total: number): void =>
      tell(() => `read again ${formatCount(done)} of ${formatCount(total)} markets`)
    let faults = 0
    for (const fault of history.verify(onProgress))
      if (++faults <= FAULTS_SHOWN_MAX) post({ line: fault })
    if (faults > 0) throw new Error(`${count(faults, 'fault')} in ${shown(place)}.`)
    const { markets, snapshots } = history.totals()
    return `and read again: ${count(snapshots, 'snapshot')} of ${count(markets, 'market')}.`
  } finally {
    history.dispose()
  }
}

function start(given: Start): void {
  try {
    run(given)
    post({ end: true })
  } catch (error) {
    post({ fault: messageOf(error) })
  }
  parentPort?.close()
}

// The thread that starts it loads this file, too.
if ((workerData as Start | null)?.copies !== undefined) start(workerData as Start)
