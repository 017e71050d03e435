/** Chunks of a history on PostgreSQL: one statement for all that are asked for at once. */
import type { ChunkBlob, ChunkSource } from '#src/database/stores.ts'
import { isFault } from '#src/platform/fault.ts'
import { within } from '#src/platform/patience.ts'

import { addressOf } from './address.ts'
import { type Answer, connect, faultOf, NO_ANSWER, type Question, runOn } from './bridge.ts'
import { errorOf, postgresHistory } from './database.ts'

/** For a connection and what is asked on it. */
const ANSWER_MS_MAX = 5000
const CONNECTIONS = 4

export function openChunks(place: string): ChunkSource {
  const sql = connect(addressOf(place, postgresHistory.schema), {
    max: CONNECTIONS,
    statementMsMax: ANSWER_MS_MAX,
  })

  async function ask(question: Question): Promise<Answer['rows']> {
    try {
      const { rows } = await within(ANSWER_MS_MAX, runOn(sql, question))
      return rows
    } catch (error) {
      throw errorOf(isFault(error, 'no_answer') ? NO_ANSWER : faultOf(error))
    }
  }

  return {
    async fetch(blobs: readonly ChunkBlob[]) {
      const kinds = [...new Set(blobs.map(({ kind }) => kind))]
      const ids = [...new Set(blobs.map(({ chunkId }) => chunkId))]
      const rows = (await ask({
        text: `SELECT id, ${kinds} FROM chunk WHERE id = ANY (CAST(CAST($1 AS TEXT) AS BIGINT[]))`,
        values: [`{${ids}}`],
        isBare: true,
      })) as [id: number, ...Uint8Array[]][]
      const found = new Map(rows.map(([id, ...cells]) => [id, cells]))
      return blobs.map(({ chunkId, kind }) => found.get(chunkId)?.[kinds.indexOf(kind)])
    },
    close: () => void sql.close({ timeout: 0 }).catch(() => {}),
  }
}
