/**
 * A table of columns of a few kinds as Parquet, row by row: prices and sizes are exact decimals, or
 * doubles where that is asked for.
 */
import type { ByteWriter, SchemaElement } from 'hyparquet-writer'

import { type Column, NONE } from './column.ts'
import { createParquetFile } from './file.ts'

/**
 * `time`: Unix milliseconds. `decimal`: millionths. `price`: digits as a source prints them, at
 * most 18 after the point. `integer`: not -1, which stands for null here. `flag`: 0 or 1.
 */
export type TableColumn = {
  name: string
  kind: 'time' | 'integer' | 'flag' | 'text' | 'decimal' | 'price'
  isRequired?: boolean
}
export type Numbers = 'decimal' | 'double'

/** Values of a group, eight bytes each. */
const GROUP_VALUES = 2_000_000
const GROUP_ROWS_MAX = 65_000
const MILLIONTHS = 1_000_000
const [PRICE_SCALE, PRICE_BYTES] = [18, 16]

const types = {
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  integer: { type: 'INT64' },
  flag: { type: 'INT32' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  decimal: { type: 'INT64', converted_type: 'DECIMAL', precision: 18, scale: 6 },
  price: {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: PRICE_BYTES,
    converted_type: 'DECIMAL',
    precision: 38,
    scale: PRICE_SCALE,
  },
  double: { type: 'DOUBLE' },
} as const

const isNumber = (kind: TableColumn['kind']): boolean => kind === 'decimal' || kind === 'price'

function elementOf({ name, kind, isRequired }: TableColumn, numbers: Numbers): SchemaElement {
  const type = types[isNumber(kind) && numbers === 'double' ? 'double' : kind]
  return { name, ...type, repetition_type: isRequired ? 'REQUIRED' : 'OPTIONAL' }
}

export type Table = ReturnType<typeof createTable>

/** Rows are set by column, then `endRow` is called; a column that is not set is null. */
export function createTable(columns: readonly TableColumn[], numbers: Numbers) {
  const elements = columns.map((column) => elementOf(column, numbers))
  const rowsMax = Math.min(GROUP_ROWS_MAX, Math.ceil(GROUP_VALUES / columns.length))
  const file = createParquetFile(elements, rowsMax)
  const places = new Map(columns.map(({ name }, place) => [name, place]))
  const values = columns.map(() => new Float64Array(rowsMax).fill(NONE))
  const texts: string[] = []
  const codes = new Map<string, number>()
  let count = 0
  let rows = 0

  function printOf({ kind }: TableColumn): Column['print'] {
    if (kind === 'decimal' && numbers === 'double') {
      return (page, value) => page.appendFloat64(value / MILLIONTHS)
    }
    if (kind !== 'price') return undefined
    return numbers === 'double'
      ? (page, code) => page.appendFloat64(Number(texts[code]))
      : (page, code) => appendPrice(page, texts[code] ?? '')
  }

  function* writeGroup(): Generator<Uint8Array> {
    if (count === 0) return
    const all = columns.map((column, place): Column => ({
      ...{ element: elements[place] ?? { name: '' }, texts, hasStatistics: true },
      values: values[place]?.subarray(0, count) ?? new Float64Array(0),
      print: printOf(column),
    }))
    yield* file.group(all)
    rows += count
    count = 0
    texts.length = 0
    codes.clear()
    for (const column of values) column.fill(NONE)
  }

  return {
    /** Where a column is, for `put`. */
    placeOf(name: string): number {
      const place = places.get(name)
      if (place === undefined) throw new Error(`The table has no column ${name}.`)
      return place
    },

    /** Undefined is null. */
    put(place: number, value: number | undefined): void {
      const column = values[place]
      if (column !== undefined && value !== undefined) column[count] = value
    },

    /** Of the kinds `text` and `price`. */
    putText(place: number, text: string | undefined): void {
      if (text === undefined) return
      let code = codes.get(text)
      if (code === undefined) {
        code = texts.push(text) - 1
        codes.set(text, code)
      }
      this.put(place, code)
    },

    /** Ends a row; what it yields is part of the file. */
    *endRow(): Generator<Uint8Array> {
      if (++count === rowsMax) yield* writeGroup()
    },

    *end(): Generator<Uint8Array> {
      yield* writeGroup()
      yield* file.end()
    },

    rows: (): number => rows + count,
  }
}

/** Big-endian, as Parquet has decimals of a fixed length; none is negative. */
function appendPrice(page: ByteWriter, text: string): void {
  const [whole = '', fraction = ''] = text.split('.')
  const scaled = BigInt(whole + fraction.padEnd(PRICE_SCALE, '0').slice(0, PRICE_SCALE))
  const bytes = Buffer.from(scaled.toString(16).padStart(2 * PRICE_BYTES, '0'), 'hex')
  page.appendBytes(bytes)
}
