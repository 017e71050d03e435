/**
 * kill -9 of `bookfeed record`, which another process serves: live streams and all routes report at
 * once that nothing is recorded, and when it is again.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { followEvents } from '../support/event-client.ts'
import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { connect } from '../support/live-client.ts'
import { bookfeed } from '../support/program.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

const SECOND_MS = 1000
const TEST_MS_MAX = 300_000

const tier: Tier = {
  tierId: 'silence',
  name: 'Silence',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1000,
  coins: ['btc'],
  routes: ['markets', 'prices', 'snapshots', 'quotes'],
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-silence-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Routes of a market, with what they need besides `from` and `to`. */
const routes = [
  'coverage?',
  'snapshots?',
  'snapshots?interval=1s&',
  'quotes?',
  'prices?interval=1s&',
  'trades?',
  'export?format=csv&',
]

type ToldGap = { outcome: string; reason: string; from: string; to: string | null }

describe('kill -9 of a recorder of its own', () => {
  for (const workers of ['0', '2']) {
    test(
      `behavior: live clients get its gap while it is down, once, and its end (${workers} threads)`,
      async () => {
        const data = join(folder, workers)
        const startMs = systemClock()
        await using venue = await startVenue({
          playbook: generatedPlaybook({
            seed: 'silence',
            startMs,
            stepsPerSecond: 20,
            timeframes: ['1d'],
          }),
          pace: { by: 'clock', clock: systemClock },
        })
        const env = {
          BOOKFEED_DATA: data,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
          BOOKFEED_WORKERS: workers,
          BOOKFEED_FREE_MB: '0',
          BOOKFEED_RECORD_COINS: 'btc',
          BOOKFEED_RECORD_TIMEFRAMES: '1d',
          BOOKFEED_FEED_URL: venue.marketUrl,
          BOOKFEED_CATALOGUE_URL: venue.gammaUrl,
        }
        const record = () =>
          Bun.spawn(bookfeed('record'), { env, stdout: 'ignore', stderr: 'ignore' })
        const server = await startKillableServer(env)
        const ledger = openLedger(join(data, 'ledger.db'), { nowMs: systemClock() })
        const key = addKey(ledger, tier)
        ledger.dispose()
        let recorder = record()
        try {
          const url = `${server.origin.replace('http', 'ws')}/v1/stream`
          const socket = connect(url, key)
          await socket.send({ op: 'subscribe', id: 's', channel: 'snapshots', coin: 'btc' })
          await socket.untilType('row')
          const headers = { authorization: `Bearer ${key}` }
          const events = followEvents(await fetch(`${server.origin}/v1/btc/live`, { headers }))
          await events.until(() => events.rows().length > 0)
          const socketGaps = () =>
            socket.messages.filter(({ type }) => type === 'gap') as unknown as ToldGap[]
          const eventGaps = () =>
            events
              .events()
              .filter(({ name }) => name === 'gap')
              .map((event) => event.data as ToldGap)
          const lastOf = (outcome: string) =>
            Date.parse(
              String(
                socket.messages.findLast(
                  ({ type, data: row }) => type === 'row' && row?.outcome === outcome,
                )?.data?.timestamp,
              ),
            )
          while (['up', 'down'].some((outcome) => Number.isNaN(lastOf(outcome))))
            await Bun.sleep(10)
          await Bun.sleep(SECOND_MS)
          recorder.kill('SIGKILL')
          await recorder.exited
          const openGaps = () =>
            ['up', 'down'].map((outcome) => ({
              outcome,
              reason: 'recorder_down',
              to: null,
              from: new Date(lastOf(outcome) + 1).toISOString(),
            }))
          /** What each stream was told of the gaps of the kill, and not of others. */
          const lists = [socketGaps, eventGaps].map((list) => (): ToldGap[] => {
            const open = openGaps()
            return list().filter((gap) =>
              open.some(({ outcome, from }) => gap.outcome === outcome && gap.from === from),
            )
          })
          const untilEach = async (count: number): Promise<void> => {
            while (lists.some((list) => list().length < count)) await Bun.sleep(10)
          }
          await untilEach(2)
          const open = openGaps()
          for (const list of lists) expect(list().toSorted(byOutcome)).toMatchObject(open)
          const froms = new Set(open.map(({ from }) => from))
          const { data: row } = socket.messages.find(({ type }) => type === 'row') ?? {}
          const market = `${server.origin}/v1/btc/markets/${row?.conditionId}`
          const lastMs = lastOf('up')
          const range = `from=${lastMs - 60 * SECOND_MS}&to=${lastMs + SECOND_MS}`
          /** Asks until all routes say the same of a time up to the gap. */
          const untilSame = async (): Promise<string> => {
            for (;;) {
              const said = await Promise.all(
                routes.map(async (route) => {
                  const response = await fetch(`${market}/${route}${range}`, { headers })
                  await response.arrayBuffer()
                  return response.headers.get('x-coverage')
                }),
              )
              const [first] = said
              if (said.every((each) => each === first)) return String(first)
              await Bun.sleep(100)
            }
          }
          const whileDown = await untilSame()
          expect(whileDown).toContain('recorder_down')
          const kept = lists.map((list) => list())
          recorder = record()
          const told = () =>
            [socketGaps, eventGaps].map((list) => list().filter(({ from }) => froms.has(from)))
          while (told().some((gaps) => gaps.length < 4)) await Bun.sleep(10)
          // Until the new recorder's status is read too.
          await Bun.sleep(4 * SECOND_MS)
          for (const [at, gaps] of told().entries()) {
            // Each is told again once: with its end.
            expect(gaps.slice(0, 2)).toEqual(kept[at] ?? [])
            const again = gaps.slice(2)
            const ends = open.map(({ to: _, ...rest }) => ({ ...rest, to: expect.any(String) }))
            expect(again.toSorted(byOutcome)).toMatchObject(ends)
            expect(again).toHaveLength(2)
            for (const { from, to } of again) expect(to && to > from).toBe(true)
          }
          expect(await untilSame()).toBe(whileDown)
          await events.leave()
          socket.socket.close()
        } finally {
          recorder.kill('SIGKILL')
          await recorder.exited
          await server.kill()
        }
      },
      TEST_MS_MAX,
    )
  }
})

const byOutcome = (a: ToldGap, b: ToldGap): number => b.outcome.localeCompare(a.outcome)
