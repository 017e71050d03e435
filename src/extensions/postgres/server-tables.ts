/** Tables of a store in PostgreSQL: creates, checks and migrates them. */
import type { ReservedSQL } from 'bun'

import { type Cell, olderStore, storageError } from '#src/database/database.ts'
import { formatOf, isTooOld, migrationsAfter } from '#src/database/migrations.ts'
import type { AppError } from '#src/domain/errors.ts'
import { metaChecksum } from '#src/history/tables/meta-table.ts'
import { sentenceOf } from '#src/platform/message.ts'

import { type Address, addressOf, shownAddress } from './address.ts'
import { closeNow, connect, LOCK_WRITERS, type Query, queryWithin } from './connection.ts'
import { errorOf, failureOf } from './faults.ts'
import type { Format } from './formats.ts'
import { packedInBytes } from './packing.ts'

const ANSWER_MS_MAX = 60_000
/** A migration may build indexes over all rows. */
const MIGRATE_MS_MAX = 24 * 3_600_000

/** Tables, functions and types of a schema, except those of PostgreSQL's extensions. */
const LIST_CONTENTS = `SELECT name FROM (
    SELECT 'pg_class' AS class, oid, relnamespace AS namespace, relname AS name FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
    UNION ALL SELECT 'pg_proc', oid, pronamespace, proname FROM pg_proc
    UNION ALL SELECT 'pg_type', oid, typnamespace, typname FROM pg_type
    WHERE typtype IN ('b', 'd', 'e', 'r') AND typcategory <> 'A'
  ) AS content
  WHERE namespace = to_regnamespace(quote_ident($1))
    AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = CAST(class AS regclass)
      AND objid = content.oid AND deptype = 'e')
  ORDER BY name`
const LIST_COLUMNS = `SELECT attname AS name FROM pg_attribute
  WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`

type Link = { connection: ReservedSQL; schema: string }

/**
 * Creates the tables of a store in an empty schema. Rejects with `storage_unavailable`, also if the
 * tables have an older format: only `migrateTables` changes them, when the operator asks for it.
 */
export const prepareTables = (place: string, format: Format): Promise<void> =>
  onConnection(place, format, async (link) => {
    if ((await knownVersion(link, format)) === 0) await migrate(link, format)
  })

/** Rejects like `prepareTables`, but creates nothing: its changes are rolled back. */
export const examineTables = (place: string, format: Format): Promise<void> =>
  onConnection(place, format, async (link) => {
    if ((await knownVersion(link, format)) === 0) await migrate(link, format, 'ROLLBACK')
  })

/** The format of this version, or 0 if the schema is empty. */
async function knownVersion(link: Link, format: Format): Promise<number> {
  const version = await versionOf(link, format)
  const known = formatOf(format.migrations)
  if (version > 0 && version < known) throw storageError(toOlder(version, known))
  return version
}

const toOlder = (version: number, known: number): string =>
  `Its tables have format ${version}, but this version needs ${known}. Nothing was changed. Back up the database, then run bookfeed migrate --backed-up with this version.`

/**
 * Migrates an existing store if `isWanted`; resolves with its format and that of this version, 0
 * for an empty schema. Rejects with `storage_unavailable`.
 */
export const migrateTables = (
  place: string,
  format: Format,
  isWanted: boolean,
): Promise<{ from: number; to: number }> =>
  onConnection(place, format, async (link) => {
    const from = await versionOf(link, format)
    if (isWanted && from > 0) await migrate(link, format)
    return { from, to: formatOf(format.migrations) }
  })

/** Error for a store that cannot be opened. */
export const openingFault = (error: unknown, place: string, { name }: Format): AppError =>
  storageError(`The ${name} at ${shownAddress(place)} cannot be opened. ${sentenceOf(error)}`, {
    cause: error,
  })

async function onConnection<T>(
  place: string,
  format: Format,
  body: (link: Link) => Promise<T>,
): Promise<T> {
  try {
    const address: Address = addressOf(place, format.schema)
    const sql = connect(address, { statementMsMax: MIGRATE_MS_MAX })
    try {
      const connection = await sql.reserve()
      return await body({ connection, schema: address.schema })
    } finally {
      await closeNow(sql)
    }
  } catch (error) {
    const isOfDriver = error instanceof Error && ('errno' in error || 'code' in error)
    throw openingFault(isOfDriver ? errorOf(failureOf(error)) : error, place, format)
  }
}

async function rowsOf({ connection }: Link, question: Omit<Query, 'isBare'>): Promise<Cell[][]> {
  const [answer] = await queryWithin(ANSWER_MS_MAX, connection, [{ ...question, isBare: true }])
  return (answer?.rows ?? []) as Cell[][]
}
const run = async ({ connection }: Link, text: string): Promise<void> =>
  void (await queryWithin(MIGRATE_MS_MAX, connection, [{ text }]))

/**
 * Format of the tables in the schema; 0 if it is empty. Rejects with `storage_unavailable` for
 * tables of another program, of another store, or of a version that cannot be migrated.
 */
async function versionOf(link: Link, { name, mark, migrations }: Format): Promise<number> {
  const { schema } = link
  const known = formatOf(migrations)
  const found = (await rowsOf(link, { text: LIST_CONTENTS, values: [schema] })).flat().map(String)
  if (found.length === 0) return 0
  const isOurs = found.includes('format') && found.includes(mark)
  const columns = isOurs
    ? (await rowsOf(link, { text: LIST_COLUMNS, values: [`${schema}.format`] })).flat()
    : []
  if (columns.join() !== 'version') {
    throw storageError(
      `The schema ${schema} contains something else, such as ${found[0]}, and was not changed. Choose another: ?schema=${name}.`,
    )
  }
  const [[version] = []] = await rowsOf(link, { text: 'SELECT version FROM format', values: [] })
  const format = Number(version ?? 0)
  if (format > known)
    throw storageError(
      `It was written by a newer bookfeed (format ${format}; this version knows ${known}). Update bookfeed.`,
    )
  if (isTooOld(migrations, format)) throw olderStore('It')
  return format
}

/** Creates or migrates the tables in one transaction. */
async function migrate(
  link: Link,
  format: Format,
  end: 'COMMIT' | 'ROLLBACK' = 'COMMIT',
): Promise<void> {
  const { migrations } = format
  const known = formatOf(migrations)
  await run(link, 'BEGIN')
  await run(link, LOCK_WRITERS)
  // Without a schema, its own lock does not exist yet.
  await run(link, "SELECT pg_advisory_xact_lock(hashtextextended('bookfeed', 0))")
  const from = await versionOf(link, format)
  if (from === 0) {
    await run(link, `CREATE SCHEMA IF NOT EXISTS "${link.schema}"`)
    await run(link, 'CREATE TABLE format (version bigint NOT NULL)')
  }
  // Each writing transaction has read this table, so the migration runs between two of them.
  await run(link, 'LOCK TABLE format IN ACCESS EXCLUSIVE MODE')
  for (const sql of migrationsAfter(migrations, from)) await run(link, sql)
  if (format.name === 'history' && from > 0 && from < PLAIN_META_FORMAT)
    for (const name of ['meta', 'log_meta']) await resealMeta(link, name)
  await run(
    link,
    from === 0 ? `INSERT INTO format VALUES (${known})` : `UPDATE format SET version = ${known}`,
  )
  await run(link, end)
}

/** First format in which `meta` has the same checksums as in copies. */
const PLAIN_META_FORMAT = 11

/** Adds the checksum of its values to a table of facts, unless the table is damaged. */
async function resealMeta(link: Link, name: string): Promise<void> {
  const rows = await rowsOf(link, { text: `SELECT key, value FROM ${name}`, values: [] })
  const packed = new Map(rows.map(([key, value]) => [String(key), value as Uint8Array]))
  const plain = new Map([...packed].map(([key, value]) => [key, packedInBytes.unpack(value)]))
  if (plain.get('checksum') !== metaChecksum(packed)) return
  await queryWithin(ANSWER_MS_MAX, link.connection, [
    {
      text: `UPDATE ${name} SET value = $1 WHERE key = 'checksum'`,
      values: [packedInBytes.pack(metaChecksum(plain))],
    },
  ])
}
