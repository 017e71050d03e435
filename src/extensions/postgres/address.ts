import { storageError } from '#src/database/database.ts'
import { ENCODED, parseServerAddress } from '#src/platform/server-address.ts'

/** Address of a PostgreSQL store, as in `BOOKFEED_HISTORY`. */
export type Address = {
  /** `postgres://user:password@host:port/database`, with parameters of the driver. */
  url: string
  schema: string
}

const SCHEMA_FORM =
  'has lower-case letters, digits and _, 51 at most, and begins neither with a digit nor with pg_'
export const POSTGRES_FORM = `an address of a PostgreSQL, as postgres://user:password@host:5432/database (${ENCODED}); ?schema= ${SCHEMA_FORM}, and sslmode one of disable, prefer, require, verify-ca and verify-full`

/** True for the address of a PostgreSQL, false for a path. */
export const isPostgres = (place: string): boolean => /^postgres(ql)?:\/\//.test(place)

/**
 * Parses an address: `?schema=name` is ours, all else is passed to the driver. Throws
 * `storage_unavailable` for an invalid address, with the valid form; the message shows only the
 * schema of the address.
 */
export function addressOf(place: string, usual = 'public'): Address {
  const url = parseServerAddress(place, ['postgres:', 'postgresql:'])
  const schema = url?.searchParams.get('schema') ?? usual
  const sslmode = url?.searchParams.get('sslmode') ?? 'disable'
  if (!url || url.pathname.length < 2 || !sslModes.has(sslmode))
    throw storageError(`The address of a store must be ${POSTGRES_FORM}.`)
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw storageError(`The name of a schema ${SCHEMA_FORM}; ?schema=${schema} does not.`)
  url.searchParams.delete('schema')
  return { url: url.href, schema }
}

const sslModes = new Set(['disable', 'prefer', 'require', 'verify-ca', 'verify-full'])

/** The address without its password, for messages. */
export function shownAddress(place: string): string {
  const { url, schema } = addressOf(place)
  const { protocol, username, host, pathname } = new URL(url)
  const user = username && `${username}@`
  const suffix = schema === 'public' ? '' : `?schema=${schema}`
  return `${protocol}//${user}${host}${pathname}${suffix}`
}
