/** Reads files with another program. */
import { DuckDBInstance } from '@duckdb/node-api'

/** Rows of a query; decimals, wide integers and times are texts. */
export async function askDuckDb(sql: string): Promise<Record<string, unknown>[]> {
  const db = await DuckDBInstance.create(':memory:')
  const connection = await db.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson()
  } finally {
    connection.closeSync()
    db.closeSync()
  }
}
