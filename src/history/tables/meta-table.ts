/** Facts about the file itself: ids, applied batches, the cursor key, totals. */

import { randomBytes } from 'node:crypto'

import { batch, logMeta, meta as metaTable } from '#db/history/schema.ts'
import { assertSound, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import {
  type Database,
  olderStore,
  readOnce,
  storageError,
  transact,
  writingOf,
} from '#src/database/database.ts'
import { type Packing, packingOf } from '#src/database/packing.ts'

/** Of an unfinished copy: the cursor key of what is copied (extensions/postgres/copy-history.ts). */
export const COPYING = 'copying'
const CURSOR_KEY = 'cursor_key'
/** The row that covers all others. */
const CHECKSUM = 'checksum'
const BATCH_SUM = 'batch_sum'
const SPOT_SUM = 'spot_sum'
const KNOWN_SINCE = 'known_since_ms'
const SIGNING_KEY = 'signing_key'
const ARCHIVE = 'archive'
const LAST_MARKET_ID = 'last_market_id'
/** Left by the converting version where it did not finish a file of an older one. */
const COVERAGE_DUE = 'coverage_due'

type BatchRow = typeof batch.$inferSelect
type Counts = Omit<BatchRow, 'id'>
/** Tables whose sum is kept. */
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
       CAST(coalesce(sum(up_count + down_count), 0) AS BIGINT) AS snapshots FROM market`,
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
    /** The cursor key, made at the first opening. Throws a `damage` fault. */
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
    later: meta.later,

    putBatch(id: string, { accepted, duplicates }: Counts): void {
      const row = { id, accepted, duplicates }
      putBatch.run(row)
      const sum = Number(meta.get(BATCH_SUM)) + checksumOf(row)
      meta.put(BATCH_SUM, sum % SUM_END)
    },

    /** Of the checksums of all prices of coins. */
    spotSum: (): number => Number(meta.get(SPOT_SUM) ?? 0),
    putSpotSum: (sum: number): void => meta.put(SPOT_SUM, sum),

    ...createIds(meta),
    ...createDue(meta),

    totals: () => ({
      ...(totals.get() ?? { markets: 0, snapshots: 0 }),
      bytes: db.engine.fileBytesOf(db),
    }),
  }
}

export type MetaTable = ReturnType<typeof createMetaTable>

/** What is kept of the logs, under a checksum of its own. */
export function createLogMeta(db: Database) {
  const meta = createMeta(db, 'log_meta')
  const nameOf = (log: Log): string => `${log}_sum`
  return {
    /** When they began to be kept, Unix milliseconds. Throws a `damage` fault. */
    sinceMs(): number {
      assertSound(meta.isSound(), 'the log_meta table')
      return Number(meta.get(KNOWN_SINCE))
    },

    /** 32 secret bytes made with the logs, which sign manifests. Throws a `damage` fault. */
    signingKey(): Uint8Array {
      assertSound(meta.isSound(), 'the log_meta table')
      return meta.get(SIGNING_KEY) as Uint8Array
    },

    /** Of books that are not in the database: `s3://bucket/prefix`; undefined where all are. */
    archivePlace(): string | undefined {
      assertSound(meta.isSound(), 'the log_meta table')
      const place = meta.get(ARCHIVE)
      return place instanceof Uint8Array ? new TextDecoder().decode(place) : undefined
    },
    putArchivePlace: (place: string): void => meta.put(ARCHIVE, new TextEncoder().encode(place)),

    /** Begins to keep them, unless that is so. */
    begin(clock: () => number): void {
      const isBegun = () => (meta.get(CHECKSUM) ?? meta.get(KNOWN_SINCE)) !== undefined
      if (isBegun()) return
      transact(db, () => {
        if (isBegun()) return
        meta.begin({ [KNOWN_SINCE]: clock(), [SIGNING_KEY]: randomBytes(32) })
      })
    },

    later: meta.later,

    /** The sum of the checksums of all rows of a log. */
    sumOf: (log: Log): number => Number(meta.get(nameOf(log)) ?? 0),
    addToSum(log: Log, checksum: number): void {
      meta.put(nameOf(log), (Number(meta.get(nameOf(log)) ?? 0) + checksum) % SUM_END)
    },

    verify: (): string[] => (meta.isSound() ? [] : ['log_meta table: it is not as it was written']),
  }
}

export type LogMeta = ReturnType<typeof createLogMeta>

/** Of a table whose sum is kept. */
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

    /** The same for trades; `least` is above every id of a trade that is stored. */
    takeTradeIds(count: number, least: number): number {
      const next = Math.max(least, Number(meta.get('next_trade_id') ?? 1))
      meta.put('next_trade_id', next + count)
      return next
    },

    /** The greatest id of a market that was deleted; 0 where none was. */
    lastDeletedId,
    /** No id is given twice: what is kept of one in memory is of no other. */
    noteMarketId(id: number): void {
      if (id > lastDeletedId()) meta.put(LAST_MARKET_ID, id)
    },
  }
}

/** Work that a process may leave behind, which the next one goes on with. */
function createDue(meta: ReturnType<typeof createMeta>) {
  return {
    /** The market that was deleted, of which something is left. */
    deletionDue(): number | undefined {
      const id = meta.get('deletion_due')
      return id === undefined ? undefined : Number(id)
    },
    putDeletion: (id: number): void => meta.put('deletion_due', id),
    settleDeletion: (): void => meta.remove('deletion_due'),
  }
}

/** The rows of the meta table, under one checksum; a table that is damaged is not sealed again. */
export function createMeta(db: Database, name: 'meta' | 'log_meta') {
  type Value = number | Uint8Array
  const sql = sqlOf(name === 'meta' ? metaTable : logMeta)
  const { pack, unpack } = packingOf(db)
  const find = db.prepare<unknown, [string]>(`SELECT value FROM ${name} WHERE key = $1`)
  const upsert = db.prepare<unknown, [{ key: string; value: Value }]>(
    `${sql.insert()} ON CONFLICT (key) DO UPDATE SET ${sql.setExcluded(['value'])}`,
  )
  const remove = db.prepare<unknown, [string]>(`DELETE FROM ${name} WHERE key = $1`)
  const all = db.prepare<{ key: string; value: Value }, []>(
    `SELECT ${sql.columns()} FROM ${name} ORDER BY key`,
  )
  /** Stored values by key, which a transaction that writes changes in place. */
  const rows = readOnce(db, all, (list) => new Map(list.map(({ key, value }) => [key, value])))

  const isWriting = (): boolean => writingOf(db) !== undefined
  const rowsNow = () => [...rows()].sort(([a], [b]) => (a < b ? -1 : 1))

  const get = (key: string): Value | undefined => {
    const value = isWriting() ? rows().get(key) : (find.values(key)[0]?.[0] as Value)
    return value === undefined ? undefined : unpack(value)
  }
  function write(key: string, value: Value): void {
    const packed = pack(value)
    upsert.run({ key, value: packed })
    if (isWriting()) rows().set(key, packed)
  }

  const isOther = ([key]: unknown[]): boolean => key !== CHECKSUM
  const sumOf = (rows: unknown[][]): number => checksumOf({ ...rows.filter(isOther).flat() })

  /** Of one state, as one statement: it is asked beside others that write, too. */
  function isSound(): boolean {
    const rows = rowsNow()
    const sealed = rows.find((row) => !isOther(row))?.[1]
    return sealed !== undefined && unpack(sealed as Value) === sumOf(rows)
  }

  function change(body: () => void): void {
    assertSound(isSound(), `the ${name} table`)
    body()
    write(CHECKSUM, sumOf(rowsNow()))
  }

  return {
    get,
    isSound,
    /** Asks for all rows, before the first is needed in a transaction that writes. */
    later: rows.later,
    list: (): Record<string, Value> =>
      Object.fromEntries(all.all().map(({ key, value }) => [key, unpack(value)])),
    put: (key: string, value: Value): void => change(() => write(key, value)),
    remove: (key: string): void =>
      change(() => {
        remove.run(key)
        rows().delete(key)
      }),

    begin(rows: Readonly<Record<string, Value>>): void {
      for (const [key, value] of Object.entries(rows)) write(key, value)
      write(CHECKSUM, sumOf(rowsNow()))
    },

    /**
     * Seals rows that were copied from an engine with another packing, with its checksum. What is
     * not as it was sealed there is not sealed here.
     */
    sealCopy(source: Packing): void {
      const rows = all.values()
      const packed = rows.map(([key, value]) => [key, source.pack(value as Value)])
      if (get(CHECKSUM) === sumOf(packed)) write(CHECKSUM, sumOf(rows))
    },
  }
}
