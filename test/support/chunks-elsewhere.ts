/** Moves the chunks of a history file elsewhere, as they are in a replica of a database. */
import { openDatabase } from '#src/database/sqlite/database.ts'
import { type ChunkBlob, chunkKinds, type ChunkSource } from '#src/database/stores.ts'

export type Elsewhere = ChunkSource & {
  /** What was asked for, in the order of the questions. */
  asked: (readonly ChunkBlob[])[]
}

/** Empties the chunks of a file; the source has what they were. */
export function moveChunks(path: string): Elsewhere {
  const db = openDatabase(path)
  const parts = new Map<string, Uint8Array>()
  for (const kind of chunkKinds) {
    const rows = db.prepare<unknown, []>(`SELECT id, ${kind} FROM chunk`).values()
    for (const [id, bytes] of rows) parts.set(`${id} ${kind}`, bytes as unknown as Uint8Array)
    db.run(`UPDATE chunk SET ${kind} = x''`)
  }
  db.close()
  const asked: Elsewhere['asked'] = []
  return {
    asked,
    async fetch(blobs) {
      asked.push(blobs)
      await Promise.resolve()
      return blobs.map(({ chunkId, kind }) => parts.get(`${chunkId} ${kind}`)?.slice())
    },
    close() {},
  }
}
