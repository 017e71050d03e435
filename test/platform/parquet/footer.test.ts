import { expect, test } from 'bun:test'

import { ByteWriter, ParquetWriter } from 'hyparquet-writer'

import { createParquetFooter } from '#src/platform/parquet/footer.ts'

const schema = [
  { name: 'root', num_children: 2 },
  { name: 'id', type: 'INT64', repetition_type: 'REQUIRED' },
  { name: 'name', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
] as const

function write(groups: number, isOurs: boolean): Uint8Array {
  const bytes = new ByteWriter()
  const file = new ParquetWriter({ writer: bytes, schema: [...schema], createdBy: 'bookfeed' })
  const footer = createParquetFooter([...schema])
  for (let group = 0; group < groups; group++) {
    const rows = 1 + ((group * 37) % 300)
    const id = Array.from({ length: rows }, (_, row) => BigInt(group * 1000 + row))
    const name = id.map((value) => (value % 3n === 0n ? null : `row ${value}`))
    const columnData = [
      { name: 'id', data: id, offsetIndex: false },
      { name: 'name', data: name, offsetIndex: false },
    ]
    void file.write({ columnData, rowGroupSize: rows })
    if (isOurs) for (const written of file.row_groups.splice(0)) footer.add(written)
  }
  if (isOurs) Array.from(footer.write(bytes))
  else void file.finish()
  return bytes.getBytes()
}

test.each([0, 1, 2, 14, 15, 16, 127, 128, 300])(
  'the footer of %d groups is the one that the library writes from objects',
  (groups) => {
    expect(Buffer.compare(write(groups, true), write(groups, false))).toBe(0)
  },
)
