import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createCommandLine } from '../../support/command-line.ts'
import { addOldMarkets } from '../../support/old-markets.ts'

async function createArchiveLine(env: Record<string, string>) {
  const cli = createCommandLine({ BOOKFEED_FREE_MB: '0', ...env })
  const history = openHistory(join(cli.folder, 'history.db'))
  await addOldMarkets(history, 3)
  history.dispose()
  return cli
}

describe('bookfeed archive', () => {
  test('error: asks for a bucket', async () => {
    using cli = await createArchiveLine({})
    const { exitCode, errors } = await cli.run('archive')
    expect([exitCode, errors]).toEqual([2, [expect.stringContaining('BOOKFEED_ARCHIVE')]])
  })

  test('error: one that cannot be reached is one line, and nothing is noted', async () => {
    using cli = await createArchiveLine({ BOOKFEED_ARCHIVE: 's3://books/a' })
    const { exitCode, errors } = await cli.run('archive', '--days', '0')
    expect([exitCode, errors]).toEqual([1, [expect.stringMatching(/s3:.*S3_ENDPOINT/)]])
    const history = openHistory(join(cli.folder, 'history.db'))
    expect([history.archive.place(), history.archive.totals().objects]).toEqual([undefined, 0])
    history.dispose()
  })

  test('error: another bucket than the one that has books is refused', async () => {
    using cli = await createArchiveLine({ BOOKFEED_ARCHIVE: 's3://books/b' })
    const history = openHistory(join(cli.folder, 'history.db'))
    await history.archive.setPlace('s3://books/a')
    history.dispose()
    const { exitCode, errors } = await cli.run('archive')
    expect([exitCode, errors]).toEqual([1, [expect.stringContaining('are in s3://books/a')]])
  })
})
