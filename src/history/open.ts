import { startCheckpoints } from '#src/database/sqlite/checkpoints.ts'
import { openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import { loadEngine, prepareStore, type StorePlace } from '#src/database/stores.ts'
import { handlesOf } from '#src/database/transact.ts'

import type { MarketHistory } from './history.ts'
import { beginHistory, createSqliteHistory, type SqliteOptions } from './sqlite-history.ts'

/** Loads what a history may need besides its file; to be called before it is opened. */
export const prepareHistory = (): Promise<void> => prepareStore()

const CHUNK_CACHE_BYTES = 64 * 1024 * 1024

export type HistoryOptions = Partial<SqliteOptions> & {
  /** In a file, makes checkpoints on a separate thread, so that no request waits. */
  hasCheckpointThread?: boolean
  /** The ledger whose log that thread also truncates. */
  ledgerPath?: string | undefined
  /** At an address: nothing is waited for longer than a venue may remain unheard. */
  isRecording?: boolean
  /** At an address: hears how far a first copy is. */
  say?: ((line: string) => void) | undefined
  /** Opens a file that is up to date; writes fail. */
  isReadOnly?: boolean
  /** The maximum size of the file. */
  bytesMax?: number
}

/** Opens or creates a history in a file, and brings it up to date. Throws `storage_unavailable`. */
export function openHistory(path: string, options: HistoryOptions = {}): MarketHistory {
  const {
    hasCheckpointThread,
    ledgerPath,
    isRecording: _,
    isReadOnly,
    bytesMax,
    ...stored
  } = options
  const db = openDatabase(path, { isReadOnly, bytesMax })
  try {
    const history = createSqliteHistory(handlesOf(db), { ...defaults, ...stored })
    if (!hasCheckpointThread) return history
    return withCheckpoints(history, startCheckpoints(db, path, ledgerPath))
  } catch (error) {
    db.close()
    throw toStorageError(error, path)
  }
}

/**
 * Opens the history of any place; at an address, after the local copy has caught up. It ends once
 * the verbs that were called have ended; only an asynchronous disposal waits for that.
 */
export async function openHistoryAt(
  place: StorePlace,
  options: HistoryOptions = {},
): Promise<MarketHistory & AsyncDisposable> {
  const { path, address } = place
  if (address === undefined || options.isReadOnly) {
    const history = openHistory(path, options)
    return { ...history, [Symbol.asyncDispose]: async () => history.dispose() }
  }
  const {
    hasCheckpointThread,
    ledgerPath,
    isRecording,
    isReadOnly: _,
    bytesMax: __,
    say,
    ...stored
  } = options
  const engine = await loadEngine()
  const shared = await engine.open({ ...place, address }, { isBrief: isRecording === true, say })
  try {
    await shared.transact(() => beginHistory(shared))
    const own = createSqliteHistory(shared, { ...defaults, ...stored })
    const history = hasCheckpointThread
      ? withCheckpoints(own, startCheckpoints(shared.writing, path, ledgerPath))
      : own
    const end = async (): Promise<void> => {
      await shared.drained()
      history.dispose()
      shared.close()
    }
    return { ...history, dispose: () => void end(), [Symbol.asyncDispose]: end }
  } catch (error) {
    shared.close()
    throw error
  }
}

const defaults = { chunkCacheBytes: CHUNK_CACHE_BYTES, lagMs: 0 }

function withCheckpoints(history: MarketHistory, checkpoints: Disposable): MarketHistory {
  const dispose = (): void => {
    checkpoints[Symbol.dispose]()
    history.dispose()
  }
  return { ...history, dispose }
}
