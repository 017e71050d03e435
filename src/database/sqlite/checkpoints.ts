/**
 * Moves what was committed from SQLite's log into the file on a thread of its own: it waits for the
 * disk, so no other thread does. While writers rest, it empties the log.
 */

import { existsSync } from 'node:fs'

import type { Database } from '#src/database/database.ts'
import { defineWorker } from '#src/platform/worker.ts'

import {
  checkpoint,
  emptyLog,
  type FileFormat,
  historyFormat,
  leaveCheckpoints,
  ledgerFormat,
  openDatabase,
} from './database.ts'

const INTERVAL_MS = 1000
/** A start has enough to do without it. */
const START_MS = 1000
/** How long the end of the thread is waited for. */
const END_MS_MAX = 5000

const RUNNING = 0
const STOPPING = 1
const ENDED = 2

/**
 * Starts the thread, a second later, for a file whose commits are those of `db`; disposed of before
 * `db`. It empties the log of the ledger beside it, too.
 */
export function startCheckpoints(db: Database, path: string, ledgerPath?: string): Disposable {
  const state = new Int32Array(new SharedArrayBuffer(4))
  end(state)
  const starting = setTimeout(() => {
    Atomics.store(state, 0, RUNNING)
    void checkpointWorker.start({ path, ledgerPath, state }).ended.then(() => end(state))
    leaveCheckpoints(db)
  }, START_MS)
  starting.unref()
  return {
    [Symbol.dispose]() {
      clearTimeout(starting)
      Atomics.compareExchange(state, 0, RUNNING, STOPPING)
      Atomics.notify(state, 0)
      Atomics.wait(state, 0, STOPPING, END_MS_MAX)
    },
  }
}

function end(state: Int32Array): void {
  Atomics.store(state, 0, ENDED)
  Atomics.notify(state, 0)
}

const checkpointWorker = defineWorker(
  { name: 'checkpoints', purpose: 'makes checkpoints', file: import.meta.filename },
  ({ path, ledgerPath, state }: CheckpointStart): void => {
    const logs: Log[] = []
    try {
      logs.push(openLog(path, historyFormat))
      while (Atomics.wait(state, 0, RUNNING, INTERVAL_MS) === 'timed-out') {
        if (logs.length === 1 && ledgerPath !== undefined && existsSync(ledgerPath))
          logs.push(openLog(ledgerPath, ledgerFormat))
        for (const log of logs) attempt(log)
      }
    } finally {
      for (const { db } of logs) db.close()
      end(state)
    }
  },
)

type CheckpointStart = { path: string; ledgerPath: string | undefined; state: Int32Array }

type Log = {
  db: Database
  /** Its pages at the last attempt, all of them in the file; undefined if some were not. */
  pages: number | undefined
}

const openLog = (path: string, format: FileFormat): Log => ({
  db: openDatabase(path, { format, isAsItIs: true }),
  pages: undefined,
})

function attempt(log: Log): void {
  try {
    const pages = checkpoint(log.db)
    // Nothing was written since the last attempt: writers rest.
    if (pages !== undefined && pages > 0 && pages === log.pages) emptyLog(log.db)
    log.pages = pages
  } catch {
    // A disk that is full, or fails, may take it the next time.
  }
}
