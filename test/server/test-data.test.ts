/** The files of test mode, and keys that read them. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { PUBLIC_TEST_KEY, testKeyOf } from '#src/domain/selling/api-key.ts'
import { openHistory } from '#src/history/open.ts'
import { createTestData, hasTestData, openTestData, testFolderOf } from '#src/server/test-data.ts'
import { makeTestDay, testStores } from '#src/simulator/test-day.ts'

import { createCliContext } from '../support/cli-context.ts'
import { createCommandLine } from '../support/command-line.ts'
import { startKillableServer } from '../support/killable-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-test-data-'))
afterAll(() => rmSync(folder, { recursive: true }))

const part = { coins: ['eth'], ranges: [[0, 900_000]] } as const

describe('the simulated day', () => {
  async function make() {
    const [day, gap, stale] = testStores.map(() => openHistory(':memory:'))
    if (!day || !gap || !stale) throw new Error('A store is missing.')
    const histories = { day, gap, stale }
    for await (const _ of makeTestDay(histories, part));
    return histories
  }

  test('default: it is the same wherever it is made, sound, and without a gap', async () => {
    const one = await make()
    const other = await make()
    for (const store of testStores) {
      expect([...one[store].verify()]).toEqual([])
      const list = (history: (typeof one)['day']) =>
        history.listMarkets({ coin: 'eth', limit: 100 }).map((market) => {
          const page = history.page({ market, order: 'asc', limit: 1000 })
          const rows = page.encode('identity', '', '').toBase64()
          return [
            market.slug,
            market.strike,
            rows,
            history.trades({ market }),
            history.gaps(market),
          ]
        })
      expect(list(one[store])).toEqual(list(other[store]))
      expect(list(one[store])).toHaveLength(5)
    }
    for (const market of one.day.listMarkets({ coin: 'eth', limit: 100 })) {
      expect([market.slug, one.day.gaps(market)]).toEqual([market.slug, []])
      expect(one.gap.gaps(market)).toMatchObject([
        { outcome: 'up', reason: 'recorder_down' },
        { outcome: 'down', reason: 'recorder_down' },
      ])
      expect(one.stale.gaps(market)).toMatchObject([
        { toMs: market.windowEndMs },
        { toMs: market.windowEndMs },
      ])
    }
  })

  test('behavior: winners, strikes and prices of the coin agree', async () => {
    const { day } = await make()
    const markets = day.listMarkets({ coin: 'eth', timeframe: '5m', limit: 100, order: 'asc' })
    expect(markets).toHaveLength(3)
    for (const [index, { strike, finalPrice, winner, windowStartMs = 0 }] of markets.entries()) {
      expect(Number(finalPrice) >= Number(strike) ? 'up' : 'down').toBe(winner ?? '')
      expect(strike).toBe(markets[index - 1]?.finalPrice ?? strike)
      const range = { fromMs: windowStartMs, toMs: windowStartMs + 1 }
      const [tick] = day.spot({ coin: 'eth', ...range, order: 'asc', limit: 1 })
      expect(tick?.price).toBe(strike)
    }
  })
})

describe('the files of test mode', () => {
  test('default: a thread makes what is asked for, once, and it is read only', async () => {
    const { context, errors } = createCliContext({ BOOKFEED_DATA: folder })
    // Of a process that ended while it made them: of this number there is none.
    mkdirSync(join(folder, 'test-data-1.4194399.making'))
    const timer = () => performance.now()
    const data = createTestData(context, { timer, log: context.printError, part })
    expect(data.open('day')).toBeUndefined()
    // The test's own limit ends the wait.
    while (data.open('day') === undefined) await data.hold('day')
    expect(data.open('day')?.listMarkets({ coin: 'eth', limit: 100 })).toHaveLength(5)
    await expect(data.open('day')?.probeWrite()).rejects.toThrow()
    expect([data.open('stale'), hasTestData(folder)]).toEqual([undefined, false])
    data.request('gap')
    while (data.open('stale') === undefined) await data.hold('stale')
    expect([hasTestData(folder), errors]).toEqual([true, []])
    expect(readdirSync(folder).filter((name) => name.includes('making'))).toEqual([])
    const again = openTestData(folder)
    expect(again.open('stale')?.totals().markets).toBe(5)
    data.dispose()
    again.dispose()
  }, 300_000)

  test('default: the time that is left is measured, and falls to the end', async () => {
    const slow = join(folder, 'slow')
    mkdirSync(slow)
    const { context } = createCliContext({ BOOKFEED_DATA: slow })
    // A clock that runs a hundred times as fast, so that seconds are seen.
    const timer = () => performance.now() * 100
    const data = createTestData(context, { timer, log: context.printError, part })
    data.request('day')
    data.request('gap')
    const lefts: [day: number, gap: number][] = []
    while (data.open('day') === undefined) {
      lefts.push([data.secondsLeft('day'), data.secondsLeft('gap')])
      await Bun.sleep(5)
    }
    expect(lefts.length).toBeGreaterThan(1)
    for (const [day, gap] of lefts) expect(gap).toBeGreaterThanOrEqual(day)
    expect(new Set(lefts.map(([day]) => day)).size).toBeGreaterThan(1)
    while (data.open('gap') === undefined) await data.hold('gap')
    data.dispose()
  }, 300_000)

  test('error: where they cannot be made, callers hear at once, and a minute later it is tried again', async () => {
    const none = join(folder, 'none')
    mkdirSync(none)
    const { context, errors } = createCliContext({ BOOKFEED_DATA: none })
    // In the place of their folder.
    writeFileSync(testFolderOf(none), '')
    let nowMs = 0
    const data = createTestData(context, { timer: () => nowMs, log: context.printError, part })
    await data.hold('day')
    nowMs += 10_000
    await data.hold('day')
    expect([data.secondsLeft('day'), errors.length]).toEqual([50, 1])
    nowMs += 50_000
    await data.hold('day')
    expect(errors).toHaveLength(2)
    data.dispose()
  })

  test('default: a server makes them at its start, and the first request waits for them', async () => {
    const env = { BOOKFEED_DATA: join(folder, 'fresh'), BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' }
    const server = await startKillableServer({
      ...env,
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_TEST_MODE: 'on',
    })
    try {
      const headers = { authorization: `Bearer ${PUBLIC_TEST_KEY}` }
      // The test's own limit ends the wait.
      while (!existsSync(join(testFolderOf(join(folder, 'fresh')), 'day.db'))) await Bun.sleep(50)
      const answer = await fetch(`${server.origin}/v1/btc/markets?limit=1`, { headers })
      expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
    } finally {
      await server.kill()
    }
  }, 300_000)

  test('default: each thread of a server reads them, and the first one counts', async () => {
    const env = { BOOKFEED_DATA: folder, BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' }
    const server = await startKillableServer({
      ...env,
      BOOKFEED_WORKERS: '1',
      BOOKFEED_TEST_MODE: 'on',
    })
    try {
      const ask = (path: string) =>
        fetch(server.origin + path, { headers: { authorization: `Bearer ${PUBLIC_TEST_KEY}` } })
      const answer = await ask('/v1/eth/markets?timeframe=1h')
      expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
      expect(await answer.text()).toContain('2026-04-13T00:00:00.000Z')
      const usage = async () => await (await ask('/v1/usage')).text()
      // Threads report every two seconds; the test's own limit ends the wait.
      while (!(await usage()).includes('"route":"markets"')) await Bun.sleep(1000)
    } finally {
      await server.kill()
    }
  }, 300_000)

  test('behavior: the command makes nothing where they are', async () => {
    using line = createCommandLine({ BOOKFEED_DATA: folder })
    const { exitCode, printed } = await line.run('test-data')
    expect([exitCode, printed]).toEqual([0, ['The test data exists already.']])
  })
})

describe('bookfeed keys create --test', () => {
  test('default: prints a key of test mode that no ledger has', async () => {
    using line = createCommandLine()
    const { exitCode, printed, errors } = await line.run('keys', 'create', '--test')
    expect([exitCode, printed.length, errors]).toEqual([0, 1, []])
    expect(testKeyOf(`Bearer ${printed[0]}`)).toBe(printed[0] ?? '')
    expect(await line.withLedger((ledger) => ledger.listKeys())).toEqual([])
    expect((await line.run('keys', 'create', '--test', '--label', 'x')).exitCode).toBe(2)
  })
})
