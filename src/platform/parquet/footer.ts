/** The footer (thrift, compact), from groups that are printed: as objects they fill a gigabyte. */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'

/** Of the magic number that a file begins and ends with, and of the length before the last. */
const WORD_BYTES = 4
/** Type of elements, in the low half of a list's header; a larger count follows the header. */
const STRUCT = 12
const SHORT_LIST_MAX = 14
export const MAGIC = 0x31524150
const PIECE_BYTES = 65_536

type RowGroup = ParquetWriter['row_groups'][number]

export function createParquetFooter(schema: SchemaElement[]) {
  /** A file of these groups, as the library ends one, without the magic number before. */
  const printWhole = (groups: RowGroup[], rows: bigint): Uint8Array => {
    const bytes = new ByteWriter()
    const printer = new ParquetWriter({ writer: bytes, schema, createdBy: 'bookfeed' })
    printer.row_groups = groups
    printer.num_rows = rows
    void printer.finish()
    return bytes.getBytes().slice(WORD_BYTES)
  }
  const print = (groups: RowGroup[], rows: bigint): Uint8Array =>
    printWhole(groups, rows).subarray(0, -2 * WORD_BYTES)
  const empty = print([], 0n)
  const groups: Uint8Array[] = []
  let rows = 0n
  /** Bytes after the list of groups. */
  let restBytes = 0

  return {
    add(group: RowGroup): void {
      rows += group.num_rows
      const one = print([group], 0n)
      // Up to the header of the list, which holds the count, both are the same.
      const header = one.findIndex((byte, at) => byte !== empty[at])
      restBytes = empty.length - header - 1
      groups.push(one.slice(header + 1, one.length - restBytes))
    },

    /** Writes the end of the file, and yields where a piece is full. */
    *write(to: ByteWriter): Generator<void, void> {
      if (groups.length === 0) {
        to.appendBytes(printWhole([], 0n))
        return
      }
      const whole = print([], rows)
      const start = to.offset
      const header = whole.length - restBytes - 1
      to.appendBytes(whole.subarray(0, header))
      to.appendUint8((Math.min(groups.length, SHORT_LIST_MAX + 1) << 4) | STRUCT)
      if (groups.length > SHORT_LIST_MAX) to.appendVarInt(groups.length)
      for (const group of groups) {
        to.appendBytes(group)
        if (to.index >= PIECE_BYTES) yield
      }
      to.appendBytes(whole.subarray(header + 1))
      to.appendUint32(to.offset - start)
      to.appendUint32(MAGIC)
    },
  }
}
