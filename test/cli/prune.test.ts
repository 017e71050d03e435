import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createCommandLine } from '../support/command-line.ts'
import { addOldMarkets } from '../support/old-markets.ts'

/** A folder with a closed market a day before now. */
async function createPruneLine(days: number) {
  const cli = createCommandLine({ BOOKFEED_FREE_MB: '0' })
  const history = openHistory(join(cli.folder, 'history.db'))
  await addOldMarkets(history, days)
  history.dispose()
  const held = (): number => {
    const opened = openHistory(join(cli.folder, 'history.db'))
    const { markets } = opened.totals()
    opened.dispose()
    return markets
  }
  return Object.assign(cli, { held })
}

describe('bookfeed prune', () => {
  test('default: a dry run says what goes, and the command does exactly that', async () => {
    using cli = await createPruneLine(5)
    const dry = await cli.run('prune', '--keep-days', '2', '--dry-run')
    expect([dry.exitCode, dry.printed]).toEqual([
      0,
      [expect.stringMatching(/^3 markets would be deleted, of 20.*Z to 20.*Z: 3 snapshots, /)],
    ])
    expect(cli.held()).toBe(5)
    const { printed } = await cli.run('prune', '--keep-days', '2')
    expect(printed.at(-1)).toBe('3 markets deleted.')
    expect(cli.held()).toBe(2)
    const again = await cli.run('prune', '--keep-days', '2')
    expect(again.printed).toEqual(['No market is due.', '0 markets deleted.'])
  })

  test('behavior: what is small enough is kept', async () => {
    using cli = await createPruneLine(3)
    expect((await cli.run('prune', '--keep-gb', '1')).printed[0]).toBe('No market is due.')
    expect(cli.held()).toBe(3)
  })

  test('error: asks what to keep', async () => {
    using cli = await createPruneLine(1)
    const { exitCode, errors } = await cli.run('prune')
    expect([exitCode, errors]).toEqual([2, [expect.stringContaining('--keep-days')]])
    expect(cli.held()).toBe(1)
  })
})
