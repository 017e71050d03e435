import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import type { OracleAnswer } from '#src/domain/selling/screening.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import { startScreening } from '#src/screening/schedule.ts'
import { createScreener } from '#src/screening/screener.ts'

import { createFakeTimers } from '../support/fake-timers.ts'
import { madeUpAddress, sdnXml } from '../support/ofac-xml.ts'
import { until } from '../support/until.ts'

const NOW_MS = Date.UTC(2026, 10, 21)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const STALE_MS = 7 * 24 * HOUR_MS

let ledger: Ledger
const stops: (() => Promise<void>)[] = []
beforeEach(() => {
  ledger = openLedger(':memory:', { nowMs: NOW_MS })
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  ledger.dispose()
})

type Chain = { oracle: OracleAnswer; issuers: OracleAnswer }
type Rig = {
  listed?: number[]
  chain?: Chain | undefined
  hasList?: boolean
} & Pick<Parameters<typeof startScreening>[0], 'lock' | 'report'>

/** A server's screening with a publisher and an oracle that a test can change as it goes. */
function createRig(options: Rig = {}) {
  const timers = createFakeTimers(NOW_MS)
  const rig = { listed: options.listed ?? [1], chain: options.chain, status: 200, downloads: 0 }
  const lines: string[] = []
  const log = (line: string) => void lines.push(line)
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch() {
      rig.downloads++
      const addresses = rig.listed.map(madeUpAddress)
      return new Response(sdnXml({ addresses }), {
        status: rig.status,
        headers: { 'content-type': 'text/xml' },
      })
    },
  })
  const isSanctioned = async () => rig.chain ?? { oracle: 'silent', issuers: 'silent' }
  const { screen } = createScreener({
    ledger,
    clock: timers.clock,
    staleAfterMs: STALE_MS,
    isListConfigured: true,
    oracle: options.chain && { isSanctioned: isSanctioned as () => Promise<Chain> },
  })
  const start = (location = `${server.url.origin}/hunter2?key=hunter3`) => {
    const { lock, report } = options
    const schedule = { ledger, screen, log, staleAfterMs: STALE_MS, ...timers, lock, report }
    const given = options.hasList === false ? undefined : location
    const running = startScreening({ ...schedule, location: given })
    stops.push(running.dispose, () => server.stop(true))
    return running
  }
  /** Resolves when all jobs wait for their timers. */
  const idle = (count = options.hasList === false ? 1 : 2) =>
    until(() => timers.delays().length === count)
  return { rig, timers, lines, start, idle, origin: server.url.origin }
}

const addAccount = (n: number) =>
  ledger.createAccount(
    { id: `acc_${n}`, address: madeUpAddress(n).toLowerCase() },
    { actor: 'operator', nowMs: NOW_MS },
  )
const isBlocked = (n: number) => ledger.findAccount(`acc_${n}`)?.blockedMs !== undefined
const screenings = () => ledger.listAudit(0, 1000).filter(({ action }) => /screen/.test(action))

describe('startScreening', () => {
  test('default: fetches the list at once, then every six hours', async () => {
    const { rig, timers, start, idle, lines } = createRig()
    start()
    await idle()
    expect([rig.downloads, timers.delays()]).toEqual([1, [6 * HOUR_MS, 24 * HOUR_MS]])
    timers.advance(6 * HOUR_MS)
    await idle()
    expect([rig.downloads, timers.delays()]).toEqual([2, [6 * HOUR_MS, 18 * HOUR_MS]])
    expect(lines).toEqual([
      'The sanctions list of 2026-11-20 with 1 address, confirmed at 2026-11-21T00:00:00.000Z is now the current list.',
      'The sanctions list of 2026-11-20 with 1 address, confirmed at 2026-11-21T06:00:00.000Z is confirmed.',
    ])
  })

  test('default: blocks who is on the list, and nobody else', async () => {
    for (const n of [1, 2, 3, 4, 5, 6, 7]) await addAccount(n)
    const { start, idle, lines } = createRig({ listed: [1, 5] })
    start()
    await idle()
    expect([1, 2, 3, 4, 5, 6, 7].filter(isBlocked)).toEqual([1, 5])
    expect(lines).toContain('Account acc_5 is blocked: its address is sanctioned.')
    expect(lines.at(-1)).toBe('Screened 7 accounts: 5 clear, 2 sanctioned, 0 unknown.')
  })

  test('behavior: screens after a changed list, not after a confirmed one', async () => {
    await addAccount(2)
    const { rig, timers, start, idle } = createRig()
    start()
    await idle()
    timers.advance(6 * HOUR_MS)
    await idle()
    expect(screenings()).toHaveLength(1)
    rig.listed = [1, 2]
    timers.advance(6 * HOUR_MS)
    await idle()
    expect([screenings().length, isBlocked(2)]).toEqual([2, true])
    expect(timers.delays()).toEqual([6 * HOUR_MS, 24 * HOUR_MS])
  })

  test('behavior: screens every day without a list too, and unblocks who is cleared', async () => {
    await addAccount(2)
    const chain: Chain = { oracle: 'hit', issuers: 'clear' }
    const { rig, timers, start, idle } = createRig({ hasList: false, chain })
    start()
    await idle()
    expect([isBlocked(2), timers.delays()]).toEqual([true, [24 * HOUR_MS]])
    for (const [answer, stays] of [
      [{ oracle: 'silent', issuers: 'silent' }, true],
      [{ oracle: 'clear', issuers: 'silent' }, true],
      [{ oracle: 'absent', issuers: 'clear' }, true],
      [{ oracle: 'clear', issuers: 'clear' }, false],
      [{ oracle: 'silent', issuers: 'silent' }, false],
    ] satisfies [Chain, boolean][]) {
      rig.chain = answer
      timers.advance(24 * HOUR_MS)
      await idle()
      expect([answer, isBlocked(2)]).toEqual([answer, stays])
    }
  })

  test('behavior: a fresh list does not clear whom a silent oracle had named', async () => {
    await addAccount(2)
    const { rig, timers, start, idle } = createRig({ chain: { oracle: 'hit', issuers: 'clear' } })
    start()
    await idle()
    for (const [oracle, issuers, count] of [
      ['silent', 'clear', 2],
      ['absent', 'silent', 3],
    ] satisfies [OracleAnswer, OracleAnswer, number][]) {
      rig.chain = { oracle, issuers }
      timers.advance(24 * HOUR_MS)
      await idle()
      expect([isBlocked(2), screenings().length]).toEqual([true, count])
    }
  })

  test('error: a failure is told without secrets, and tried again, ever more seldom', async () => {
    await addAccount(1)
    const { rig, timers, start, idle, lines, origin } = createRig()
    rig.status = 500
    start()
    await idle()
    expect(lines[0]).toBe(
      `The sanctions list at ${origin} returned HTTP status 500. There is no current list. The next try is in 2 seconds.`,
    )
    expect([lines.join().includes('hunter'), isBlocked(1)]).toEqual([false, false])
    const seconds = [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    for (const wait of seconds) {
      expect(timers.delays()).toContain(wait * 1000)
      timers.advance(wait * 1000)
      await idle()
    }
    rig.status = 200
    timers.advance(10 * MINUTE_MS)
    await idle()
    expect([isBlocked(1), timers.delays()]).toEqual([true, [6 * HOUR_MS, 24 * HOUR_MS]])
    rig.status = 500
    timers.advance(6 * HOUR_MS)
    await idle()
    expect(timers.delays()).toContain(2000)
  })

  test('error: a list that went stale is told, and still blocks', async () => {
    const { rig, timers, start, idle, lines } = createRig()
    start()
    await idle()
    await addAccount(1)
    rig.status = 503
    timers.advance(STALE_MS + 1)
    await idle()
    expect(lines.find((line) => line.includes('503'))).toContain('which is too long ago, stays')
    expect(isBlocked(1)).toBe(true)
  })

  test('error: a ledger that fails is told, and tried again in two seconds', async () => {
    await addAccount(1)
    const { setBlocked } = ledger
    let failures = 1
    const breaking: Ledger['setBlocked'] = async (...given) => {
      if (failures-- > 0) throw new Error('disk full')
      await setBlocked(...given)
    }
    ledger = { ...ledger, setBlocked: breaking }
    const { timers, start, idle, lines } = createRig()
    start()
    await idle()
    expect(lines).toContain('Account acc_1 could not be blocked: disk full.')
    expect([isBlocked(1), timers.delays()]).toEqual([false, [2000, 6 * HOUR_MS]])
    timers.advance(2000)
    await idle()
    expect(isBlocked(1)).toBe(true)
  })

  test('behavior: asks about a few accounts at a time', async () => {
    for (let n = 0; n < 30; n++) await addAccount(n)
    let now = 0
    let most = 0
    const timers = createFakeTimers(NOW_MS)
    const { screen } = createScreener({
      ledger,
      clock: timers.clock,
      staleAfterMs: STALE_MS,
      isListConfigured: false,
      oracle: {
        async isSanctioned() {
          most = Math.max(most, ++now)
          await new Promise(setImmediate)
          now--
          return { oracle: 'clear', issuers: 'clear' }
        },
      },
    })
    const log = () => {}
    const schedule = { ledger, screen, log, staleAfterMs: STALE_MS, location: undefined }
    stops.push(startScreening({ ...schedule, ...timers }).dispose)
    await until(() => timers.delays().length === 1)
    expect([most, screenings().length]).toEqual([4, 30])
  })
})

describe('startScreening of several servers', () => {
  test('behavior: one has it until it ends; what the operator asks for is done by any', async () => {
    await addAccount(1)
    const seen = { isOurs: false, given: 0 }
    const lock = {
      take: async () => seen.isOurs,
      give: async () => void seen.given++,
    }
    const board = createJobBoard(() => NOW_MS)
    const report = { list: board.add('list', ''), accounts: board.add('accounts', '') }
    const { rig, timers, start, idle } = createRig({ lock, report })
    const { dispose } = start()
    await idle(1)
    expect([rig.downloads, isBlocked(1), timers.delays()]).toEqual([0, false, [15_000]])
    await board.run('list', { acceptsLoss: false }, async () => {})
    await idle()
    // A list that is another has the accounts screened where it was fetched.
    expect([rig.downloads, isBlocked(1)]).toEqual([1, true])
    timers.advance(24 * HOUR_MS)
    await idle()
    expect([rig.downloads, screenings().length]).toEqual([1, 1])
    seen.isOurs = true
    timers.advance(15_000)
    await until(() => rig.downloads === 2)
    await until(() => screenings().length === 2)
    await idle()
    expect(seen.given).toBe(0)
    await dispose()
    expect(seen.given).toBe(1)
  })
})

describe('dispose', () => {
  test('default: cancels every timer', async () => {
    const { timers, start, idle } = createRig()
    const { dispose } = start()
    await idle()
    await dispose()
    expect(timers.delays()).toEqual([])
  })

  test('behavior: ends a download in flight, without a word', async () => {
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    const endless = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch() {
        resolve()
        const body = new ReadableStream({ start: (c) => c.enqueue('<sdnList>') })
        return new Response(body, { headers: { 'content-type': 'text/xml' } })
      },
    })
    stops.push(() => endless.stop(true))
    const { timers, start, lines } = createRig()
    const { dispose } = start(endless.url.href)
    await begun
    await dispose()
    expect([lines, timers.delays()]).toEqual([[], []])
  })

  test('behavior: ends a screening of accounts', async () => {
    for (let n = 0; n < 30; n++) await addAccount(n)
    const chain: Chain = { oracle: 'hit', issuers: 'clear' }
    const { timers, start, lines } = createRig({ hasList: false, chain })
    const { dispose } = start()
    await until(() => lines.length > 0)
    await dispose()
    const count = screenings().length
    expect(count).toBeLessThan(30)
    expect(timers.delays()).toEqual([])
  })
})
