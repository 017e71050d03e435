import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'

import { openDatabase } from '#src/database/sqlite/database.ts'
import { openHistory } from '#src/history/open.ts'

import { exportOf } from '../support/export-lines.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-export-thread-'))
const path = join(folder, 'history.db')
const { history, both, open, edge } = await createMarketHistory(openHistory(path))
afterAll(() => {
  history.dispose()
  rmSync(folder, { recursive: true })
})

/** The serving thread reads no rows for an export: only a thread of its own can have made them. */
const refuse = (): never => {
  throw new Error('The serving thread was asked for rows.')
}
const onThread = () => createHarness({ history: { ...history, runs: refuse, page: refuse } })
const inProcess = () => createHarness({ history: { ...history, path: undefined } })

const kinds = [
  { format: 'parquet' },
  { format: 'parquet', shape: 'states', depth: '25', include: 'receivedAt' },
  { format: 'csv', outcome: 'down' },
  { format: 'csv', shape: 'states' },
  { format: 'ndjson', include: 'receivedAt' },
]

describe('exports of a history in a file', () => {
  test.each(kinds)(
    'behavior: a thread makes the bytes that the process would: %p',
    async (kind) => {
      const here = inProcess()
      const there = onThread()
      for (const market of [both, open, edge]) {
        const address = exportOf(market, kind)
        const expected = await here.send(address)
        const response = await there.send(address)
        expect(response.headers.get('etag')).toBe(expected.headers.get('etag') ?? '')
        const bytes = Buffer.from(await response.arrayBuffer())
        expect(Buffer.compare(bytes, Buffer.from(await expected.arrayBuffer()))).toBe(0)
        expect(bytes.length).toBeGreaterThan(0)
      }
    },
  )

  test('behavior: many at once come whole, and each is counted', async () => {
    const { send } = onThread()
    const address = '/v1/btc/export?day=2026-01-01&format=csv'
    const texts = await Promise.all(
      Array.from({ length: 6 }, async () => (await send(address)).text()),
    )
    expect(new Set(texts).size).toBe(1)
    const { data } = (await (await send('/v1/exports')).json()) as {
      data: { state: string; snapshots: number }[]
    }
    expect(data).toHaveLength(6)
    const snapshots = both.rows.length + open.rows.length
    for (const one of data) expect(one).toMatchObject({ state: 'complete', snapshots })
  })

  test('case cancelled: is broken off, and others go on', async () => {
    const { send } = onThread()
    const response = await send(exportOf(both, { format: 'csv' }))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    const { data } = (await (await send('/v1/exports')).json()) as {
      data: { state: string; snapshots: number }[]
    }
    expect(data[0]).toMatchObject({ state: 'broken_off', sha256: null })
    expect(data[0]?.snapshots).toBeLessThan(both.rows.length)
    expect(await (await send(exportOf(edge, { format: 'csv' }))).text()).not.toBe('')
  })

  test('case cancelled: may be after its thread has ended, and another thread makes the next', async () => {
    const { send } = onThread()
    const { promise, resolve } = Promise.withResolvers<Worker>()
    process.once('worker', resolve)
    const response = await send(exportOf(both, { format: 'csv' }))
    const reader = response.body?.getReader()
    await reader?.read()
    await (await promise).terminate()
    await reader?.cancel()
    const { data } = (await (await send('/v1/exports')).json()) as { data: { state: string }[] }
    expect(data[0]).toMatchObject({ state: 'broken_off' })
    expect(await (await send(exportOf(edge, { format: 'csv' }))).text()).not.toBe('')
  })

  test.skipIf(process.platform !== 'linux')(
    'behavior: when all are over, the thread leaves the file, so that a stop leaves no log beside it',
    async () => {
      const own = join(folder, 'left.db')
      const world = await createMarketHistory(openHistory(own))
      const fds = '/proc/self/fd'
      const isOwn = (fd: string) =>
        existsSync(join(fds, fd)) && readlinkSync(join(fds, fd)) === `${own}-wal`
      const handles = () => readdirSync(fds).filter(isOwn)
      const before = handles().length
      const { send } = createHarness({ history: world.history })
      await (await send(exportOf(world.both, { format: 'csv' }))).text()
      await until(() => handles().length === before)
      world.history.dispose()
    },
  )

  test('error: damage breaks it off, with its cause in the log, and other markets are sent', async () => {
    const damaged = join(folder, 'damaged.db')
    const world = await createMarketHistory(openHistory(damaged))
    const db = openDatabase(damaged)
    db.run(
      'UPDATE chunk SET rows = zeroblob(length(rows)) WHERE id = (SELECT min(id) + 1 FROM chunk)',
    )
    db.close()
    const { send, lines } = createHarness({ history: world.history })
    const address = exportOf(world.both, { format: 'csv' })
    const broken = (await send(address)).arrayBuffer().then(
      () => 'whole',
      () => 'broken off',
    )
    expect(await broken).toBe('broken off')
    await (await send(exportOf(world.edge, { format: 'csv' }))).text()
    const line = lines.find((each) => each.includes(address)) ?? ''
    expect(line).toContain(`damaged: Market ${world.both.conditionId}`)
    expect(line).toContain('are not as they were written')
    world.history.dispose()
  })
})
