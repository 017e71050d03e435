/** kill -9 of a recorder whose data folder a server has not: only the database is shared. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { addKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { bookfeed } from '../../support/program.ts'
import { generatedPlaybook } from '../../support/venue/generated.ts'
import { startVenue, systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 300_000

const tier: Tier = {
  tierId: 'elsewhere',
  name: 'Elsewhere',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 100_000,
  coins: ['btc'],
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-elsewhere-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(postgresPrograms === undefined)('a recorder on another machine', () => {
  test(
    'behavior: a server knows that it is silent, and that it records again',
    async () => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await startPostgres())
      const venue = stack.use(
        await startVenue({
          playbook: generatedPlaybook({
            seed: 'elsewhere',
            startMs: systemClock(),
            stepsPerSecond: 20,
            timeframes: ['1d'],
          }),
          pace: { by: 'clock', clock: systemClock },
        }),
      )
      const env = (name: string) => ({
        BOOKFEED_DATA: mkdtempSync(join(folder, name)),
        BOOKFEED_HISTORY: postgres.url,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_FREE_MB: '0',
      })
      const record = () => {
        const recorder = Bun.spawn(bookfeed('record'), {
          env: {
            ...env('recorder-'),
            BOOKFEED_RECORD_COINS: 'btc',
            BOOKFEED_RECORD_TIMEFRAMES: '1d',
            BOOKFEED_FEED_URL: venue.marketUrl,
            BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
          },
          stdout: 'ignore',
          stderr: 'ignore',
        })
        stack.defer(async () => {
          recorder.kill('SIGKILL')
          await recorder.exited
        })
        return recorder
      }
      const recorder = record()
      const own = env('server-')
      const ledger = openLedger(join(own.BOOKFEED_DATA, 'ledger.db'), { nowMs: systemClock() })
      const key = addKey(ledger, tier)
      ledger.dispose()
      const server = await startKillableServer(own)
      stack.defer(server.kill)
      const ask = async (path: string) => {
        const headers = { authorization: `Bearer ${key}` }
        const response = await fetch(server.origin + path, { headers })
        return { coverage: response.headers.get('x-coverage') ?? '', text: await response.text() }
      }
      const rowsOf = async () => {
        const { text } = await ask('/v1/btc/prices')
        const { data } = JSON.parse(text) as { data: { conditionId: string }[] }
        return data
      }
      while ((await rowsOf()).length === 0) await Bun.sleep(50)
      const [{ conditionId } = { conditionId: '' }] = await rowsOf()
      /** The gap in which the market is now. */
      const reasonNow = async () => {
        const { text } = await ask(`/v1/btc/markets/${conditionId}/coverage`)
        const { requested, outcomes } = JSON.parse(text) as {
          requested: { to: string }
          outcomes: { gaps: { reason: string; to: string }[] }[]
        }
        const last = outcomes[0]?.gaps.at(-1)
        return last?.to === requested.to ? last.reason : undefined
      }
      while (!(await ask(`/v1/btc/markets/${conditionId}/snapshots`)).text.includes('"bids"'))
        await Bun.sleep(50)
      recorder.kill('SIGKILL')
      await recorder.exited
      while ((await reasonNow()) !== 'recorder_down') await Bun.sleep(100)
      expect((await ask('/readyz')).text).toContain('A recorder stopped at')
      record()
      while ((await ask('/readyz')).text.includes('A recorder stopped at')) await Bun.sleep(100)
    },
    MS_MAX,
  )
})
