import { describe, expect, test } from 'bun:test'
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { createCommandLine } from '../support/command-line.ts'

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

/**
 * Modes of what a folder holds while both files are open and written, so that WAL files are there.
 */
async function modesWhileServing(cli: ReturnType<typeof createCommandLine>) {
  const served = cli.run('serve')
  while (!cli.printed.some((line) => line.includes('listens on'))) await Bun.sleep(5)
  const modes = readdirSync(cli.folder).map((name) => [name, modeOf(join(cli.folder, name))])
  cli.stop()
  const { exitCode, errors } = await served
  expect(exitCode).toBe(0)
  return { modes: Object.fromEntries(modes) as Record<string, string>, errors }
}

// Without test mode, whose data a server makes in the background.
const options = {
  BOOKFEED_PORT: '0',
  BOOKFEED_RECORD: 'off',
  BOOKFEED_SAMPLE: 'off',
  BOOKFEED_TEST_MODE: 'off',
}
const names = ['history.db', 'history.db-shm', 'history.db-wal']
const all = [
  ...names,
  ...names.map((name) => name.replace('history', 'ledger')),
  'server.lock',
  'clock.txt',
]
const ownerOnly = Object.fromEntries(all.map((name) => [name, '600']))

describe('a data folder', () => {
  test("default: is its owner's alone, with all that is in it", async () => {
    const umask = process.umask(0o022)
    try {
      using outer = createCommandLine()
      const folder = join(outer.folder, 'new')
      using cli = createCommandLine({ ...options, BOOKFEED_DATA: folder })
      const { modes, errors } = await modesWhileServing({ ...cli, folder })
      expect([modeOf(folder), modes, errors]).toEqual(['700', ownerOnly, []])
    } finally {
      process.umask(umask)
    }
  })

  test('behavior: one that others may read is closed to them', async () => {
    using cli = createCommandLine(options)
    await modesWhileServing(cli)
    chmodSync(cli.folder, 0o755)
    for (const name of readdirSync(cli.folder)) chmodSync(join(cli.folder, name), 0o644)
    const { modes, errors } = await modesWhileServing(cli)
    expect([modeOf(cli.folder), modes, errors]).toEqual(['700', ownerOnly, []])
  })

  test('error: one of all users is left as it is, and named', async () => {
    using cli = createCommandLine({ ...options, BOOKFEED_LOG: 'text' })
    chmodSync(cli.folder, 0o1777)
    const { modes } = await modesWhileServing(cli)
    expect([modeOf(cli.folder), modes]).toEqual(['1777', ownerOnly])
    expect(cli.logged.join('')).toContain(
      ` warn Other users can access ${cli.folder} (all users can write to it). Remove their permissions.\n`,
    )
  })
})
