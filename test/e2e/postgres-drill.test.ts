/**
 * A server and two recorders of one PostgreSQL: one recorder and then the primary are killed while
 * rows are read. Nothing that was read is lost, nothing of the venue is missing, and no gap opens.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { toIso } from '#src/core/time.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import type { Tier } from '#src/selling/tier.ts'

import { judgeStored, rowsOf } from '../recorder/judge-stored.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { recordingEnv } from '../support/recording-env.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

const DRILL_MS_MAX = 120_000
const tier: Tier = {
  ...{ tierId: 'drill', name: 'Drill', rank: 98, isForSale: false, requestsPerMinute: 1_000_000 },
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-drill-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Row = { id: string; timestamp: string }
type Rows = { data: Row[] }

function startRecorder(env: Record<string, string>, data: string) {
  mkdirSync(data, { recursive: true })
  const child = Bun.spawn(bookfeed('record'), {
    env: { ...env, BOOKFEED_DATA: data },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const errors = new Response(child.stderr).text()
  return {
    errors,
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

describe.skipIf(postgresPrograms === undefined)(
  'a server and two recorders of a PostgreSQL',
  () => {
    test(
      'behavior: a recorder and the primary are killed, and nothing is lost',
      async () => {
        await using postgres = await startPostgres()
        const portOf = () => Number(new URL(postgres.url).port)
        const proxy = await startCuttingProxy(portOf)
        const address = new URL(postgres.url)
        address.port = new URL(proxy.origin).port
        const home = join(folder, 'server')
        mkdirSync(home)
        const ledger = openLedger(join(home, 'ledger.db'), { nowMs: systemClock() })
        const key = addKey(ledger, tier)
        ledger.dispose()
        await using venue = await startVenue({
          playbook: generatedPlaybook({
            seed: 'drill',
            startMs: systemClock(),
            stepsPerSecond: 100,
          }),
          pace: { by: 'clock', clock: systemClock },
        })
        const env = { ...recordingEnv(home, venue), BOOKFEED_HISTORY: address.href }
        const first = startRecorder(env, join(folder, 'first'))
        const second = startRecorder(env, join(folder, 'second'))
        const server = await startKillableServer({ ...env, BOOKFEED_RECORD: 'off' })
        const seen = new Map<string, string>()
        const statuses = new Map<number, number>()
        let isOver = false
        const readMarket = async (conditionId: string): Promise<void> => {
          const path = `/v1/btc/markets/${conditionId}/snapshots?limit=100&order=desc`
          const response = await fetch(server.origin + path, {
            headers: { authorization: `Bearer ${key}` },
          })
          const body = await response.text()
          statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
          if (response.status !== 200) return
          for (const row of (JSON.parse(body) as Rows).data) seen.set(row.id, JSON.stringify(row))
        }
        const readAll = async (): Promise<void> => {
          while (!isOver) {
            for (const { conditionId } of venue.markets()) await readMarket(conditionId)
            await Bun.sleep(10)
          }
        }
        const reading = readAll()
        /** Waits for so many rows of after now. */
        const rowsAfter = async (count: number): Promise<void> => {
          const now = toIso(venue.nowMs())
          const isNew = (text: string) => (JSON.parse(text) as Row).timestamp > now
          const found = () => [...seen.values()].filter(isNew).length
          for (let waits = 0; found() < count && waits < 200; waits++) await Bun.sleep(100)
          expect(found()).toBeGreaterThanOrEqual(count)
        }
        await rowsAfter(200)
        const firstKillMs = systemClock()
        await first.kill()
        await rowsAfter(200)
        await postgres.killPrimary()
        await postgres.promote()
        proxy.cut()
        await rowsAfter(200)
        isOver = true
        await reading
        await second.kill()
        await server.kill()
        // 404 until the first rows of a market are recorded.
        expect([...statuses.keys()].filter((status) => ![200, 404, 503].includes(status))).toEqual(
          [],
        )
        expect(server.errors()).not.toContain('damaged')
        const history = openHistory(postgres.url)
        expect([...history.verify()]).toEqual([])
        const kept = await rowsOf(history, venue)
        expect([...seen.values()].filter((row) => !kept.has(row))).toEqual([])
        const { faults, gaps } = await judgeStored(history, venue)
        expect(faults).toEqual([])
        // Of the time before they began to record.
        expect(gaps.filter(({ toMs }) => toMs > firstKillMs)).toEqual([])
        // A fault that was short enough is not told at all.
        const told = await second.errors
        const [failedAt, wroteAt] = [
          told.lastIndexOf('cannot write'),
          told.lastIndexOf('can write'),
        ]
        expect(wroteAt).toBeGreaterThanOrEqual(failedAt)
        history.dispose()
        proxy.stop()
      },
      DRILL_MS_MAX,
    )
  },
)
