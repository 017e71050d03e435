/**
 * kill -9 of a server that records while `rebuild_books.py` follows changes: it resumes, and each
 * book that it rebuilt is the stored snapshot. `CHANGES_STATES=100000` is a long run.
 */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { hasPython } from '../support/python.ts'
import { recordingEnv } from '../support/recording-env.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock, type Venue } from '../support/venue/venue.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const STATES = Number(process.env.CHANGES_STATES ?? '400')
const STEPS_PER_SECOND = 200

const program = join(import.meta.dir, '../features/rebuild_books.py')
const tier: Tier = {
  tierId: 'kill',
  name: 'Kill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
}

const data = mkdtempSync(join(tmpdir(), 'bookfeed-changes-kill-'))
afterAll(() => rmSync(data, { recursive: true, force: true }))

async function openMarket(venue: Venue): Promise<string> {
  for (;;) {
    const now = venue.nowMs()
    const market = venue.markets().find(({ startMs, endMs }) => startMs <= now && now < endMs)
    if (market !== undefined) return market.conditionId
    await Bun.sleep(100)
  }
}

test.skipIf(!hasPython)(
  `behavior: changes go on after kill -9, and rebuild each snapshot${hasPython ? '' : ' (skipped: python3 is not here)'}`,
  async () => {
    const ledger = openLedger(join(data, 'ledger.db'), { nowMs: systemClock() })
    const key = addKey(ledger, tier)
    ledger.dispose()
    await using venue = await startVenue({
      playbook: generatedPlaybook({
        seed: 'changes',
        startMs: systemClock(),
        stepsPerSecond: STEPS_PER_SECOND,
        // It does not end, however slow the machine is.
        timeframes: ['1d'],
      }),
      pace: { by: 'clock', clock: systemClock },
    })
    const env = { ...recordingEnv(data, venue), BOOKFEED_RECORD_TIMEFRAMES: '1d' }
    const first = await startKillableServer(env)
    const { port, origin } = new URL(first.origin)
    const market = await openMarket(venue)
    const child = Bun.spawn(['python3', program, origin, key, 'follow', market, `${STATES}`], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const output = child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
    expect((await output.next()).value).toBe('half\n')
    await first.kill()
    const second = await startKillableServer({ ...env, BOOKFEED_PORT: port })
    const counts = JSON.parse((await output.next()).value ?? '')
    expect(await child.exited).toBe(0)
    await second.kill()
    expect(counts.states).toBeGreaterThanOrEqual(STATES)
    expect(counts.connections).toBeGreaterThan(1)
    // One of each outcome at the start and after a gap: that of the kill, and rarely another.
    expect(counts.whole).toBeWithin(4, STATES / 10)
  },
  120_000 + STATES * 100,
)
