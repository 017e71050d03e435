import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { isFault } from '#src/platform/fault.ts'
import { type ListRefresh, refreshList } from '#src/screening/list-refresh.ts'

import { madeUpAddress, type SdnOptions, sdnXml } from '../support/ofac-xml.ts'

const NOW_MS = Date.UTC(2026, 10, 21)
const HOUR_MS = 3_600_000

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-refresh-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let ledger: Ledger
beforeEach(() => {
  ledger = openLedger(':memory:', { nowMs: NOW_MS })
})
afterEach(() => ledger.dispose())

const addressesTo = (count: number) => Array.from({ length: count }, (_, n) => madeUpAddress(n))

/** Publishes a list as a file that was written now, and refreshes from it. */
function refresh(options: SdnOptions, changed: Partial<ListRefresh> & { writtenMs?: number } = {}) {
  const location = join(folder, 'sdn.xml')
  const { writtenMs = NOW_MS, ...rest } = changed
  writeFileSync(location, sdnXml(options))
  utimesSync(location, writtenMs / 1000, writtenMs / 1000)
  const signal = AbortSignal.any([])
  return refreshList({ location, ledger, clock: () => NOW_MS, signal, ...rest })
}

const faultOf = (...given: Parameters<typeof refresh>): Promise<string> =>
  refresh(...given).then(
    ({ list }) => `No fault, but ${JSON.stringify(list)}`,
    (error: unknown) =>
      isFault(error, 'sanctions_list') ? error.message : `No sanctions_list fault: ${error}`,
  )

describe('refreshList', () => {
  test('default: the first list comes into force', async () => {
    const { list, isChanged } = await refresh({ addresses: addressesTo(3) })
    expect([list.publishedOn, list.entryCount, isChanged]).toEqual(['2026-11-20', 3, true])
    expect(ledger.sanctionsList()).toEqual(list)
    expect(ledger.isSanctioned(madeUpAddress(2).toLowerCase())).toBe(true)
  })

  test('behavior: the same list is confirmed', async () => {
    await refresh({}, { writtenMs: NOW_MS - 2 * HOUR_MS })
    const { list, isChanged } = await refresh({}, { writtenMs: NOW_MS - HOUR_MS })
    expect([list.confirmedMs, isChanged]).toEqual([NOW_MS - HOUR_MS, false])
    expect(ledger.sanctionsList()).toEqual(list)
  })

  test('behavior: an older copy of the same list takes no confirmation back', async () => {
    await refresh({}, { writtenMs: NOW_MS - HOUR_MS })
    const { list } = await refresh({}, { writtenMs: NOW_MS - 2 * HOUR_MS })
    expect(list.confirmedMs).toBe(NOW_MS - HOUR_MS)
  })

  test('behavior: a confirmation by a clock that was ahead is taken back', async () => {
    const aheadMs = NOW_MS + 9 * HOUR_MS
    await refresh({}, { clock: () => aheadMs, writtenMs: aheadMs })
    expect((await refresh({})).list.confirmedMs).toBe(NOW_MS)
  })

  test('behavior: a tenth of the addresses may go, and any number may come', async () => {
    await refresh({ addresses: addressesTo(20) })
    await refresh({ addresses: addressesTo(18) })
    expect(ledger.isSanctioned(madeUpAddress(18).toLowerCase())).toBe(false)
    await refresh({ addresses: addressesTo(100) })
    expect(ledger.sanctionsList()?.entryCount).toBe(100)
  })

  test('error: a list that lacks more than a tenth changes nothing', async () => {
    const { list } = await refresh({ addresses: addressesTo(20) })
    const shrunken = { addresses: addressesTo(17) }
    expect(await faultOf(shrunken)).toBe('lacks 3 of the 20 addresses of the current list')
    expect(ledger.sanctionsList()).toEqual(list)
    expect(ledger.isSanctioned(madeUpAddress(19).toLowerCase())).toBe(true)
    expect(await refresh(shrunken, { acceptsLoss: true, actor: 'operator' })).toMatchObject({
      isChanged: true,
    })
  })

  test('error: as many others do not make up for what is gone', async () => {
    await refresh({ addresses: addressesTo(20) })
    expect(await faultOf({ addresses: addressesTo(40).slice(10, 30) })).toStartWith('lacks 10 of')
  })

  test('error: a list older than the current one, or of the future', async () => {
    await refresh({ date: '11/20/2026' })
    expect(await faultOf({ date: '11/19/2026' })).toStartWith('is of 2026-11-19, older')
    expect(await faultOf({ date: '11/24/2026' })).toStartWith(
      'is of 2026-11-24, which is in the future',
    )
    expect(ledger.sanctionsList()?.publishedOn).toBe('2026-11-20')
  })

  test('error: a list that is cut off changes nothing', async () => {
    await refresh({ addresses: addressesTo(3) })
    expect(await faultOf({ addresses: addressesTo(3), recordCount: 4 })).toContain('4 entries')
    expect(ledger.sanctionsList()?.entryCount).toBe(3)
  })

  test('error: nothing is changed after an abort', async () => {
    const signal = AbortSignal.abort()
    const ended = await refresh({}, { signal }).catch((error: unknown) => error)
    expect(ended).toBeInstanceOf(Error)
    expect(ledger.sanctionsList()).toBeUndefined()
  })
})
