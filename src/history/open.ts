import { startCheckpoints } from '#src/database/sqlite/checkpoints.ts'
import { openDatabase, toStorageError } from '#src/database/sqlite/database.ts'
import {
  type ChunkCachePlace,
  type ChunkSource,
  engineAt,
  prepareStore,
} from '#src/database/stores.ts'
import type { Clock } from '#src/domain/time.ts'

import type { MarketHistory } from './history.ts'
import { createSqliteHistory } from './sqlite-history.ts'

const openChunks = (place: string): ChunkSource | undefined => engineAt(place)?.openChunks(place)

/** Loads what a history may be in besides a file; to be called before it is opened. */
export const prepareHistory = (place: string): Promise<void> => prepareStore(place)

export type HistoryOptions = {
  /** Bytes of chunks kept in memory. */
  chunkCacheBytes?: number
  /** How late commits of other connections may show; 0, the default, asks at each use. */
  lagMs?: number
  /** Of a file: whether checkpoints are made on a thread of their own, so that no request waits. */
  hasCheckpointThread?: boolean
  /** Of a file: what is elsewhere is fetched before it is read, and not waited for. */
  isServing?: boolean
  /** Of an engine elsewhere: nothing is waited for longer than a venue may remain unheard. */
  isRecording?: boolean
  /** Books may go to an archive while it is open. */
  isArchiving?: boolean
  /** The address whose replica a file is: chunks without bytes are there. */
  chunksAt?: string | undefined
  /** In place of what is at an address. */
  chunkSource?: ChunkSource | undefined
  /** The file that keeps what was fetched, if this one is served; by default it is in memory alone. */
  chunkCache?: ChunkCachePlace | undefined
  /** Of a file that is up to date; what writes to it fails. */
  isReadOnly?: boolean
  /** Size that the file may not outgrow. */
  bytesMax?: number
  /** When changes are noted to be made; the clock of SQLite by default. */
  clock?: Clock
}

/**
 * Opens or creates a history, in a file or at an address, and brings it up to
 * date. Throws `storage_unavailable`.
 */
export function openHistory(path: string, options: HistoryOptions = {}): MarketHistory {
  const { chunkCacheBytes = 64 * 1024 * 1024, lagMs = 0, isReadOnly, bytesMax } = options
  const engine = engineAt(path)
  const remote = engine?.open(path, 'history')
  const db = remote ?? openDatabase(path, { isReadOnly, bytesMax })
  try {
    const { clock } = options
    const { isServing, isArchiving, chunksAt, chunkCache } = options
    const { chunkSource = chunksAt === undefined ? undefined : openChunks(chunksAt) } = options
    const history = createSqliteHistory(db, {
      chunkCacheBytes,
      lagMs,
      clock,
      isServing,
      isArchiving,
      chunksAt,
      chunkSource,
      chunkCache,
    })
    if (options.isRecording) remote?.waitBriefly()
    if (!options.hasCheckpointThread || remote !== undefined) return history
    const checkpoints = startCheckpoints(db, path)
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
