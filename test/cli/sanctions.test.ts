import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createCommandLine } from '../support/command-line.ts'
import { madeUpAddress, sdnXml } from '../support/ofac-xml.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-sanctions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const listOf = (count: number): string => {
  const addresses = Array.from({ length: count }, (_, index) => madeUpAddress(index + 1))
  return sdnXml({ addresses, date: '01/01/2026' })
}

describe('bookfeed sanctions', () => {
  test('default: refresh makes a list the current one, and show says which it is', async () => {
    const path = join(folder, `${crypto.randomUUID()}.xml`)
    using line = createCommandLine({ BOOKFEED_SANCTIONS_LIST: path })
    writeFileSync(path, listOf(20))
    expect((await line.run('sanctions', 'refresh')).printed.join()).toContain(
      '20 addresses is now the current list',
    )
    const { printed } = await line.run('sanctions', 'show')
    expect(JSON.parse(printed.join())).toMatchObject({ entryCount: 20 })
  })

  test('error: a list that has lost many is refused, until the operator says that it is right', async () => {
    const path = join(folder, `${crypto.randomUUID()}.xml`)
    using line = createCommandLine({ BOOKFEED_SANCTIONS_LIST: path })
    writeFileSync(path, listOf(20))
    await line.run('sanctions', 'refresh')
    writeFileSync(path, listOf(10))
    const refused = await line.run('sanctions', 'refresh')
    expect([refused.exitCode, refused.errors.join()]).toEqual([
      1,
      expect.stringContaining('lacks 10 of the 20 addresses'),
    ])
    expect(await line.withLedger((ledger) => ledger.sanctionsList()?.entryCount)).toBe(20)
    expect((await line.run('sanctions', 'refresh', '--accept-loss')).exitCode).toBe(0)
    expect(await line.withLedger((ledger) => ledger.sanctionsList()?.entryCount)).toBe(10)
  })

  test('error: nothing can be refreshed that is not configured', async () => {
    using line = createCommandLine()
    const { exitCode, errors } = await line.run('sanctions', 'refresh')
    expect([exitCode, errors.join()]).toEqual([
      2,
      expect.stringContaining('BOOKFEED_SANCTIONS_LIST'),
    ])
  })
})
