/** kill -9 of one of two recorders that are processes with a copy of one database each. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseConditionId } from '#src/domain/market.ts'
import { readRecorderStatus } from '#src/server/recorder-status.ts'

import { type Ask, judge } from '../../recorder/judge.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { createHarness } from '../../support/harness.ts'
import { bookfeed } from '../../support/program.ts'
import { openHistoryIn } from '../../support/stores.ts'
import { generatedPlaybook } from '../../support/venue/generated.ts'
import { startVenue, systemClock } from '../../support/venue/venue.ts'

const TEST_MS_MAX = 180_000
const LOOK_MS = 50
const KILLS = 4
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-killed-recorders-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await Bun.sleep(LOOK_MS)
}

describe.skipIf(postgresPrograms === undefined)('two recorders on one database', () => {
  const { placeOf } = usePostgres()

  test(
    'behavior: while one is killed and started again, nothing is lost, stored twice, or a gap',
    async () => {
      await using stack = new AsyncDisposableStack()
      const place = placeOf('killed')
      const playbook = generatedPlaybook({
        seed: 'killed',
        startMs: systemClock(),
        stepsPerSecond: 50,
        timeframes: ['1d'],
      })
      const pace = { by: 'clock', clock: systemClock } as const
      const venue = stack.use(await startVenue({ playbook, pace }))
      const history = await openHistoryIn(place, { lagMs: 0 })
      stack.defer(() => history.dispose())
      const { send, time } = createHarness({ history })
      const ask: Ask = async (path) => {
        time.nowMs = systemClock()
        const response = await send(path)
        expect(response.status).toBe(200)
        return response.json()
      }

      const start = (name: string) => {
        const startedMs = systemClock()
        const dataPath = join(folder, name)
        const child = Bun.spawn(bookfeed('record'), {
          env: {
            BOOKFEED_DATA: dataPath,
            BOOKFEED_HISTORY: place,
            BOOKFEED_LOG: 'off',
            BOOKFEED_FREE_MB: '0',
            BOOKFEED_RECORD_COINS: 'btc',
            BOOKFEED_RECORD_TIMEFRAMES: '1d',
            BOOKFEED_FEED_URL: venue.marketUrl,
            BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
          },
          stdout: 'ignore',
          stderr: 'ignore',
        })
        const kill = async (): Promise<void> => {
          child.kill('SIGKILL')
          await child.exited
        }
        stack.defer(kill)
        /** Resolves when it has the books of all markets. */
        const records = () =>
          until(() => {
            const status = readRecorderStatus(dataPath, systemClock())
            if (status === undefined || status.startedMs < startedMs) return false
            const { markets } = status
            return markets.length > 0 && markets.every(({ unknown }) => unknown.length === 0)
          })
        /** Resolves when it has stored what it received until now. */
        const stored = () => {
          const sinceMs = systemClock()
          return until(() => {
            const status = readRecorderStatus(dataPath, systemClock())
            return (status?.sink.lastFlushMs ?? 0) > sinceMs
          })
        }
        return { name, kill, records, stored }
      }

      const running = [start('one'), start('two')]
      for (const each of running) await each.records()
      const fromMs = systemClock()
      for (let kill = 0; kill < KILLS; kill++) {
        const dying = running.shift()
        // What it has not stored is lost with it, and a true gap if the other began later.
        await dying?.stored()
        await dying?.kill()
        const again = start(dying?.name ?? '')
        running.push(again)
        await again.records()
      }
      const toMs = systemClock()
      const isStored = async (): Promise<boolean> => {
        // Brings the copy up to date.
        await history.probeWrite()
        const market = history.findMarket(parseConditionId(conditionId) ?? '')
        return (market?.lastSnapshotMs ?? 0) > toMs
      }
      const market = venue.markets().find((each) => each.startMs <= fromMs && toMs < each.endMs)
      const conditionId = market?.conditionId ?? ''
      await until(isStored)

      if (market === undefined) throw new Error('No market is open.')
      const states = venue.played(conditionId)
      const judgement = await judge(ask, { market, states })
      const isWithin = (said: string): boolean => {
        const ms = Date.parse(said.split(' ').at(-1) ?? '')
        return fromMs <= ms && ms <= toMs
      }
      const { untrue, missing, twice, gaps } = judgement
      expect([...untrue, ...missing, ...twice].filter(isWithin)).toEqual([])
      expect(gaps.filter((gap) => gap.toMs > fromMs && gap.fromMs < toMs)).toEqual([])
      const within = states.filter(
        ({ timestampMs }) => fromMs <= timestampMs && timestampMs <= toMs,
      )
      expect(within.length).toBeGreaterThan(100)
      expect([...history.verify()]).toEqual([])
    },
    TEST_MS_MAX,
  )
})
