/** Facts about the file itself: ids, applied batches, the cursor key, totals. */

import { randomBytes } from 'node:crypto'

import { batch, logMeta, meta as metaTable } from '#db/history/schema.ts'
import { assertSound, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, olderStore, storageError, transact } from '#src/database/database.ts'
import { fileBytesOf } from '#src/database/sqlite/database.ts'

/**
 * Marks an unfinished copy, with the cursor key of its original
 * (extensions/postgres/copy-history.ts).
 */
export const COPYING = 'copying'
const CURSOR_KEY = 'cursor_key'
/** The row with the checksum of all others. */
const CHECKSUM = 'checksum'
const BATCH_SUM = 'batch_sum'
const SPOT_SUM = 'spot_sum'
const KNOWN_SINCE = 'known_since_ms'
const SIGNING_KEY = 'signing_key'
const ARCHIVE = 'archive'
const NEXT_CHECKED_ID = 'next_checked_id'
const LAST_MARKET_ID = 'last_market_id'
/** Left by the converting version if it did not complete an older file. */
const COVERAGE_DUE = 'coverage_due'

type BatchRow = typeof batch.$inferSelect
type Counts = Omit<BatchRow, 'id'>
/** Tables with a sum of their checksums. */
type Log = 'revision' | 'manifest' | 'segment' | 'evidence' | 'window_outcome'

export function createMetaTable(db: Database) {
  const meta = createMeta(db, 'meta')
  const sql = sqlOf(batch)
  const findBatch = db.prepare<Counts, [Pick<BatchRow, 'id'>]>(
    `SELECT ${sql.columns(['accepted', 'duplicates'])} FROM batch WHERE id = $id`,
  )
  const putBatch = db.prepare<unknown, [BatchRow]>(sql.insert())
  const batches = db.prepare<BatchRow, []>(`SELECT ${sql.columns()} FROM batch`)
  const totals = db.prepare<{ markets: number; snapshots: number }, []>(
    `SELECT count(*) AS markets,
       coalesce(sum(up_count + down_count), 0) AS snapshots FROM market`,
  )

  function sumBatches(): number {
    let sum = 0
    for (const row of batches.iterate()) sum = (sum + checksumOf(row)) % SUM_END
    return sum
  }

  const isNew = (): boolean => Object.keys(meta.list()).length === 0
  function begin(): void {
    // Another process may have been faster.
    if (isNew()) meta.begin({ [BATCH_SUM]: 0, [CURSOR_KEY]: randomBytes(32) })
  }

  return {
    /** Makes the cursor key, in a transaction that writes, unless there is one. */
    prepare: begin,

    /** The cursor key, created at the first opening. Throws a `damage` fault. */
    open(): Uint8Array {
      if (meta.get(COPYING) !== undefined)
        throw storageError('A copy of a history did not finish. Run bookfeed copy again.')
      if (meta.get(COVERAGE_DUE) !== undefined) throw olderStore('The history')
      if (isNew()) transact(db, begin)
      assertSound(meta.isSound(), 'the meta table')
      return meta.get(CURSOR_KEY) as Uint8Array
    },

    verify: (): string[] => [
      ...(meta.isSound() ? [] : ['meta table: it is not as it was written']),
      ...(meta.get(BATCH_SUM) === sumBatches() ? [] : ['batch table: it is not as it was written']),
    ],

    findBatch: (id: string): Counts | undefined => findBatch.get({ id }) ?? undefined,

    putBatch(id: string, { accepted, duplicates }: Counts): void {
      const row = { id, accepted, duplicates }
      putBatch.run(row)
      const sum = Number(meta.get(BATCH_SUM)) + checksumOf(row)
      meta.put(BATCH_SUM, sum % SUM_END)
    },

    /** The sum of the checksums of all prices of coins. */
    spotSum: (): number => Number(meta.get(SPOT_SUM) ?? 0),
    putSpotSum: (sum: number): void => meta.put(SPOT_SUM, sum),

    ...createIds(meta),
    ...createDue(meta),

    totals: () => ({
      ...(totals.get() ?? { markets: 0, snapshots: 0 }),
      bytes: fileBytesOf(db),
    }),
  }
}

export type MetaTable = ReturnType<typeof createMetaTable>

/** The metadata of the logs, under a separate checksum. */
export function createLogMeta(db: Database) {
  const meta = createMeta(db, 'log_meta')
  const nameOf = (log: Log): string => `${log}_sum`
  const isBegun = () => (meta.get(CHECKSUM) ?? meta.get(KNOWN_SINCE)) !== undefined
  function begin(clock: () => number): void {
    if (!isBegun()) meta.begin({ [KNOWN_SINCE]: clock(), [SIGNING_KEY]: randomBytes(32) })
  }
  return {
    /** The start of the logs, Unix milliseconds. Throws a `damage` fault. */
    sinceMs(): number {
      assertSound(meta.isSound(), 'the log_meta table')
      return Number(meta.get(KNOWN_SINCE))
    },

    /** 32 secret bytes, created with the logs, that sign manifests. Throws a `damage` fault. */
    signingKey(): Uint8Array {
      assertSound(meta.isSound(), 'the log_meta table')
      return meta.get(SIGNING_KEY) as Uint8Array
    },

    /** The place of archived books: `s3://bucket/prefix`; undefined if all are in the database. */
    archivePlace(): string | undefined {
      assertSound(meta.isSound(), 'the log_meta table')
      const place = meta.get(ARCHIVE)
      return place instanceof Uint8Array ? new TextDecoder().decode(place) : undefined
    },
    putArchivePlace: (place: string): void => meta.put(ARCHIVE, new TextEncoder().encode(place)),

    /**
     * The first trade that may still need a receipt of its transaction; undefined if no server of
     * this history ever had a node to ask.
     */
    nextCheckedId(): number | undefined {
      const id = meta.get(NEXT_CHECKED_ID)
      return id === undefined ? undefined : Number(id)
    },
    putNextCheckedId: (id: number): void => meta.put(NEXT_CHECKED_ID, id),

    /** Begins the logs, unless they exist. */
    begin(clock: () => number): void {
      if (!isBegun()) transact(db, () => begin(clock))
    },
    /** Like `begin`, within a write transaction. */
    prepare: begin,

    /** The sum of the checksums of all rows of a log. */
    sumOf: (log: Log): number => Number(meta.get(nameOf(log)) ?? 0),
    addToSum(log: Log, checksum: number): void {
      meta.put(nameOf(log), (Number(meta.get(nameOf(log)) ?? 0) + checksum) % SUM_END)
    },

    verify: (): string[] => (meta.isSound() ? [] : ['log_meta table: it is not as it was written']),
  }
}

export type LogMeta = ReturnType<typeof createLogMeta>

/** Verifies a table with a sum of its checksums. */
export function verifyLog(
  rows: Iterable<Record<string, unknown> & { checksum: number }>,
  table: Parameters<LogMeta['sumOf']>[0],
  meta: LogMeta,
): string[] {
  let sum = 0
  let isSound = true
  for (const row of rows) {
    sum = (sum + row.checksum) % SUM_END
    isSound &&= row.checksum === checksumOf(row)
  }
  return isSound && sum === meta.sumOf(table) ? [] : [`${table} table: it is not as it was written`]
}

function createIds(meta: ReturnType<typeof createMeta>) {
  const nextId = (): number => Number(meta.get('next_id') ?? 1)
  const lastDeletedId = (): number => Number(meta.get(LAST_MARKET_ID) ?? 0)
  return {
    nextId,

    /** Reserves `count` ids and returns the first. */
    takeIds(count: number): number {
      const next = nextId()
      if (count > 0) meta.put('next_id', next + count)
      return next
    },

    /** Like `takeIds`, for trades; `least` exceeds every stored trade id. */
    takeTradeIds(count: number, least: number): number {
      const next = Math.max(least, Number(meta.get('next_trade_id') ?? 1))
      meta.put('next_trade_id', next + count)
      return next
    },

    /** The greatest id of a deleted market; 0 if there is none. */
    lastDeletedId,
    /** Prevents reuse of an id: cached data of one market must never match another. */
    noteMarketId(id: number): void {
      if (id > lastDeletedId()) meta.put(LAST_MARKET_ID, id)
    },
  }
}

/** Work that a stopped process leaves to the next one. */
function createDue(meta: ReturnType<typeof createMeta>) {
  return {
    /** The deleted market of which data is left. */
    deletionDue(): number | undefined {
      const id = meta.get('deletion_due')
      return id === undefined ? undefined : Number(id)
    },
    putDeletion: (id: number): void => meta.put('deletion_due', id),
    settleDeletion: (): void => meta.remove('deletion_due'),
  }
}

/** The rows of the meta table under one checksum; a damaged table is never sealed again. */
export function createMeta(db: Database, name: 'meta' | 'log_meta') {
  const sql = sqlOf(name === 'meta' ? metaTable : logMeta)
  const find = db.prepare<unknown, [string]>(`SELECT value FROM ${name} WHERE key = $1`)
  const upsert = db.prepare<unknown, [{ key: string; value: MetaValue }]>(
    `${sql.insert()} ON CONFLICT (key) DO UPDATE SET ${sql.setExcluded(['value'])}`,
  )
  const remove = db.prepare<unknown, [string]>(`DELETE FROM ${name} WHERE key = $1`)
  const all = db.prepare<{ key: string; value: MetaValue }, []>(
    `SELECT ${sql.columns()} FROM ${name} ORDER BY key`,
  )
  type Rows = Map<string, MetaValue>

  const readRows = (): Rows => new Map(all.all().map(({ key, value }) => [key, value]))

  function get(key: string): MetaValue | undefined {
    return find.values(key)[0]?.[0] as MetaValue | undefined
  }

  /** Writes a row; `rows` are all rows of the table and stay unchanged. */
  function write(rows: Rows, key: string, value: MetaValue): void {
    upsert.run({ key, value })
    rows.set(key, value)
  }

  const isSealed = (rows: Rows): boolean => rows.get(CHECKSUM) === metaChecksum(rows)

  function change(body: (rows: Rows) => void): void {
    const rows = readRows()
    assertSound(isSealed(rows), `the ${name} table`)
    body(rows)
    write(rows, CHECKSUM, metaChecksum(rows))
  }

  return {
    get,
    isSound: (): boolean => isSealed(readRows()),
    list: (): Record<string, MetaValue> => Object.fromEntries(readRows()),
    put: (key: string, value: MetaValue): void => change((rows) => write(rows, key, value)),
    remove: (key: string): void =>
      change((rows) => {
        remove.run(key)
        rows.delete(key)
      }),

    begin(values: Readonly<Record<string, MetaValue>>): void {
      const rows = readRows()
      for (const [key, value] of Object.entries(values)) write(rows, key, value)
      write(rows, CHECKSUM, metaChecksum(rows))
    },
  }
}

export type MetaValue = number | Uint8Array

/** The checksum of a table of facts: of all rows but its own. */
export function metaChecksum(rows: ReadonlyMap<string, MetaValue>): number {
  const sealed = [...rows].filter(([key]) => key !== CHECKSUM).sort(([a], [b]) => (a < b ? -1 : 1))
  return checksumOf({ ...sealed.flat() })
}
