import { describe, expect, test } from 'bun:test'

import { createDayFiles } from '#src/extensions/day-files/server.ts'

import { createCommandLine } from '../../support/command-line.ts'

const simulated = ['--coins', 'btc', '--max-snapshots', '40', '--start', '2026-01-01T00:00:00Z']

describe('bookfeed files', () => {
  test('default: makes what is final once, and lists it', async () => {
    using line = createCommandLine()
    await line.run('simulate', ...simulated)
    const made = await line.run('files', 'make')
    expect([made.exitCode, made.printed]).toEqual([0, ['12 files made, 0 days deleted.']])
    expect((await line.run('files', 'make')).printed).toEqual(['0 files made, 0 days deleted.'])
    const { printed } = await line.run('files', 'list', '--json')
    const files = JSON.parse(printed.join('\n')) as { name: string; rows: number }[]
    expect(files).toHaveLength(12)
    expect(files[0]).toMatchObject({
      name: 'btc-5m-2026-01-01-snapshots-decimal-r1.parquet',
      rows: 40,
    })
    expect((await line.run('files', 'list')).printed).toHaveLength(13)
  })

  test('error: an unknown coin is refused', async () => {
    using line = createCommandLine()
    const { exitCode, errors } = await line.run('files', 'make', '--coins', 'nocoin')
    expect([exitCode, errors.join('\n')]).toEqual([2, expect.stringContaining('nocoin')])
  })

  test('behavior: a server makes none unless it is told to', () => {
    using line = createCommandLine()
    const [job] = createDayFiles().jobs ?? []
    expect(job?.start(line.context, undefined)).toBeUndefined()
  })
})
