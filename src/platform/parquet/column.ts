/** A column of a row group as pages: its values, each once where they repeat, and its rows. */
import { ByteWriter, type ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeRleBitPackedHybrid } from 'hyparquet-writer/src/encoding.js'

import { createSnappy } from '#src/platform/snappy.ts'

/** In place of a value that is null. */
export const NONE = -1

const WORD = 2 ** 32
/** Indexes are written by so many. */
const GROUP = 8
const BYTE_VALUES = 256

/** Values are integers, or indexes of `texts`. */
export type Column = {
  element: SchemaElement
  values: Float64Array
  texts: readonly string[]
  hasStatistics: boolean
  /** In place of what the type would print; such a column has no statistics but of nulls. */
  print?: ((page: ByteWriter, value: number) => void) | undefined
}

type PageHeader = Parameters<typeof writePageHeader>[1]
type ColumnChunk = ParquetWriter['row_groups'][number]['columns'][number]

/** Writes one column after the other, of at most so many rows. */
export class ColumnEncoder {
  /** By their order: which value each one that is not null has, and the values. */
  readonly #indexes: Uint16Array
  readonly #distinct: Float64Array
  readonly #slots: Int32Array
  readonly #shift: number
  readonly #levels: Uint8Array
  /** What is printed before it is compressed. */
  readonly #page = new ByteWriter()
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
    const { name, type = 'INT64' } = element
    this.#index(values)
    const start = to.offset
    const hasDictionary = this.#hasDictionary(type)
    let rawBytes = hasDictionary ? this.#writeDictionary(to, column) : 0
    const dataStart = to.offset
    rawBytes += this.#writeData(to, column, hasDictionary)
    return {
      meta_data: {
        type,
        encodings: hasDictionary ? ['PLAIN', 'RLE_DICTIONARY'] : ['PLAIN'],
        path_in_schema: [name],
        codec: 'SNAPPY',
        num_values: BigInt(values.length),
        total_compressed_size: BigInt(to.offset - start),
        total_uncompressed_size: BigInt(rawBytes),
        data_page_offset: BigInt(dataStart),
        ...(hasDictionary ? { dictionary_page_offset: BigInt(start) } : {}),
        ...(hasStatistics ? { statistics: this.#statistics(column, type) } : {}),
      },
      file_offset: BigInt(start),
    }
  }

  /** Numbers the values in the order in which they come first. */
  #index(values: Float64Array): void {
    const indexes = this.#indexes
    const levels = this.#levels
    const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2)
    this.#slots.fill(NONE)
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

  /** The index of a value, from the slot on that its bits give. */
  #find(value: number, first: number): number {
    const slots = this.#slots
    const distinct = this.#distinct
    let slot = first
    let index = slots[slot] ?? NONE
    while (index !== NONE && distinct[index] !== value) {
      slot = slot + 1 === slots.length ? 0 : slot + 1
      index = slots[slot] ?? NONE
    }
    if (index !== NONE) return index
    slots[slot] = this.#count
    distinct[this.#count] = value
    return this.#count++
  }

  /** Where values repeat. */
  #hasDictionary(type: string): boolean {
    return type === 'BYTE_ARRAY' ? this.#count > 0 : this.#count * 2 < this.#present
  }

  #print(index: number, { element: { type }, texts, print }: Column): void {
    const page = this.#page
    const value = this.#distinct[index] ?? 0
    if (print !== undefined) print(page, value)
    else if (type === 'BYTE_ARRAY') {
      const bytes = Buffer.from(texts[value] ?? '')
      page.appendUint32(bytes.length)
      page.appendBytes(bytes)
    } else {
      page.appendInt32(value)
      if (type === 'INT64') page.appendInt32(Math.floor(value / WORD))
    }
  }

  #writeDictionary(to: ByteWriter, column: Column): number {
    this.#page.index = 0
    for (let index = 0; index < this.#count; index++) this.#print(index, column)
    const dictionary_page_header = { num_values: this.#count, encoding: 'PLAIN' } as const
    return this.#writePage(to, { type: 'DICTIONARY_PAGE', dictionary_page_header }, 0)
  }

  #writeData(to: ByteWriter, column: Column, hasDictionary: boolean): number {
    const { element, values } = column
    const page = this.#page
    const present = this.#present
    const rows = values.length
    page.index = 0
    if (element.repetition_type === 'OPTIONAL') {
      writeRleBitPackedHybrid(page, this.#levels.subarray(0, rows), 1)
    }
    const levelBytes = page.index
    if (hasDictionary) {
      const groups = Math.ceil(present / GROUP)
      const indexes = this.#indexes.fill(0, present, groups * GROUP).subarray(0, groups * GROUP)
      // Of whole bytes: they compress better, and cost less, than those of as many bits as needed.
      const isShort = this.#count <= BYTE_VALUES
      page.appendUint8(isShort ? 8 : 16)
      page.appendVarInt(groups * 2 + 1)
      page.appendBytes(
        isShort ? Uint8Array.from(indexes) : new Uint8Array(indexes.buffer, 0, indexes.byteLength),
      )
    } else {
      for (const index of this.#indexes.subarray(0, present)) this.#print(index, column)
    }
    const data_page_header_v2 = {
      num_values: rows,
      num_nulls: rows - present,
      num_rows: rows,
      encoding: hasDictionary ? ('RLE_DICTIONARY' as const) : ('PLAIN' as const),
      definition_levels_byte_length: levelBytes,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    }
    return this.#writePage(to, { type: 'DATA_PAGE_V2', data_page_header_v2 }, levelBytes)
  }

  /** All but the levels is compressed. Returns the bytes that it would take as it is. */
  #writePage(
    to: ByteWriter,
    header: Partial<PageHeader> & Pick<PageHeader, 'type'>,
    levelBytes: number,
  ): number {
    const bytes = this.#page.getBytes()
    const compressed = this.#compress(bytes.subarray(levelBytes))
    const start = to.offset
    writePageHeader(to, {
      ...header,
      uncompressed_page_size: bytes.length,
      compressed_page_size: levelBytes + compressed.length,
    })
    const headerBytes = to.offset - start
    to.appendBytes(bytes.subarray(0, levelBytes))
    to.appendBytes(compressed)
    return headerBytes + bytes.length
  }

  #statistics({ values, texts, print }: Column, type: string) {
    const null_count = BigInt(values.length - this.#present)
    if (this.#count === 0 || print !== undefined) return { null_count }
    const found = this.#distinct.slice(0, this.#count).sort()
    const [min = 0, max = 0] = [found[0], found.at(-1)]
    if (type === 'INT32') return { null_count, min_value: min, max_value: max }
    if (type === 'INT64') return { null_count, min_value: BigInt(min), max_value: BigInt(max) }
    const names = Array.from(found, (index) => texts[index] ?? '').sort()
    return { null_count, min_value: names[0] ?? '', max_value: names.at(-1) ?? '' }
  }
}
