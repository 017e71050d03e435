/** Lists as Parquet: the columns of their JSON rows, whose numbers are strings. */

import type { Column, Kind, Numbers, Value } from './column.ts'
import type { JsonEncoder, JsonRow } from './json-rows.ts'
import { createParquet } from './parquet.ts'

/** `groupRows`: the largest number of rows added at once. */
export function createJsonParquet(
  columns: readonly Column<JsonRow>[],
  numbers: Numbers,
  groupRows: number,
): JsonEncoder {
  const file = createParquet(columns.map(withNumbers), {
    numbers,
    valuesMax: groupRows * columns.length,
    hasStatistics: true,
  })
  const pieces: Uint8Array[] = []

  return {
    /** Writes a row group. */
    add(rows) {
      for (const row of rows) file.add(row)
      pieces.push(...file.flush())
    },

    end: () => Buffer.concat([...pieces, ...file.end()]),
  }
}

const numberReaders: Partial<Record<Kind, (text: string) => number>> = {
  time: Date.parse,
  int64: Number,
}

function withNumbers(column: Column<JsonRow>): Column<JsonRow> {
  const { kind, read } = column
  const toNumber = numberReaders[kind]
  if (toNumber === undefined) return column
  return {
    ...column,
    read(row): Value {
      const value = read(row)
      return typeof value === 'string' ? toNumber(value) : value
    },
  }
}
