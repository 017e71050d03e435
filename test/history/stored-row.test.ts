/** Single rows and their columns while another handle of the same file rewrites their chunks. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, getMarket, someSnapshots, START_MS } from './books.ts'

const HASH = 'cd'.repeat(20)

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-rows-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/**
 * A reader that trusts what it knows for an hour, and a writer of the
 * same file, which holds 250 rows.
 */
async function openTwo() {
  const path = join(folder, `${++files}.db`)
  const writer = openHistory(path)
  const rows = someSnapshots(250).map((row) => ({ ...row, sourceHash: HASH }))
  await appendAll(writer, rows)
  const reader = openHistory(path, { lagMs: 3_600_000 })
  return { reader, writer, rows, market: getMarket(reader) }
}

/** A row that belongs in the first chunk, which is thereby replaced. */
const late = aSnapshot({ timestampMs: START_MS + 10_500 }, 5)

describe('at', () => {
  test('behavior: a row that was found keeps its text and its hash when its chunk is replaced before they are read', async () => {
    const { reader, writer, rows, market } = await openTwo()
    const found = reader.at({ market, outcome: 'up', timestampMs: START_MS + 20_000 })
    await appendAll(writer, [late])
    expect(found?.snapshot()).toMatchObject({ ...rows[20], id: 21 })
    expect(JSON.parse(Buffer.from(found?.text() ?? []).toString()).id).toBe('21')
    for (const history of [reader, writer]) history.dispose()
  })
})

describe('tops', () => {
  test('behavior: a chunk that is gone when its column is read is looked for again', async () => {
    const { reader, writer, market } = await openTwo()
    const query = { market, order: 'asc', limit: 1000 } as const
    // Now the chunks are in memory, and their columns are not.
    expect(reader.page(query).count).toBe(250)
    await appendAll(writer, [late])
    const tops = reader.tops(query)
    expect(tops.map(({ id }) => id)).toEqual([...idsFrom(1, 11), 251, ...idsFrom(12, 250)])
    for (const history of [reader, writer]) history.dispose()
  })
})

const idsFrom = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)
