/**
 * The cache of fetched parts of chunks, sealed as they are stored: a file that all threads share, up
 * to a size, and the newest parts in memory. Parts that the file has no room for, or that cannot be
 * written because it is locked, are in memory only. A part that was used within a minute is not
 * evicted, so that the request that fetched it finds it.
 */
import { rmSync } from 'node:fs'

import { codeOf, type Database } from '#src/database/database.ts'
import { closeFile, openCacheFile, usedBytesOf } from '#src/database/sqlite/database.ts'
import { type ChunkCachePlace, type ChunkKind, chunkKinds } from '#src/database/stores.ts'
import { createCache } from '#src/platform/cache.ts'

import type { FetchedChunks } from './chunk-fetch.ts'

const MEMORY_BYTES_MAX = 32 * 1024 * 1024
/** The longest wait of a write while another thread writes. */
const BUSY_MS = 20
const USED_SECONDS = 60
/** The maximum age of the noted time of a use; several uses are noted together. */
const NOTED_SECONDS = 20
const NOTE_EVERY_MS = 1000
/** Rows that one statement removes, and pages that it returns to the file system. */
const REMOVED_ROWS = 64
const REMOVED_PAGES = 512
const ROUNDS_MAX = 8

const schema = `CREATE TABLE IF NOT EXISTS part (
  key INTEGER PRIMARY KEY, used_s INTEGER NOT NULL, bytes BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS part_used ON part (used_s)`

/** Errors after which the file can be used again, and errors after which it is deleted. */
const passing: ReadonlySet<string> = new Set(['SQLITE_BUSY', 'SQLITE_FULL'])
const damaged: ReadonlySet<string> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB'])

const keyOf = (chunkId: number, kind: ChunkKind): number =>
  chunkId * chunkKinds.length + chunkKinds.indexOf(kind)

export function createFetchedChunks(place?: ChunkCachePlace): FetchedChunks {
  const memory = createCache<number, Uint8Array>(MEMORY_BYTES_MAX)
  let file: ReturnType<typeof openFile> | undefined
  let isUsable = place !== undefined

  /** Runs `use` on the file; undefined if there is no file or it is unusable now. */
  function withFile<T>(use: (opened: ReturnType<typeof openFile>) => T): T | undefined {
    if (!isUsable || place === undefined) return undefined
    try {
      file ??= openFile(place)
      return use(file)
    } catch (error) {
      const code = codeOf(error)
      // The file is locked, or the disk is full, which may pass.
      if (passing.has(code)) return undefined
      isUsable = false
      file?.close()
      // The next process starts with an empty file.
      if (damaged.has(code))
        for (const end of ['', '-wal', '-shm']) rmSync(place.path + end, { force: true })
      return undefined
    }
  }

  return {
    find(chunkId, kind) {
      const key = keyOf(chunkId, kind)
      const known = memory.get(key)
      if (known !== undefined) return known
      const bytes = withFile((opened) => opened.find(key))
      withFile((opened) => opened.noteUses())
      if (bytes !== undefined) memory.set(key, bytes, { size: bytes.length })
      return bytes
    },

    keep(parts) {
      for (const { chunkId, kind, bytes } of parts)
        memory.set(keyOf(chunkId, kind), bytes, { size: bytes.length })
      withFile(({ put }) =>
        put(parts.map(({ chunkId, kind, bytes }) => ({ key: keyOf(chunkId, kind), bytes }))),
      )
    },

    close(): void {
      isUsable = false
      file?.close()
    },
  }
}

function openFile({ path, bytesMax }: ChunkCachePlace) {
  const db: Database = openCacheFile(path, schema, BUSY_MS)
  const find = db.prepare<unknown, [number]>(
    'SELECT bytes, unixepoch() - used_s FROM part WHERE key = $1',
  )
  const put = db.prepare<unknown, [{ key: number; bytes: Uint8Array }]>(
    'INSERT OR REPLACE INTO part (key, used_s, bytes) VALUES ($key, unixepoch(), $bytes)',
  )
  const note = db.prepare<unknown, [number]>('UPDATE part SET used_s = unixepoch() WHERE key = $1')
  const remove = db.prepare<unknown, []>(
    `DELETE FROM part WHERE key IN
       (SELECT key FROM part WHERE used_s < unixepoch() - ${USED_SECONDS}
        ORDER BY used_s LIMIT ${REMOVED_ROWS})`,
  )
  const used = new Set<number>()
  let notedMs = performance.now()

  function write(body: () => void): void {
    db.run('BEGIN IMMEDIATE')
    try {
      body()
      db.run('COMMIT')
    } catch (error) {
      if (db.inTransaction) db.run('ROLLBACK')
      throw error
    }
  }

  /** Removes the least recently used parts until the file fits its size. */
  function makeRoom(): void {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (usedBytesOf(db) <= bytesMax) return
      if (remove.run().changes === 0) return
      db.run(`PRAGMA incremental_vacuum(${REMOVED_PAGES})`)
    }
  }

  return {
    find(key: number): Uint8Array | undefined {
      const [bytes, seconds] = find.values(key)[0] ?? []
      if (!(bytes instanceof Uint8Array)) return undefined
      if (Number(seconds) > NOTED_SECONDS) used.add(key)
      return bytes
    },

    noteUses(): void {
      if (used.size === 0 || performance.now() - notedMs < NOTE_EVERY_MS) return
      notedMs = performance.now()
      const keys = [...used]
      used.clear()
      write(() => {
        for (const key of keys) note.run(key)
      })
    },

    put(parts: readonly { key: number; bytes: Uint8Array }[]): void {
      write(() => {
        for (const each of parts) put.run(each)
      })
      makeRoom()
    },

    close: (): void => closeFile(db),
  }
}
