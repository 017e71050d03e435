import { expect, test } from 'bun:test'

import { parquetMetadata } from 'hyparquet'

import { ByteWriter } from '#src/platform/byte-writer.ts'
import {
  type ColumnChunk,
  createParquetFooter,
  MAGIC,
  type SchemaColumn,
} from '#src/platform/parquet/footer.ts'

const columns: SchemaColumn[] = [
  { name: 'id', type: 'INT64', repetition: 'REQUIRED' },
  { name: 'name', type: 'BYTE_ARRAY', convertedType: 'UTF8', repetition: 'OPTIONAL' },
  { name: 'at', type: 'INT64', convertedType: 'TIMESTAMP_MILLIS', repetition: 'OPTIONAL' },
]

const rowsOf = (group: number): number => 1 + ((group * 37) % 300)

/** Beyond 2 ** 32, as offsets of a large file are. */
const chunkOf = (group: number, name: string, type: ColumnChunk['type']): ColumnChunk => ({
  name,
  type,
  encodings: ['PLAIN', 'RLE_DICTIONARY'],
  values: rowsOf(group),
  bytes: 40 + group,
  bytesUncompressed: 70 + group,
  start: 2 ** 35 + group * 1000,
  dataStart: 2 ** 35 + group * 1000 + 20,
})

test.each([0, 1, 2, 14, 15, 16, 127, 128, 3000])(
  'a footer of %d groups is read by another library',
  (groups) => {
    const bytes = new ByteWriter(8)
    const footer = createParquetFooter(columns)
    for (let group = 0; group < groups; group++) {
      const chunks = columns.map(({ name, type }) => chunkOf(group, name, type))
      footer.add(chunks, rowsOf(group))
    }
    bytes.int32(MAGIC)
    Array.from(footer.write(bytes))

    const found = parquetMetadata(bytes.view().slice().buffer)
    expect(found.schema).toMatchObject([
      { name: 'bookfeed', num_children: 3 },
      { name: 'id', type: 'INT64', repetition_type: 'REQUIRED' },
      { name: 'name', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8' },
      {
        name: 'at',
        converted_type: 'TIMESTAMP_MILLIS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
      },
    ])
    expect(found.row_groups).toHaveLength(groups)
    for (const [group, { columns: chunks, ...row }] of found.row_groups.entries()) {
      expect(row).toMatchObject({
        num_rows: BigInt(rowsOf(group)),
        total_byte_size: BigInt(3 * (70 + group)),
        total_compressed_size: BigInt(3 * (40 + group)),
      })
      expect(chunks[1]?.meta_data).toMatchObject({
        type: 'BYTE_ARRAY',
        encodings: ['PLAIN', 'RLE_DICTIONARY'],
        path_in_schema: ['name'],
        codec: 'SNAPPY',
        num_values: BigInt(rowsOf(group)),
        total_compressed_size: BigInt(40 + group),
        total_uncompressed_size: BigInt(70 + group),
        data_page_offset: BigInt(2 ** 35 + group * 1000 + 20),
        dictionary_page_offset: BigInt(2 ** 35 + group * 1000),
      })
    }
    const rows = Array.from({ length: groups }, (_, group) => rowsOf(group))
    expect(found.num_rows).toBe(BigInt(rows.reduce((sum, count) => sum + count, 0)))
  },
)
