/** Lists as Parquet, encoded by the library: clients hold digests of these files as ETags. */

import { ByteWriter, ParquetWriter } from 'hyparquet-writer'

import type { Column, Kind, Numbers } from './column.ts'
import type { JsonEncoder, JsonRow } from './json-rows.ts'
import { toScaled, toSchema } from './parquet.ts'

export function createJsonParquet(
  columns: readonly Column<JsonRow>[],
  numbers: Numbers,
): JsonEncoder {
  const writer = new ByteWriter()
  const schema = toSchema(columns, numbers)
  const file = new ParquetWriter({ writer, schema, createdBy: 'bookfeed' })

  function toCell(text: string, kind: Kind): string | number | bigint {
    if (kind === 'time') return BigInt(Date.parse(text))
    if (kind === 'int64') return BigInt(text)
    if (kind !== 'digits') return text
    return numbers === 'double' ? Number(text) : toScaled(text)
  }

  return {
    /** Writes a row group, a column a step: others go between. */
    *add(rows) {
      const groups = file.row_groups.length
      const rowsBefore = file.num_rows
      for (const { name, kind, read } of columns) {
        const data = rows.map((row) => {
          const value = read(row) ?? null
          return typeof value === 'string' ? toCell(value, kind) : value
        })
        void file.write({ columnData: [{ name, data }] })
        yield
      }
      // The library takes each column for a group of its own.
      const parts = file.row_groups.splice(groups)
      file.row_groups.push({
        columns: parts.flatMap((part) => part.columns),
        total_byte_size: parts.reduce((sum, part) => sum + part.total_byte_size, 0n),
        num_rows: BigInt(rows.length),
        total_compressed_size: parts.reduce(
          (sum, part) => sum + (part.total_compressed_size ?? 0n),
          0n,
        ),
      })
      file.num_rows = rowsBefore + BigInt(rows.length)
    },

    end() {
      void file.finish()
      return new Uint8Array(writer.getBytes())
    },
  }
}
