/** The footer of a file. Row groups are kept serialized: as objects they would fill a gigabyte. */
import { ByteWriter } from '#src/platform/byte-writer.ts'

import { beginStructs, type Struct, writeEnd, writeFields, writeStruct } from './thrift.ts'

export const MAGIC = 0x31524150
const PIECE_BYTES = 65_536
const VERSION = 2
const SNAPPY = 1

/** Numbers defined by the format (https://github.com/apache/parquet-format, `parquet.thrift`). */
export const types = {
  BOOLEAN: 0,
  INT32: 1,
  INT64: 2,
  DOUBLE: 5,
  BYTE_ARRAY: 6,
  FIXED_LEN_BYTE_ARRAY: 7,
} as const
export const encodings = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 } as const
const repetitions = { REQUIRED: 0, OPTIONAL: 1 } as const
const convertedTypes = { UTF8: 0, DECIMAL: 5, TIMESTAMP_MILLIS: 9 } as const
/** A TIMESTAMP in milliseconds, UTC. */
const UTC_MILLIS: Struct = { 8: { 1: true, 2: { 1: {} } } }

export type SchemaColumn = {
  name: string
  type: keyof typeof types
  typeLength?: number
  repetition: keyof typeof repetitions
  convertedType?: keyof typeof convertedTypes
  precision?: number
  scale?: number
}

/** A column chunk of a row group, as written. */
export type ColumnChunk = {
  name: string
  type: keyof typeof types
  encodings: readonly (keyof typeof encodings)[]
  values: number
  bytes: number
  bytesUncompressed: number
  start: number
  dataStart: number
  statistics?: { nulls: number; min?: Uint8Array | undefined; max?: Uint8Array | undefined }
}

const toElement = ({ convertedType, ...column }: SchemaColumn): Struct => ({
  1: types[column.type],
  2: column.typeLength,
  3: repetitions[column.repetition],
  4: column.name,
  6: convertedType && convertedTypes[convertedType],
  7: column.scale,
  8: column.precision,
  10: convertedType === 'TIMESTAMP_MILLIS' ? UTC_MILLIS : undefined,
})

const toChunk = ({ start, dataStart, statistics, ...chunk }: ColumnChunk): Struct => ({
  2: BigInt(start),
  3: {
    1: types[chunk.type],
    2: chunk.encodings.map((encoding) => encodings[encoding]),
    3: [chunk.name],
    4: SNAPPY,
    5: BigInt(chunk.values),
    6: BigInt(chunk.bytesUncompressed),
    7: BigInt(chunk.bytes),
    9: BigInt(dataStart),
    11: dataStart > start ? BigInt(start) : undefined,
    12: statistics && { 3: BigInt(statistics.nulls), 5: statistics.max, 6: statistics.min },
  },
})

const sum = (numbers: readonly number[]): bigint =>
  BigInt(numbers.reduce((total, each) => total + each, 0))

export function createParquetFooter(columns: readonly SchemaColumn[]) {
  const printed = new ByteWriter(PIECE_BYTES)
  const groups: Uint8Array[] = []
  let allRows = 0

  return {
    add(chunks: readonly ColumnChunk[], rows: number): void {
      allRows += rows
      writeStruct(printed, {
        1: chunks.map(toChunk),
        2: sum(chunks.map(({ bytesUncompressed }) => bytesUncompressed)),
        3: BigInt(rows),
        6: sum(chunks.map(({ bytes }) => bytes)),
      })
      groups.push(printed.take())
    },

    /** Writes the end of the file; yields whenever a piece is full. */
    *write(to: ByteWriter): Generator<void, void> {
      const start = to.offset
      const root: Struct = { 4: 'bookfeed', 5: columns.length }
      writeFields(to, { 1: VERSION, 2: [root, ...columns.map(toElement)], 3: BigInt(allRows) })
      beginStructs(to, groups.length)
      let pieceStart = start
      for (const group of groups) {
        to.bytes(group)
        if (to.offset - pieceStart < PIECE_BYTES) continue
        pieceStart = to.offset
        yield
      }
      // Every column is ordered by its type's own order.
      writeFields(to, { 6: 'bookfeed', 7: columns.map(() => ({ 1: {} })) }, 4)
      writeEnd(to)
      to.int32(to.offset - start)
      to.int32(MAGIC)
    },
  }
}
