/** Rows of the spot table: reference prices of coins. */
import { spot } from '#db/history/schema.ts'
import type { Coin } from '#src/core/market.ts'
import type { SpotTick, StoredTick } from '#src/core/spot.ts'
import { assertSealed, checksumOf, SUM_END } from '#src/sqlite/checksum.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { SpotQuery } from '../history.ts'
import type { MetaTable } from './meta-table.ts'

type SpotRow = typeof spot.$inferSelect
type Removal = { coin: string; beforeMs: number; limit: number }
type Range = Record<'fromMs' | 'toMs' | 'afterMs' | 'afterId' | 'limit', number> &
  Record<'coin', string> & { source: string | null; windowSeconds: number | null }

/** Reads and writes ticks. */
export function createSpotTable(db: Database, meta: MetaTable) {
  const sql = sqlOf(spot)
  const insert = db.prepare<unknown, [SpotRow]>(
    `${sql.insert()} ON CONFLICT (coin, source, window_seconds, time_ms) DO NOTHING`,
  )
  // No id is given twice, so the greatest stays.
  const remove = db.prepare<Pick<SpotRow, 'checksum'>, [Removal]>(
    `DELETE FROM spot WHERE id IN (
       SELECT id FROM spot WHERE coin = $coin AND time_ms < $beforeMs
         AND id < (SELECT max(id) FROM spot) LIMIT $limit) RETURNING checksum`,
  )
  const lastId = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM spot')
  const select = (after: '>' | '<', order: 'ASC' | 'DESC') =>
    db.prepare<SpotRow, [Range]>(
      `SELECT ${sql.columns()} FROM spot
       WHERE coin = $coin AND time_ms >= $fromMs AND time_ms < $toMs
         AND (time_ms, id) ${after} ($afterMs, $afterId)
         AND ($source IS NULL OR source = $source)
         AND ($windowSeconds IS NULL OR window_seconds = $windowSeconds)
       ORDER BY time_ms ${order}, id ${order} LIMIT $limit`,
    )
  const all = db.prepare<SpotRow, []>(`SELECT ${sql.columns()} FROM spot`)
  const reads = { asc: select('>', 'ASC'), desc: select('<', 'DESC') }

  return {
    /**
     * Adds ticks; one whose source, window and time are held vanishes. Returns how many were new.
     */
    insert(ticks: readonly SpotTick[]): number {
      let id = (lastId.get()?.id ?? 0) + 1
      let [added, sumAdded] = [0, 0]
      for (const tick of ticks) {
        const row = toRow(tick, id)
        if (insert.run(row).changes === 0) continue
        id++
        added++
        sumAdded += row.checksum
      }
      if (added > 0) meta.putSpotSum((meta.spotSum() + sumAdded) % SUM_END)
      return added
    },

    /** Removes some of the ticks before a moment; returns how many. */
    remove(removal: Removal): number {
      const gone = remove.all(removal)
      const sum = gone.reduce((total, { checksum }) => total + checksum, 0) % SUM_END
      if (gone.length > 0) meta.putSpotSum((meta.spotSum() + SUM_END - sum) % SUM_END)
      return gone.length
    },

    /** A sentence a fault. */
    verify(): string[] {
      const faults: string[] = []
      let sum = 0
      for (const row of all.iterate()) {
        sum = (sum + row.checksum) % SUM_END
        if (row.checksum !== checksumOf(row)) faults.push(`${nameOf(row)} is not as it was written`)
      }
      return sum === meta.spotSum() ? faults : [...faults, 'spot table: its rows are not all there']
    },

    /** Throws `Damage`. */
    list({ coin, order, limit, source, windowSeconds, ...range }: SpotQuery): StoredTick[] {
      const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, after } = range
      const edge = order === 'asc' ? -1 : Number.MAX_SAFE_INTEGER
      const { timestampMs: afterMs, id: afterId } = after ?? { timestampMs: edge, id: edge }
      return reads[order]
        .all({
          ...{ coin, fromMs, toMs, afterMs, afterId, limit },
          ...{ source: source ?? null, windowSeconds: windowSeconds ?? null },
        })
        .map(toTick)
    },
  }
}

function toRow(tick: SpotTick, id: number): SpotRow {
  const { coin, source, windowSeconds, timestampMs, price } = tick
  const { receivedMs = null, sequence = null, dropped = null } = tick
  const row = {
    ...{ id, coin, source, windowSeconds, timeMs: timestampMs },
    ...{ price, receivedMs, sequence, dropped, checksum: 0 },
  }
  row.checksum = checksumOf(row)
  return row
}

const nameOf = ({ id, coin }: SpotRow): string => `price ${id} of ${coin}`

function toTick(row: SpotRow): StoredTick {
  assertSealed(row, nameOf(row))
  const { id, source, windowSeconds, timeMs, price, receivedMs, sequence, dropped } = row
  return {
    ...{ id, coin: row.coin as Coin, source, windowSeconds, timestampMs: timeMs, price },
    ...{ receivedMs: receivedMs ?? undefined, sequence: sequence ?? undefined },
    dropped: dropped ?? undefined,
  }
}
