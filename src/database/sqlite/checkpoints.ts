/**
 * Moves what was committed from SQLite's log into the file on a thread of its own: it waits for the
 * disk, which nobody else then does.
 */

import type { Database } from '#src/database/database.ts'
import { defineWorker } from '#src/platform/worker.ts'

import { checkpoint, leaveCheckpoints, openDatabase } from './database.ts'

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
 * `db`.
 */
export function startCheckpoints(db: Database, path: string): Disposable {
  const state = new Int32Array(new SharedArrayBuffer(4))
  end(state)
  const starting = setTimeout(() => {
    Atomics.store(state, 0, RUNNING)
    void checkpointWorker.start({ path, state }).ended.then(() => end(state))
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
  ({ path, state }: { path: string; state: Int32Array }): void => {
    try {
      const db = openDatabase(path)
      while (Atomics.wait(state, 0, RUNNING, INTERVAL_MS) === 'timed-out') attempt(db)
      db.close()
    } finally {
      end(state)
    }
  },
)

function attempt(db: Database): void {
  try {
    checkpoint(db)
  } catch {
    // A disk that is full, or fails, may take it the next time.
  }
}
