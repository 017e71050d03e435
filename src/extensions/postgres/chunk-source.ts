/** Chunks of a history on PostgreSQL: one statement for all that are asked for at once. */
import type { ChunkBlob, ChunkSource } from '#src/database/stores.ts'

import { addressOf } from './address.ts'
import { askWithin, closeNow, connect, type Question } from './bridge.ts'
import { errorOf, failureOf } from './faults.ts'
import { postgresHistory } from './formats.ts'

/** For a connection and what is asked on it. */
const ANSWER_MS_MAX = 5000
const CONNECTIONS = 4

export function openChunks(place: string): ChunkSource {
  const sql = connect(addressOf(place, postgresHistory.schema), {
    max: CONNECTIONS,
    statementMsMax: ANSWER_MS_MAX,
  })

  return {
    async fetch(blobs: readonly ChunkBlob[]) {
      const kinds = [...new Set(blobs.map(({ kind }) => kind))]
      const ids = [...new Set(blobs.map(({ chunkId }) => chunkId))]
      const question: Question = {
        text: `SELECT id, ${kinds} FROM chunk WHERE id = ANY (CAST(CAST($1 AS TEXT) AS BIGINT[]))`,
        values: [`{${ids}}`],
        isBare: true,
      }
      const [answer] = await askWithin(ANSWER_MS_MAX, sql, [question]).catch((error) => {
        throw errorOf(failureOf(error))
      })
      const rows = (answer?.rows ?? []) as [id: number, ...Uint8Array[]][]
      const found = new Map(rows.map(([id, ...cells]) => [id, cells]))
      return blobs.map(({ chunkId, kind }) => found.get(chunkId)?.[kinds.indexOf(kind)])
    },
    close: () => void closeNow(sql),
  }
}
