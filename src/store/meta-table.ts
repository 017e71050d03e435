/** Facts about the file itself: ids, applied batches, the cursor key, totals. */
import { randomBytes } from 'node:crypto'

import type { Database } from './database.ts'
import type { Totals } from './history.ts'

const CURSOR_KEY_BYTES = 32

type Counts = { accepted: number; duplicates: number }

/** Reads and writes the meta and batch tables. */
export function createMetaTable(db: Database) {
  const get = db.prepare<{ value: unknown }, [string]>('SELECT value FROM meta WHERE key = ?')
  const put = db.prepare('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)')
  const putOnce = db.prepare('INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM meta WHERE key = ?')
  const findBatch = db.prepare<Counts, [string]>(
    'SELECT accepted, duplicates FROM batch WHERE id = ?',
  )
  const putBatch = db.prepare('INSERT INTO batch (id, accepted, duplicates) VALUES (?, ?, ?)')
  const totals = db.prepare<Omit<Totals, 'bytes'>, []>(
    'SELECT count(*) AS markets, ifnull(sum(up_count + down_count), 0) AS snapshots FROM market',
  )
  const size = db.prepare<{ bytes: number }, []>(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  )

  const nextId = (): number => Number(get.get('next_id')?.value ?? 1)

  return {
    findBatch: (id: string): Counts | undefined => findBatch.get(id) ?? undefined,

    putBatch: (id: string, { accepted, duplicates }: Counts): void => {
      putBatch.run(id, accepted, duplicates)
    },

    nextId,

    /** Reserves `count` ids and returns the first. */
    takeIds(count: number): number {
      const next = nextId()
      if (count > 0) put.run('next_id', next + count)
      return next
    },

    /** The key of this history, made at the first call; a history that may only be read makes a passing one. */
    cursorKey(): Uint8Array {
      const known = get.get('cursor_key')?.value
      if (known instanceof Uint8Array) return known
      const made = randomBytes(CURSOR_KEY_BYTES)
      putOnce.run('cursor_key', made)
      const stored = get.get('cursor_key')?.value
      return stored instanceof Uint8Array ? stored : made
    },

    /** True after a migration until `settleCoverage`: src/store/backfill.ts. */
    isCoverageDue: (): boolean => get.get('coverage_due') !== null,

    settleCoverage: (): void => {
      remove.run('coverage_due')
    },

    totals: (): Totals => ({
      ...(totals.get() ?? { markets: 0, snapshots: 0 }),
      bytes: size.get()?.bytes ?? 0,
    }),
  }
}

export type MetaTable = ReturnType<typeof createMetaTable>
