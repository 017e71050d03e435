/** A column of a row group as pages: a dictionary if values repeat, and the rows. */
import { ByteWriter } from '#src/platform/byte-writer.ts'
import { createSnappy } from '#src/platform/snappy.ts'

import { type ColumnChunk, encodings, type SchemaColumn } from './footer.ts'
import { type Struct, writeStruct } from './thrift.ts'

/** Marks a null; less than any value of a column. */
export const NONE = Number.MIN_SAFE_INTEGER

const WORD = 2 ** 32
/** Dictionary indexes are written in groups of this size. */
const GROUP = 8
const BYTE_VALUES = 256
const FREE = -1
const PAGE_BYTES = 65_536
/** Numbers defined by the format. */
const DICTIONARY_PAGE = 2
const DATA_PAGE_V2 = 3

/** Values are integers, or indexes into `texts`. */
export type Column = {
  element: SchemaColumn
  values: Float64Array
  texts: readonly string[]
  hasStatistics: boolean
  /** Overrides the type's printer; such a column has no statistics except the count of nulls. */
  print?: ((page: ByteWriter, value: number) => void) | undefined
}

/** Writes columns one after the other, each of a limited number of rows. */
export class ColumnEncoder {
  /** For each value that is not null, its index among the distinct values. */
  readonly #indexes: Uint16Array
  readonly #distinct: Float64Array
  readonly #slots: Int32Array
  readonly #shift: number
  readonly #levels: Uint8Array
  /** The page before compression. */
  readonly #page = new ByteWriter(PAGE_BYTES)
  readonly #compress = createSnappy()
  #count = 0
  #present = 0

  constructor(rowsMax: number) {
    const bits = Math.ceil(Math.log2(rowsMax)) + 1
    this.#indexes = new Uint16Array(rowsMax + GROUP)
    this.#distinct = new Float64Array(rowsMax)
    this.#slots = new Int32Array(2 ** bits)
    this.#shift = 32 - bits
    this.#levels = new Uint8Array(rowsMax)
  }

  write(to: ByteWriter, column: Column): ColumnChunk {
    const { element, values, hasStatistics } = column
    const { name, type } = element
    this.#index(values)
    const start = to.offset
    const hasDictionary = this.#hasDictionary(type)
    const dictionaryBytes = hasDictionary ? this.#writeDictionary(to, column) : 0
    const dataStart = to.offset
    const plain = type === 'BOOLEAN' ? 'RLE' : 'PLAIN'
    const encoding = hasDictionary ? 'RLE_DICTIONARY' : plain
    const dataBytes = this.#writeData(to, column, encoding)
    return {
      name,
      type,
      encodings: hasDictionary ? ['PLAIN', encoding] : [encoding],
      values: values.length,
      bytes: to.offset - start,
      bytesUncompressed: dictionaryBytes + dataBytes,
      start,
      dataStart,
      ...(hasStatistics ? { statistics: this.#statistics(column) } : {}),
    }
  }

  /** Numbers the distinct values in order of first occurrence. */
  #index(values: Float64Array): void {
    const indexes = this.#indexes
    const levels = this.#levels
    const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2)
    this.#slots.fill(FREE)
    this.#count = 0
    let present = 0
    for (let row = 0; row < values.length; row++) {
      const value = values[row] ?? NONE
      levels[row] = value === NONE ? 0 : 1
      if (value === NONE) continue
      const hash = Math.imul(words[row * 2] ?? 0, 0x85ebca6b) ^ (words[row * 2 + 1] ?? 0)
      indexes[present++] = this.#find(value, Math.imul(hash, 0x9e3779b1) >>> this.#shift)
    }
    this.#present = present
  }

  /** The index of a value; probes from the slot that its bits select. */
  #find(value: number, first: number): number {
    const slots = this.#slots
    const distinct = this.#distinct
    let slot = first
    let index = slots[slot] ?? FREE
    while (index !== FREE && distinct[index] !== value) {
      slot = slot + 1 === slots.length ? 0 : slot + 1
      index = slots[slot] ?? FREE
    }
    if (index !== FREE) return index
    slots[slot] = this.#count
    distinct[this.#count] = value
    return this.#count++
  }

  /** True if values repeat enough for a dictionary. */
  #hasDictionary(type: SchemaColumn['type']): boolean {
    if (type === 'BOOLEAN') return false
    return type === 'BYTE_ARRAY' ? this.#count > 0 : this.#count * 2 < this.#present
  }

  #print(index: number, { element: { type }, texts, print }: Column): void {
    const page = this.#page
    const value = this.#distinct[index] ?? 0
    if (print !== undefined) print(page, value)
    else if (type === 'BYTE_ARRAY') {
      const bytes = Buffer.from(texts[value] ?? '')
      page.int32(bytes.length)
      page.bytes(bytes)
    } else {
      page.int32(value)
      if (type === 'INT64') page.int32(Math.floor(value / WORD))
    }
  }

  #writeDictionary(to: ByteWriter, column: Column): number {
    this.#page.reset()
    for (let index = 0; index < this.#count; index++) this.#print(index, column)
    return this.#writePage(to, 0, {
      1: DICTIONARY_PAGE,
      7: { 1: this.#count, 2: encodings.PLAIN },
    })
  }

  #writeData(to: ByteWriter, column: Column, encoding: keyof typeof encodings): number {
    const { element, values } = column
    const page = this.#page
    const present = this.#present
    const rows = values.length
    page.reset()
    if (element.repetition === 'OPTIONAL') writeBits(page, this.#levels.subarray(0, rows))
    const levelBytes = page.offset
    if (encoding === 'RLE_DICTIONARY') {
      const groups = Math.ceil(present / GROUP)
      const indexes = this.#indexes.fill(0, present, groups * GROUP).subarray(0, groups * GROUP)
      // Whole bytes compress better, and cost less, than the minimum number of bits.
      const isShort = this.#count <= BYTE_VALUES
      page.byte(isShort ? 8 : 16)
      page.varint(groups * 2 + 1)
      page.bytes(
        isShort ? Uint8Array.from(indexes) : new Uint8Array(indexes.buffer, 0, indexes.byteLength),
      )
    } else if (encoding === 'RLE') {
      const bits = new ByteWriter(GROUP)
      writeBits(
        bits,
        Uint8Array.from(this.#indexes.subarray(0, present), (index) => this.#distinct[index] ?? 0),
      )
      page.int32(bits.offset)
      page.bytes(bits.view())
    } else {
      for (const index of this.#indexes.subarray(0, present)) this.#print(index, column)
    }
    return this.#writePage(to, levelBytes, {
      1: DATA_PAGE_V2,
      8: {
        1: rows,
        2: rows - present,
        3: rows,
        4: encodings[encoding],
        5: levelBytes,
        6: 0,
      },
    })
  }

  /** Writes a page, compressed except for the levels. Returns its uncompressed size in bytes. */
  #writePage(to: ByteWriter, levelBytes: number, header: Struct): number {
    const bytes = this.#page.view()
    const compressed = this.#compress(bytes.subarray(levelBytes))
    const start = to.offset
    writeStruct(to, { ...header, 2: bytes.length, 3: levelBytes + compressed.length })
    const headerBytes = to.offset - start
    to.bytes(bytes.subarray(0, levelBytes))
    to.bytes(compressed)
    return headerBytes + bytes.length
  }

  #statistics({ element: { type }, values, texts, print }: Column) {
    const nulls = values.length - this.#present
    if (this.#count === 0 || print !== undefined || type === 'BOOLEAN') return { nulls }
    const found = this.#distinct.slice(0, this.#count)
    if (type === 'BYTE_ARRAY') {
      const names = Array.from(found, (index) => Buffer.from(texts[index] ?? ''))
      names.sort(Buffer.compare)
      return { nulls, min: names[0], max: names.at(-1) }
    }
    found.sort()
    const bytes = type === 'INT64' ? 8 : 4
    const toBytes = (value = 0): Uint8Array =>
      new Uint8Array(BigInt64Array.of(BigInt(value)).buffer, 0, bytes)
    return { nulls, min: toBytes(found[0]), max: toBytes(found.at(-1)) }
  }
}

/** Writes bits as runs of ones, and packed bytes between them (Parquet's RLE hybrid, width 1). */
function writeBits(to: ByteWriter, bits: Uint8Array): void {
  let start = 0
  let at = 0
  const pack = (end: number): void => {
    if (end === start) return
    to.varint(((end - start) / GROUP) * 2 + 1)
    for (let group = start; group < end; group += GROUP) {
      let byte = 0
      for (let bit = 0; bit < GROUP; bit++) byte |= (bits[group + bit] ?? 0) << bit
      to.byte(byte)
    }
  }
  while (at < bits.length) {
    let end = at + 1
    while (end < bits.length && bits[end] === bits[at]) end++
    if (end - at < GROUP) {
      at += GROUP
      continue
    }
    pack(at)
    to.varint((end - at) * 2)
    to.byte(bits[at] ?? 0)
    at = end
    start = at
  }
  pack(at)
}
