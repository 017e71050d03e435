/** Tables as Parquet: prices and sizes are exact decimals, or doubles on request. */

import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'
import { type Column as EncodedColumn, ColumnEncoder } from '#src/platform/parquet/column.ts'
import {
  type ColumnChunk,
  createParquetFooter,
  MAGIC,
  type SchemaColumn,
} from '#src/platform/parquet/footer.ts'

import type { Columns, ColumnType, Kind, Numbers } from './column.ts'
import { RowGroup } from './row-group.ts'

const GROUP_ROWS_MAX = 65_000
const GROUP_VALUES = 200_000
/** Scale of `digits` decimals: prices of coins have the most digits. */
const DIGITS_SCALE = 18
const DIGITS_BYTES = 16
const PIECE_BYTES = 65_536

const types = {
  time: { type: 'INT64', convertedType: 'TIMESTAMP_MILLIS' },
  int64: { type: 'INT64' },
  int32: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
  text: { type: 'BYTE_ARRAY', convertedType: 'UTF8' },
  millionths: { type: 'INT64', convertedType: 'DECIMAL', precision: 18, scale: 6 },
  digits: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    typeLength: DIGITS_BYTES,
    convertedType: 'DECIMAL',
    precision: 38,
    scale: DIGITS_SCALE,
  },
  double: { type: 'DOUBLE' },
} as const satisfies Record<Kind | 'double', Omit<SchemaColumn, 'name' | 'repetition'>>

function toSchemaColumn({ name, kind, isRequired }: ColumnType, numbers: Numbers): SchemaColumn {
  const isDouble = numbers === 'double' && (kind === 'millionths' || kind === 'digits')
  const repetition = isRequired ? 'REQUIRED' : 'OPTIONAL'
  return { name, ...types[isDouble ? 'double' : kind], repetition }
}

/** A decimal as an integer in units of its last digit. */
function toScaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.includes('e')
    ? Number(text).toFixed(DIGITS_SCALE).split('.')
    : text.split('.')
  return BigInt(whole + fraction.padEnd(DIGITS_SCALE, '0').slice(0, DIGITS_SCALE))
}

type ParquetOptions = {
  numbers: Numbers
  /** Values of a row group, eight bytes each: the memory that a file takes while it is made. */
  valuesMax?: number
  /**
   * Writes statistics for every column and row group. They stay in memory until the end: with many
   * columns they outweigh the rows.
   */
  hasStatistics: boolean
}

/** Writes a file in row groups, which are full before `hasRoomFor` is false. */
export function createParquet<Row>(
  columns: Columns<Row>,
  { numbers, valuesMax = GROUP_VALUES, hasStatistics }: ParquetOptions,
) {
  const rowsMax = Math.min(GROUP_ROWS_MAX, Math.ceil(valuesMax / columns.length))
  const group = new RowGroup(columns, rowsMax)
  const encoder = new ColumnEncoder(rowsMax)
  const bytes = new ByteWriter(PIECE_BYTES)
  bytes.int32(MAGIC)
  let rowsWritten = 0

  /** Printers for types whose values are not printed in the type's own form. */
  function printerOf(kind: Kind): EncodedColumn['print'] {
    const { texts } = group
    if (kind === 'digits') {
      return numbers === 'double'
        ? (page, code) => page.float64(Number(texts[code]))
        : (page, code) => appendDigits(page, texts[code] ?? '')
    }
    return kind === 'millionths' && numbers === 'double'
      ? (page, value) => page.float64(value / MILLIONTHS_PER_UNIT)
      : undefined
  }

  const encoded = columns.map((column) => ({
    element: toSchemaColumn(column, numbers),
    texts: group.texts,
    hasStatistics,
    print: printerOf(column.kind),
  }))
  const footer = createParquetFooter(encoded.map(({ element }) => element))

  return {
    /** True if this many rows fit into the current row group. */
    hasRoomFor: (rows: number): boolean => group.count + rows <= rowsMax,

    add: (row: Row, rows?: number): void => group.add(row, rows),

    /** Writes a row group. */
    *flush(): Generator<Uint8Array> {
      const rows = Math.min(rowsMax, group.count)
      if (rows === 0) return
      const chunks: ColumnChunk[] = []
      for (const [index, values] of group.values.entries()) {
        const column = encoded[index]
        if (column === undefined) continue
        chunks.push(encoder.write(bytes, { ...column, values: values.subarray(0, rows) }))
      }
      footer.add(chunks, rows)
      group.remove(rows)
      rowsWritten += rows
      yield bytes.take()
    },

    *end(): Generator<Uint8Array> {
      yield* this.flush()
      for (const end = footer.write(bytes); end.next().done !== true;) yield bytes.take()
      yield bytes.take()
    },

    rows: (): number => rowsWritten,
  }
}

/** Two's complement, big-endian: Parquet's form of decimals with a fixed length. */
function appendDigits(page: ByteWriter, text: string): void {
  const hex = BigInt.asUintN(8 * DIGITS_BYTES, toScaled(text))
    .toString(16)
    .padStart(2 * DIGITS_BYTES, '0')
  page.bytes(Buffer.from(hex, 'hex'))
}
