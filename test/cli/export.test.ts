import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { appendAll, conditionIdOf, simulatedSnapshots, START_MS } from '../history/books.ts'
import { createCommandLine } from '../support/command-line.ts'
import { createHarness } from '../support/harness.ts'

const conditionId = conditionIdOf(1)

/** A folder with a market whose window began at 08:00. */
async function createExportLine() {
  const cli = createCommandLine({ BOOKFEED_FREE_MB: '0' })
  const history = openHistory(join(cli.folder, 'history.db'))
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  const snapshots = simulatedSnapshots('export', 120)
  await appendAll(
    history,
    snapshots.map((each, index) => ({
      ...each,
      conditionId,
      timestampMs: START_MS + index * 1000,
    })),
  )
  history.dispose()
  const to = join(cli.folder, 'out')
  return Object.assign(cli, { to, files: () => readdirSync(to).sort() })
}

describe('bookfeed export', () => {
  test('default: a market is the file that the route sends', async () => {
    using cli = await createExportLine()
    const { printed, errors } = await cli.run(
      'export',
      conditionId,
      '--format',
      'npz',
      '--to',
      cli.to,
    )
    expect([errors, printed]).toEqual([[], [expect.stringMatching(/-up\.npz: \d+ states$/)]])
    const written = readFileSync(join(cli.to, `${conditionId}-up.npz`))
    const history = openHistory(join(cli.folder, 'history.db'))
    const { send } = createHarness({ history })
    const sent = await send(`/v1/btc/markets/${conditionId}/export?format=npz`)
    expect(Buffer.from(await sent.arrayBuffer()).equals(written)).toBe(true)
    history.dispose()
  })

  test('default: a day is a file per market, and of PMXT per hour', async () => {
    using cli = await createExportLine()
    const day = ['--day', '2026-04-14', '--to', cli.to]
    const trades = ['--format', 'tardis', '--outcome', 'down', '--kind', 'trades']
    const { printed } = await cli.run('export', ...day, ...trades)
    // A file of trades has no states to count.
    expect(printed).toEqual([join(cli.to, `${conditionId}-down-trades.csv`)])
    await cli.run('export', ...day, '--format', 'pmxt')
    expect(cli.files()).toEqual([
      `${conditionId}-down-trades.csv`,
      'polymarket_orderbook_2026-04-14T08.parquet',
    ])
  })

  test('error: nothing is left behind, and what is wrong is said', async () => {
    using cli = await createExportLine()
    const run = async (...words: string[]) => {
      const { exitCode, errors } = await cli.run('export', '--to', cli.to, ...words)
      return [exitCode, errors.join('\n')]
    }
    expect(await run('--format', 'npz')).toEqual([2, expect.stringContaining('--day')])
    expect(await run(conditionId, '--format', 'npz', '--kind', 'book')).toEqual([
      1,
      expect.stringContaining('kind'),
    ])
    const day = ['--day', '2026-04-14', '--format', 'pmxt']
    expect(await run(...day, '--kind', 'book')).toEqual([1, expect.stringContaining('kind')])
    expect(await run('--day', '2026-02-30', '--format', 'npz')).toEqual([
      2,
      expect.stringContaining('date'),
    ])
    expect(await run(...day, '--to', '/dev/null/files')).toEqual([
      1,
      'bookfeed: Cannot write /dev/null/files: ENOTDIR.',
    ])
    expect(await run(conditionIdOf(9), '--format', 'npz')).toEqual([
      1,
      expect.stringContaining('No market'),
    ])
    expect(cli.files()).toEqual([])
  })
})
