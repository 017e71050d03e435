/** SQL on the tables of a store in PostgreSQL, as typed by an operator. */
import { SQL } from 'bun'

import { addressOf } from '#src/extensions/postgres/address.ts'

/** Rows as arrays of values; integers are numbers. */
export async function askServer(
  place: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<unknown[][]> {
  const { url, schema } = addressOf(place)
  await using sql = new SQL({ url, max: 1, bigint: true, connection: { search_path: schema } })
  const rows = await (
    values.length === 0 ? sql.unsafe(text) : sql.unsafe(text, [...values])
  ).values()
  return [...rows].map((row: unknown[]) =>
    row.map((cell) => (typeof cell === 'bigint' ? Number(cell) : cell)),
  )
}
