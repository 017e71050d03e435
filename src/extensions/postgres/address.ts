import { storageError } from '#src/database/database.ts'
import { ENCODED, parseServerAddress } from '#src/platform/server-address.ts'

/** Where a PostgreSQL is, as `BOOKFEED_HISTORY` says it. */
export type Address = {
  /** `postgres://user:password@host:port/database`, and what else the driver understands. */
  url: string
  schema: string
}

const SCHEMA_FORM =
  'has lower-case letters, digits and _, 51 at most, and begins neither with a digit nor with pg_'
export const POSTGRES_FORM = `an address of a PostgreSQL, as postgres://user:password@host:5432/database (${ENCODED}); ?schema= ${SCHEMA_FORM}, and sslmode one of disable, prefer, require, verify-ca and verify-full`

/** True for what names a PostgreSQL in place of a file. */
export const isPostgres = (place: string): boolean => /^postgres(ql)?:\/\//.test(place)

/**
 * `?schema=name` is ours, the rest is the driver's. Throws `storage_unavailable` for what is none,
 * with what is allowed; only the schema is shown of it.
 */
export function addressOf(place: string, usual = 'public'): Address {
  const url = parseServerAddress(place, ['postgres:', 'postgresql:'])
  const schema = url?.searchParams.get('schema') ?? usual
  const sslmode = url?.searchParams.get('sslmode') ?? 'disable'
  if (!url || url.pathname.length < 2 || !sslModes.has(sslmode))
    throw storageError(`The place of a store must be ${POSTGRES_FORM}.`)
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw storageError(`The name of a schema ${SCHEMA_FORM}; ?schema=${schema} does not.`)
  url.searchParams.delete('schema')
  return { url: url.href, schema }
}

const sslModes = new Set(['disable', 'prefer', 'require', 'verify-ca', 'verify-full'])

/** Without its password, to be shown. */
export function shownAddress(place: string): string {
  const { url, schema } = addressOf(place)
  const { protocol, username, host, pathname } = new URL(url)
  const user = username && `${username}@`
  const suffix = schema === 'public' ? '' : `?schema=${schema}`
  return `${protocol}//${user}${host}${pathname}${suffix}`
}
