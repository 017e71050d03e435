/** Rows of lists as Parquet. */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'

import type { Column, CreateEncoder, Numbers, Row } from './table.ts'

/** Digits of a decimal after its point: of all that is served, prices of coins have most. */
const SCALE = 18
const PRECISION = 38
const DECIMAL_BYTES = 16

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const
const decimal = {
  type: 'FIXED_LEN_BYTE_ARRAY',
  type_length: DECIMAL_BYTES,
  converted_type: 'DECIMAL',
  precision: PRECISION,
  scale: SCALE,
} as const
const types = {
  text,
  list: text,
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  decimal,
  double: { type: 'DOUBLE' },
} as const

export const createParquet: CreateEncoder = (columns, numbers = 'decimal') => {
  const elements = columns.map(({ name, kind }): SchemaElement => {
    const type = types[kind === 'number' ? numbers : kind]
    return { name, ...type, repetition_type: 'OPTIONAL' }
  })
  const writer = new ByteWriter()
  const schema = [{ name: 'bookfeed', num_children: columns.length }, ...elements]
  const file = new ParquetWriter({ writer, schema, createdBy: 'bookfeed' })
  return {
    *add(rows) {
      const [first, rowsBefore] = [file.row_groups.length, file.num_rows]
      for (const [at, column] of columns.entries()) {
        const data = rows.map((row) => toValue(row[at] ?? null, column, numbers))
        void file.write({ columnData: [{ name: column.name, data }] })
        yield
      }
      // Written column by column, so that others go between: together they are one group.
      const group = joinGroups(file.row_groups.splice(first), rows.length)
      file.row_groups.push(group)
      file.num_rows = rowsBefore + group.num_rows
    },
    end() {
      void file.finish()
      return new Uint8Array(writer.getBytes())
    },
  }
}

type RowGroup = ParquetWriter['row_groups'][number]

/** Groups of the same rows, each with some of the columns, as one. */
function joinGroups(groups: readonly RowGroup[], rows: number): RowGroup {
  const sum = (pick: (group: RowGroup) => bigint | undefined): bigint =>
    groups.reduce((total, group) => total + (pick(group) ?? 0n), 0n)
  return {
    columns: groups.flatMap(({ columns }) => columns),
    total_byte_size: sum((group) => group.total_byte_size),
    num_rows: BigInt(rows),
    total_compressed_size: sum((group) => group.total_compressed_size),
  }
}

function toValue(value: Row[number], { kind }: Column, numbers: Numbers) {
  if (typeof value !== 'string') return value
  if (kind === 'time') return BigInt(Date.parse(value))
  if (kind === 'integer') return BigInt(value)
  if (kind !== 'number') return value
  return numbers === 'double' ? Number(value) : toScaled(value)
}

/** A decimal as a count of the last of its digits. */
export function toScaled(value: string): bigint {
  const [whole = '', fraction = ''] = value.includes('e')
    ? Number(value).toFixed(SCALE).split('.')
    : value.split('.')
  return BigInt(whole + fraction.padEnd(SCALE, '0').slice(0, SCALE))
}
