/**
 * kill -9 of a server that records, at random moments: no row that was read is lost, and what was
 * missed meanwhile is a gap. `KILL_ROUNDS=100 bun test test/e2e/recorder-kill.test.ts` is the long
 * run; `KILL_SEED` chooses the moments.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Tier } from '#src/domain/selling/tier.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { judgeStored, rowsOf } from '../recorder/judge-stored.ts'
import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { recordingEnv } from '../support/recording-env.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock, type Venue } from '../support/venue/venue.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { KILL_ROUNDS = '2', KILL_SEED = 'kill' } = process.env
const ROUNDS = Number(KILL_ROUNDS)
const ROUND_MS_MAX = 300_000

const tier: Tier = {
  tierId: 'kill',
  name: 'Kill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
}

const data = mkdtempSync(join(tmpdir(), 'bookfeed-recorder-kill-'))
afterAll(() => rmSync(data, { recursive: true, force: true }))

type Row = { id: string; timestamp: string }

/** Reads the newest rows until the server is gone; what was answered counts as acknowledged. */
async function read(paths: () => string[], get: (path: string) => Promise<Response>) {
  const seen = new Map<string, string>()
  const work = async () => {
    for (;;) {
      for (const path of paths()) {
        const response = await get(path)
        const body = await response.text()
        if (response.status !== 200) continue
        const { data: rows } = JSON.parse(body) as { data: Row[] }
        for (const row of rows) seen.set(row.id, JSON.stringify(row))
      }
    }
  }
  return { seen, over: work().catch(() => {}) }
}

const openMarkets = (venue: Venue) =>
  venue.markets().filter(({ startMs, endMs }) => startMs <= venue.nowMs() && venue.nowMs() < endMs)

describe('kill -9', () => {
  test(
    `behavior: of a server that records loses no row that was read, ${ROUNDS} times`,
    async () => {
      const random = createRandom(KILL_SEED)
      mkdirSync(data, { recursive: true })
      const ledger = openLedger(join(data, 'ledger.db'), { nowMs: systemClock() })
      const key = addKey(ledger, tier)
      ledger.dispose()
      const startMs = systemClock()
      await using venue = await startVenue({
        playbook: generatedPlaybook({ seed: KILL_SEED, startMs, stepsPerSecond: 100 }),
        pace: { by: 'clock', clock: systemClock },
      })
      const env = recordingEnv(data, venue)
      const path = join(data, 'history.db')
      for (let round = 0; round <= ROUNDS; round++) {
        const server = await startKillableServer(env)
        const get = (at: string) =>
          fetch(server.origin + at, { headers: { authorization: `Bearer ${key}` } })
        const from = venue.nowMs()
        const paths = () =>
          openMarkets(venue).map(
            ({ conditionId }) =>
              `/v1/btc/markets/${conditionId}/snapshots?limit=100&order=desc&from=${from}`,
          )
        const { seen, over } = await read(paths, get)
        while (seen.size === 0) await Bun.sleep(10)
        await Bun.sleep(random.integer(800))
        await server.kill()
        await over
        const history = openHistory(path)
        expect([...history.verify()]).toEqual([])
        expect(seen.size).toBeGreaterThan(0)
        const kept = await rowsOf(history, venue)
        expect([...seen.values()].filter((row) => !kept.has(row))).toEqual([])
        const { faults, gaps } = await judgeStored(history, venue)
        expect(faults).toEqual([])
        expect(gaps.filter(({ reason }) => reason === 'recorder_down').length).toBeGreaterThan(
          round,
        )
        history.dispose()
      }
    },
    (ROUNDS + 1) * ROUND_MS_MAX,
  )
})
