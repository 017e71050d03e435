import { startCheckpoints } from '#src/database/sqlite/checkpoints.ts'
import { openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import { engineAt, prepareStore } from '#src/database/stores.ts'

import type { MarketHistory } from './history.ts'
import { createSqliteHistory, type SqliteOptions } from './sqlite-history.ts'

const CHUNK_CACHE_BYTES = 64 * 1024 * 1024

/** Loads what a history may be in besides a file; to be called before it is opened. */
export const prepareHistory = (place: string): Promise<void> => prepareStore(place)

export type HistoryOptions = Partial<SqliteOptions> & {
  /** Of a file: whether checkpoints are made on a thread of their own, so that no request waits. */
  hasCheckpointThread?: boolean
  /** The ledger whose log that thread empties as well. */
  ledgerPath?: string | undefined
  /** Of an engine elsewhere: nothing is waited for longer than a venue may remain unheard. */
  isRecording?: boolean
  /** Of a file that is up to date; what writes to it fails. */
  isReadOnly?: boolean
  /** Size that the file may not outgrow. */
  bytesMax?: number
}

/**
 * Opens or creates a history, in a file or at an address, and brings it up to
 * date. Throws `storage_unavailable`.
 */
export function openHistory(path: string, options: HistoryOptions = {}): MarketHistory {
  const { hasCheckpointThread, ledgerPath, isRecording, isReadOnly, bytesMax, ...stored } = options
  const engine = engineAt(path)
  const remote = engine?.open(path, 'history')
  const db = remote ?? openDatabase(path, { isReadOnly, bytesMax })
  try {
    const history = createSqliteHistory(db, {
      chunkCacheBytes: CHUNK_CACHE_BYTES,
      lagMs: 0,
      ...stored,
    })
    if (isRecording) remote?.waitBriefly()
    if (!hasCheckpointThread || remote !== undefined) return history
    const checkpoints = startCheckpoints(db, path, ledgerPath)
    const dispose = (): void => {
      checkpoints[Symbol.dispose]()
      history.dispose()
    }
    return { ...history, dispose }
  } catch (error) {
    db.close()
    throw engine?.openingFault(error, path, 'history') ?? toStorageError(error, path)
  }
}
