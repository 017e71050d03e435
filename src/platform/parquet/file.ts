/** A Parquet file, one row group after the other, in pieces. */
import { ByteWriter, type SchemaElement } from 'hyparquet-writer'

import { type Column, ColumnEncoder } from './column.ts'
import { createParquetFooter, MAGIC } from './footer.ts'

/** Values of a step, at the end of which others have their turn. */
const STEP_VALUES = 20_000
export const NOTHING = new Uint8Array(0)

/** `rowsMax`: of a group, at most 65,536. */
export function createParquetFile(elements: readonly SchemaElement[], rowsMax: number) {
  const root = { name: 'bookfeed', num_children: elements.length }
  const footer = createParquetFooter([root, ...elements])
  const encoder = new ColumnEncoder(rowsMax)
  const bytes = new PieceWriter()
  bytes.appendUint32(MAGIC)
  return {
    /** Writes some columns a step; all have as many values. A piece that is empty ends a step. */
    *group(columns: readonly Column[]): Generator<Uint8Array> {
      const start = bytes.offset
      const count = columns[0]?.values.length ?? 0
      const written: ReturnType<typeof encoder.write>[] = []
      const columnsAtOnce = Math.ceil(STEP_VALUES / count)
      for (const [index, column] of columns.entries()) {
        written.push(encoder.write(bytes, column))
        if (index % columnsAtOnce === 0) yield NOTHING
      }
      const rawBytes = written.reduce(
        (sum, { meta_data }) => sum + (meta_data?.total_uncompressed_size ?? 0n),
        0n,
      )
      footer.add({
        columns: written,
        total_byte_size: rawBytes,
        num_rows: BigInt(count),
        total_compressed_size: BigInt(bytes.offset - start),
      })
      yield bytes.take()
    },

    *end(): Generator<Uint8Array> {
      for (const end = footer.write(bytes); end.next().done !== true;) yield bytes.take()
      yield bytes.take()
    },
  }
}

/** Hands out what was written since the last time; `offset` counts on. */
class PieceWriter extends ByteWriter {
  take(): Uint8Array {
    const piece = new Uint8Array(this.buffer.slice(0, this.index))
    this.index = 0
    return piece
  }
}
