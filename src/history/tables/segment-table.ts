/** Objects of the archive, each noted before it is put and until it is deleted. */
import { segment } from '#db/history/schema.ts'
import { assertSealed, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

import { nameOf } from './archive.ts'
import type { LogMeta } from './meta-table.ts'

type SegmentRow = typeof segment.$inferSelect
const given = [
  'marketId',
  'layout',
  'name',
  'bytes',
  'sha256',
  'madeMs',
  'isSealed',
  'checksum',
] as const
export type Segment = Pick<SegmentRow, 'id' | 'name'>

/** Creates the table. Each change is sealed: an object without a row is deleted permanently. */
export function createSegmentTable(db: Database, logMeta: LogMeta) {
  const sql = sqlOf(segment)
  const columns = sql.columns()
  const insert = db.prepare<{ id: number }, [Omit<SegmentRow, 'id'>]>(
    `${sql.insert(given)} RETURNING id`,
  )
  const update = db.prepare<unknown, [SegmentRow]>(
    `UPDATE segment SET ${sql.set(given)} WHERE id = $id`,
  )
  const removeById = db.prepare<unknown, [number]>('DELETE FROM segment WHERE id = $1')
  const find = db.prepare<SegmentRow, [number]>(`SELECT ${columns} FROM segment WHERE id = $1`)
  const ofMarket = db.prepare<SegmentRow, [number]>(
    `SELECT ${columns} FROM segment WHERE market_id = $1 ORDER BY id DESC`,
  )
  const list = db.prepare<SegmentRow, []>(`SELECT ${columns} FROM segment ORDER BY id`)
  const sound = <R extends SegmentRow | null>(row: R): R => {
    if (row !== null) assertSealed(row, `segment ${row.id}`)
    return row
  }

  /** Saves a row in the column order that the checksum follows. */
  function save(row: SegmentRow): void {
    const { id, marketId, layout, name, bytes, sha256, madeMs, isSealed } = row
    const values = { id, marketId, layout, name, bytes, sha256, madeMs, isSealed }
    const checksum = checksumOf(values)
    update.run({ ...values, checksum })
    logMeta.addToSum('segment', SUM_END + checksum - row.checksum)
  }

  return {
    /** Notes an object that will be put; its name contains its id. */
    begin(row: Pick<SegmentRow, 'marketId' | 'bytes' | 'sha256' | 'madeMs'>): Segment {
      const noted = { ...row, layout: null, name: '', isSealed: 0, checksum: 0 }
      const id = insert.get(noted)?.id ?? 0
      const name = nameOf(id, row.sha256)
      save({ ...noted, id, name })
      return { id, name }
    },

    /**
     * Seals an object; false if it was taken as an orphan. `layout` is that of the market, if
     * nothing of it is left to put.
     */
    seal(id: number, layout: number | undefined): boolean {
      const row = sound(find.get(id))
      if (row === null || row.marketId === null) return false
      save({ ...row, layout: layout ?? null, isSealed: 1 })
      return true
    },

    /** Notes that nothing more of a market can be put. */
    relayout(marketId: number, layout: number): void {
      const newest = ofMarket.all(marketId).find(({ isSealed }) => isSealed === 1)
      if (newest !== undefined) save({ ...sound(newest), layout })
    },

    /** Releases the objects of a deleted market. */
    release(marketId: number): void {
      for (const row of ofMarket.all(marketId)) save({ ...sound(row), marketId: null })
    },

    forget(id: number): void {
      const row = sound(find.get(id))
      if (row === null) return
      removeById.run(id)
      logMeta.addToSum('segment', SUM_END - row.checksum)
    },

    /** Objects that are no longer read: those of deleted markets, and unfinished ones. */
    takeOrphans(beforeMs: number): Segment[] {
      const orphans = list.all().filter((row) => isOrphan(sound(row), beforeMs))
      // The process that began it may be slow and still running.
      for (const row of orphans) if (row.marketId !== null) save({ ...row, marketId: null })
      return orphans
    },

    totals: () => sumOf(list.all().filter(({ isSealed }) => isSealed === 1)),

    verify(): string[] {
      let sum = 0
      for (const row of list.iterate()) sum = (sum + sound(row).checksum) % SUM_END
      return sum === logMeta.sumOf('segment') ? [] : ['segment table: rows are missing']
    },
  }
}

const isOrphan = ({ marketId, isSealed, madeMs }: SegmentRow, beforeMs: number): boolean =>
  marketId === null || (isSealed === 0 && madeMs < beforeMs)

const sumOf = (rows: readonly SegmentRow[]) => ({
  objects: rows.length,
  bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** Lists markets that ended before a moment and may have books to archive. */
export function createDueList(db: Database): (beforeMs: number) => number[] {
  const due = db.prepare<{ id: number }, [number]>(
    `SELECT id FROM market
     WHERE coalesce(window_end_ms, last_ms) < $1 AND first_ms IS NOT NULL
       AND EXISTS (SELECT 1 FROM chunk WHERE market_id = market.id)
       AND NOT EXISTS (SELECT 1 FROM segment WHERE market_id = market.id AND layout = market.layout)
     ORDER BY order_ms, condition_id`,
  )
  return (beforeMs) => due.all(beforeMs).map(({ id }) => id)
}
