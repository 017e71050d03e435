import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createCommandLine } from '../support/command-line.ts'
import { runCommand } from '../support/run-command.ts'
import { createSmallDisk, hasSmallDisk } from '../support/small-disk.ts'
import { someLines } from '../support/snapshot-lines.ts'

describe.skipIf(!hasSmallDisk)('a disk with less room than BOOKFEED_FREE_MB', () => {
  const snapshotsIn = (folder: string): number => {
    const history = openHistory(join(folder, 'history.db'))
    const { snapshots } = history.totals()
    history.dispose()
    return snapshots
  }

  test('error: nothing more is imported, and the same command goes on when there is room', async () => {
    using disk = createSmallDisk()
    using cli = createCommandLine(disk.env)
    const file = join(cli.folder, 'books.jsonl')
    await Bun.write(file, someLines(50))
    const refused = await cli.run('import', file)
    expect([refused.exitCode, refused.errors.at(-1)]).toEqual([
      1,
      expect.stringContaining('BOOKFEED_FREE_MB'),
    ])
    expect(snapshotsIn(disk.folder)).toBe(0)
    // Of the real clock: the recording is of later than that of tests.
    const roomy = await runCommand({ ...disk.env, BOOKFEED_FREE_MB: '0' }, 'import', file)
    expect(roomy.exitCode).toBe(0)
    expect(snapshotsIn(disk.folder)).toBe(50)
  })

  test('error: nothing is simulated, nor backed up to it; keys can be made', async () => {
    using disk = createSmallDisk()
    using cli = createCommandLine(disk.env)
    const place = join(disk.folder, 'backups')
    expect((await cli.run('keys', 'create')).exitCode).toBe(0)
    for (const args of [['simulate'], ['backup', '--to', place]]) {
      const { exitCode, errors } = await cli.run(...args)
      expect([exitCode, errors.at(-1)]).toEqual([1, expect.stringContaining('BOOKFEED_FREE_MB')])
    }
    expect(existsSync(join(place, 'blocks'))).toBe(false)
  })
})
