import { expect, test } from 'bun:test'

import { parquetMetadata, parquetReadObjects } from 'hyparquet'

import { ByteWriter } from '#src/platform/byte-writer.ts'
import { ColumnEncoder, NONE } from '#src/platform/parquet/column.ts'
import { createParquetFooter, MAGIC, type SchemaColumn } from '#src/platform/parquet/footer.ts'
import { createRandom } from '#src/platform/random.ts'

const texts = ['up', 'down', `0x${'ab'.repeat(32)}`]
const kinds = {
  optional: { name: 'optional', type: 'INT64', repetition: 'OPTIONAL' },
  required: { name: 'required', type: 'INT64', repetition: 'REQUIRED' },
  small: { name: 'small', type: 'INT32', repetition: 'OPTIONAL' },
  text: {
    name: 'text',
    type: 'BYTE_ARRAY',
    convertedType: 'UTF8',
    repetition: 'OPTIONAL',
  },
  flag: { name: 'flag', type: 'BOOLEAN', repetition: 'OPTIONAL' },
} as const satisfies Record<string, SchemaColumn>

type Written = { element: SchemaColumn; values: number[] }

/** A file of one group, read back by another library; and what its footer says. */
async function readBack(columns: readonly Written[]) {
  const rows = columns[0]?.values.length ?? 0
  const footer = createParquetFooter(columns.map(({ element }) => element))
  const bytes = new ByteWriter(8)
  bytes.int32(MAGIC)
  const encoder = new ColumnEncoder(30_000)
  const chunks = columns.map(({ element, values }) =>
    encoder.write(bytes, {
      element,
      values: Float64Array.from(values),
      texts,
      hasStatistics: true,
    }),
  )
  footer.add(chunks, rows)
  Array.from(footer.write(bytes))
  const file = bytes.view().slice().buffer
  return { rows: await parquetReadObjects({ file }), metadata: parquetMetadata(file) }
}

function printed({ element, values }: Written): unknown[] {
  return values.map((value) => {
    if (value === NONE) return null
    if (element.type === 'BYTE_ARRAY') return texts[value]
    if (element.type === 'BOOLEAN') return value === 1
    return element.type === 'INT32' ? value : BigInt(value)
  })
}

async function expectBack(columns: readonly Written[]): Promise<void> {
  const { rows } = await readBack(columns)
  for (const column of columns) {
    const { name } = column.element
    expect(
      Bun.deepEquals(
        rows.map((row) => row[name]),
        printed(column),
      ),
    ).toBeTrue()
  }
}

test('behavior: columns of any kind, spread and share of nulls come back', async () => {
  const random = createRandom('columns')
  for (let round = 0; round < 60; round++) {
    const count = 1 + random.integer(round % 6 === 0 ? 30_000 : 700)
    const spread = [1, 2, 255, 256, 257, 70_000, 2 ** 31, Number.MAX_SAFE_INTEGER][round % 8] ?? 1
    const nulls = random.integer(4)
    const draw = (max: number, hasNulls: boolean) => {
      const run = 1 + random.integer(20)
      let value = 0
      return Array.from({ length: count }, (_, at) => {
        if (at % run === 0)
          value = random.integer(Math.min(max, 2 ** 31)) * Math.ceil(max / 2 ** 31)
        return hasNulls && random.integer(4) < nulls ? NONE : Math.min(value, max)
      })
    }
    await expectBack([
      { element: kinds.optional, values: draw(spread, true) },
      { element: kinds.required, values: draw(spread, false) },
      { element: kinds.small, values: draw(Math.min(spread, 2 ** 31 - 1), true) },
      { element: kinds.text, values: draw(texts.length, true) },
      { element: kinds.flag, values: draw(2, true) },
    ])
  }
}, 300_000)

test('case only nulls, one row, and the largest and negative integers: come back', async () => {
  await expectBack([
    { element: kinds.optional, values: [NONE, NONE, NONE] },
    { element: kinds.text, values: [NONE, NONE, NONE] },
    { element: kinds.flag, values: [NONE, NONE, NONE] },
  ])
  await expectBack([
    { element: kinds.optional, values: [-1, -(2 ** 40), NONE] },
    { element: kinds.small, values: [-1, -(2 ** 31), NONE] },
  ])
  await expectBack([{ element: kinds.required, values: [Number.MAX_SAFE_INTEGER] }])
})

test('statistics: the least, the greatest and the nulls of a column', async () => {
  const { metadata } = await readBack([
    { element: kinds.optional, values: [5, NONE, 2 ** 40, 7] },
    { element: kinds.text, values: [0, 1, NONE, 0] },
  ])
  const found = metadata.row_groups[0]?.columns.map((column) => column.meta_data?.statistics)
  expect(found?.[0]).toMatchObject({ min_value: 5n, max_value: 2n ** 40n, null_count: 1n })
  expect(found?.[1]).toMatchObject({ min_value: 'down', max_value: 'up', null_count: 1n })
})
