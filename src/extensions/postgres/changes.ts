/**
 * Reads from PostgreSQL the rows that a local copy lacks. The log of the database (table `change`)
 * has the keys of changed rows; their values are read in the same transaction.
 */
import type { ReservedSQL } from 'bun'

import type { Cell } from '#src/database/database.ts'
import { chunkKinds } from '#src/database/stores.ts'

import { NOW_MS, type Query, type QueryResult, queryWithin } from './connection.ts'
import {
  chunkPrint,
  type CopiedFile,
  loggedKeys,
  NO_STATE,
  type State,
  type Step,
} from './copied-file.ts'
import type { Format } from './formats.ts'
import type { StoreTable } from './tables.ts'

/** Timeout of statements that may return many rows. */
export const ROWS_MS_MAX = 30_000
/** Rows of one statement. */
const ROWS_AT_ONCE = 5000
/** Statements that are sent before the first response is read. */
const STATEMENTS_AT_ONCE = 8
/** Chunk ids in one statement, and in one local transaction of a first copy. */
const CHUNKS_AT_ONCE = 1000
/** Bytes of chunks in one response, which has at least one chunk. */
const CHUNK_BYTES_AT_ONCE = 4 * 1024 * 1024

const FIND_STATE = `SELECT last.serial, last.at_ms,
    CAST(EXISTS (SELECT 1 FROM change WHERE serial = $1 AND at_ms = $2) AS INT),
    CAST(NOT EXISTS (SELECT 1 FROM change WHERE serial <= $1) AS INT), ${NOW_MS}
  FROM (SELECT serial, at_ms FROM change ORDER BY serial DESC LIMIT 1) AS last`
/**
 * Empty if the log has lost the last read entry: the entries are then useless, and may be millions.
 */
const LIST_CHANGES = `SELECT DISTINCT name, key FROM change WHERE serial > $1
  AND EXISTS (SELECT 1 FROM change WHERE serial = $1 AND at_ms = $2) ORDER BY name, key`
/** Newest first, because they are requested first. */
const LIST_CHUNKS = `SELECT id, ${chunkPrint('octet_length')} FROM chunk WHERE id < $1
  ORDER BY id DESC LIMIT ${CHUNKS_AT_ONCE}`

/** Changes since the state of a file. */
export type Found = {
  /** State of the database. */
  next: State
  /** False if the log does not reach back to the state, or belongs to another database. */
  isContinued: boolean
  /** True if all chunks of the file may be kept. */
  keepsChunks: boolean
  nowMs: number
}
/** Log entry: a table, and the key of a row as JSON. */
export type Entry = [name: string, key: string]

export const findState = ({ serial, atMs }: State): Query => ({
  text: FIND_STATE,
  values: [serial, atMs],
  isBare: true,
})
export const listChanges = ({ serial, atMs }: State): Query => ({
  text: LIST_CHANGES,
  values: [serial, atMs],
  isBare: true,
})

export function toFound(answer: QueryResult | undefined, known: State, version: number): Found {
  const [serial = 0, atMs = 0, isKnown, isPruned, nowMs = 0] = (
    (answer?.rows[0] ?? []) as Cell[]
  ).map(Number)
  const isSameFormat = version === known.version
  return {
    next: { serial, atMs, version },
    isContinued: isKnown === 1 && isSameFormat,
    // The chunk of an id never changes within a database and format.
    keepsChunks: known === NO_STATE || (isPruned === 1 && isSameFormat),
    nowMs,
  }
}
export const entriesIn = (answer: QueryResult | undefined): Entry[] =>
  (answer?.rows ?? []) as Entry[]

export type Changes = ReturnType<typeof createChanges>

/** `noteRows` receives the number of copied rows of a table. */
export function createChanges(
  { tables: storeTables }: Format,
  noteRows: (count: number, table: string) => void = () => {},
) {
  const tables = storeTables.map(toReplicated)
  const chunk = tables.find(({ table }) => table.name === 'chunk')
  const others = tables.filter((table) => table !== chunk)

  /** Fetches the existing chunks among some ids, a few megabytes at a time. */
  async function* namedChunks(
    connection: ReservedSQL,
    { findSome }: Replicated,
    ids: readonly number[],
  ): AsyncGenerator<Cell[][]> {
    const ask = (some: readonly number[]): Promise<QueryResult[]> => {
      const asking = queryWithin(ROWS_MS_MAX, connection, [findSome(some)])
      // Awaited below, unless writing these rows fails.
      asking.catch(() => {})
      return asking
    }
    let rest = ids.toSorted((a, b) => a - b)
    if (rest.length === 0) return
    for (let asking = ask(rest); rest.length > 0;) {
      const rows = ((await asking)[0]?.rows ?? []) as Cell[][]
      const bytes = rows.flat().reduce((sum: number, cell) => sum + sizeOf(cell), 0)
      const lastId = Number(rows.at(-1)?.[0])
      rest = bytes < CHUNK_BYTES_AT_ONCE ? [] : rest.filter((id) => id > lastId)
      // The next rows arrive while these are written.
      if (rest.length > 0) asking = ask(rest)
      yield rows
    }
  }

  /**
   * Yields chunks that a file lacks, newest first, without rereading those it has. `remove` deletes
   * chunks that are not in the database.
   */
  async function* lackingChunks(
    connection: ReservedSQL,
    own: Replicated,
    local: CopiedFile,
    remove: (part: { fromId: number; beforeId: number; ids: string }) => Promise<void>,
  ): AsyncGenerator<Cell[][]> {
    const list = (beforeId: number) =>
      queryWithin(ROWS_MS_MAX, connection, [
        { text: LIST_CHUNKS, values: [beforeId], isBare: true },
      ])
    let beforeId = Number.MAX_SAFE_INTEGER
    for (let listing = list(beforeId), isLast = false; !isLast;) {
      const listed = ((await listing)[0]?.rows ?? []) as [id: number, print: string][]
      isLast = listed.length < CHUNKS_AT_ONCE
      const fromId = isLast ? 0 : (listed.at(-1)?.[0] ?? 0)
      const part = { fromId, beforeId, ids: JSON.stringify(listed.map(([id]) => id)) }
      const held = local.findChunks(part)
      const lacking = listed.filter(([id, print]) => held.get(id) !== print).map(([id]) => id)
      if (local.hasOtherChunks(part)) await remove(part)
      for await (const rows of namedChunks(connection, own, lacking)) {
        yield rows
        noteRows(rows.length, own.table.name)
      }
      if (!isLast) listing = list(fromId)
      beforeId = fromId
    }
  }

  return {
    /** Yields the current values of the rows of log entries. */
    async *named(connection: ReservedSQL, entries: readonly Entry[]): AsyncGenerator<Step> {
      const keysOf = Map.groupBy(entries, ([name]) => name)
      if (chunk !== undefined) {
        const keys = keysOf.get('chunk')?.map(([, key]): Cell[] => JSON.parse(key)) ?? []
        if (keys.length > 0) yield { table: chunk.table, gone: keys, rows: [] }
        const ids = keys.map(([id]) => Number(id))
        for (const some of slicesOf(ids, CHUNKS_AT_ONCE))
          for await (const rows of namedChunks(connection, chunk, some))
            yield { table: chunk.table, gone: [], rows }
      }
      const slices = others.flatMap((own) => {
        const logged = keysOf.get(own.table.name)?.map(([, key]) => key) ?? []
        const keys = own.table.name === 'tail' ? earliestOf(logged) : logged
        return slicesOf(keys, ROWS_AT_ONCE).map((some) => ({ own, keys: some }))
      })
      for (const group of slicesOf(slices, STATEMENTS_AT_ONCE)) {
        const answers = await queryWithin(
          ROWS_MS_MAX,
          connection,
          group.map(({ own, keys }) => own.find(keys)),
        )
        for (const [at, { own, keys }] of group.entries())
          yield {
            table: own.table,
            gone: keys.map((key) => JSON.parse(key)),
            rows: answers[at]?.rows as Cell[][],
          }
      }
    },

    /**
     * Copies the chunks of the database into a file without a state, in many short transactions, so
     * that an interrupted first copy can continue.
     */
    async copyChunks(connection: ReservedSQL, local: CopiedFile): Promise<void> {
      if (chunk === undefined) return
      const { table } = chunk
      const remove = (part: { fromId: number; beforeId: number; ids: string }) =>
        local.writeChunks(() => local.removeOtherChunks(part))
      for await (const rows of lackingChunks(connection, chunk, local, remove))
        await local.writeChunks(() => local.apply({ table, gone: [], rows }))
    },

    /** Yields all rows, in the transaction of the connection. */
    async *everything(
      connection: ReservedSQL,
      local: CopiedFile,
      keepsChunks: boolean,
    ): AsyncGenerator<Step> {
      if (chunk !== undefined) {
        const { table } = chunk
        if (!keepsChunks) yield { table, gone: 'all', rows: [] }
        const remove = async (part: { fromId: number; beforeId: number; ids: string }) =>
          local.removeOtherChunks(part)
        for await (const rows of lackingChunks(connection, chunk, local, remove))
          yield { table, gone: [], rows }
      }
      for (const { table, declareCursor, fetch } of others) {
        yield { table, gone: 'all', rows: [] }
        // The end of the transaction closes the cursor.
        let coming = queryWithin(ROWS_MS_MAX, connection, [declareCursor, fetch])
        for (let isLast = false; !isLast;) {
          const rows = ((await coming).at(-1)?.rows ?? []) as Cell[][]
          isLast = rows.length < ROWS_AT_ONCE
          // The next rows arrive while these are written.
          if (!isLast) coming = queryWithin(ROWS_MS_MAX, connection, [fetch])
          yield { table, gone: [], rows }
          noteRows(rows.length, table.name)
        }
      }
    },
  }
}

/**
 * An entry of `tail` covers all rows of a market from a time on: keeps the earliest entry of each
 * market.
 */
function earliestOf(keys: readonly string[]): string[] {
  const fromMs = new Map<number, number>()
  for (const key of keys) {
    const [marketId, timeMs]: [number, number] = JSON.parse(key)
    fromMs.set(marketId, Math.min(timeMs, fromMs.get(marketId) ?? timeMs))
  }
  return [...fromMs].map((entry) => JSON.stringify(entry))
}

const sizeOf = (cell: Cell): number => (cell instanceof Uint8Array ? cell.length : 0)

const slicesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) =>
    list.slice(at * size, (at + 1) * size),
  )

type Replicated = ReturnType<typeof toReplicated>

/** SQL statements of a table. */
function toReplicated(table: StoreTable) {
  const { name, columns, order } = table
  const isNamed = loggedKeys(table).map(
    (key, index) => `${key.name} ${key.operator} CAST(entry->>${index} AS ${key.type})`,
  )
  return {
    table,
    /** Selects the rows of log entries; rows that are not returned were deleted. */
    find: (entries: readonly string[]): Query => ({
      text: `SELECT ${columns} FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) AS named(entry)
        JOIN ${name} ON ${isNamed.join(' AND ')}`,
      values: [`[${entries}]`],
      isBare: true,
    }),
    /** Selects chunks by ascending ids, up to a number of bytes. */
    findSome: (ids: readonly number[]): Query => ({
      text: `SELECT ${columns} FROM (
          SELECT ${columns}, sum(size) OVER (ORDER BY id) - size AS bytes_before FROM (
            SELECT ${columns}, ${chunkKinds.map((kind) => `octet_length(${kind})`).join(' + ')} AS size
            FROM ${name} WHERE id = ANY (CAST(CAST($1 AS TEXT) AS BIGINT[]))
          ) AS sized
        ) AS summed WHERE bytes_before < ${CHUNK_BYTES_AT_ONCE} ORDER BY id`,
      values: [`{${ids}}`],
      isBare: true,
    }),
    declareCursor: {
      text: `DECLARE all_${name} NO SCROLL CURSOR FOR SELECT ${columns} FROM ${name} ORDER BY ${order}`,
    } satisfies Query,
    fetch: {
      text: `FETCH ${ROWS_AT_ONCE} FROM all_${name}`,
      isBare: true,
    } satisfies Query,
  }
}
