/** Where a PostgreSQL is, as `BOOKFEED_HISTORY` says it. */
export type Address = {
  /** `postgres://user:password@host:port/database`, and what else the driver understands. */
  url: string
  schema: string
}

/** True for what names a PostgreSQL in place of a file. */
export const isPostgres = (place: string): boolean => /^postgres(ql)?:\/\//.test(place)

/** `?schema=name` is ours: the rest is for the driver. Throws for what is no address. */
export function addressOf(place: string, usual = 'public'): Address {
  const url = new URL(place)
  const schema = url.searchParams.get('schema') ?? usual
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema))
    throw new Error('A schema has lower-case letters, digits and _, 51 at most.')
  url.searchParams.delete('schema')
  return { url: url.href, schema }
}

/** Without its password, to be shown. */
export function shownAddress(place: string): string {
  const url = new URL(place)
  if (url.password !== '') url.password = '***'
  return url.href
}
