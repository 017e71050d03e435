/** A server for real keys and keys of test mode, with some simulated hours in memory. */
import { createLimits } from '#src/access/limits.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import { openHistory } from '#src/history/open.ts'
import { dispatchByKey } from '#src/server/dispatch.ts'
import { createTestServer } from '#src/server/test-server.ts'
import {
  makeTestDay,
  TEST_DAY_MS,
  TEST_SPAN_MS,
  type TestHistories,
  testStores,
} from '#src/simulator/test-day.ts'

import { createHarnessBehind, type HarnessParts, NOW_MS } from './harness.ts'

const HOUR_MS = 3_600_000
const WINDOW_MS = 300_000
const dayNowMs = TEST_DAY_MS + (NOW_MS % TEST_SPAN_MS)
const windowMs = Math.floor(dayNowMs / WINDOW_MS) * WINDOW_MS

/** The market of the simulated hours that is open at the time of tests. */
export const openMarket = {
  slug: `sim-btc-updown-5m-${windowMs / 1000}`,
  windowMs,
  endMs: windowMs + WINDOW_MS,
  dayNowMs,
  iso: (timeMs: number) => new Date(timeMs).toISOString(),
}

/** The beginning of the hours, and the time of tests within them. */
const ranges = [
  [0, WINDOW_MS],
  [HOUR_MS, HOUR_MS + 4 * WINDOW_MS],
] as const
const MADE = { coins: ['btc'], ranges } as const

async function makeHistories(): Promise<TestHistories> {
  const [day, gap, stale] = testStores.map(() => openHistory(':memory:'))
  if (!day || !gap || !stale) throw new Error('A store is missing.')
  const made = { day, gap, stale }
  for await (const _ of makeTestDay(made, MADE));
  return made
}

/** Created once, because nothing writes to them. */
export const testHistories = await makeHistories()

/** `app` is both servers behind one dispatch; `slept` contains the delays of responses. */
export function createTestGround(options: HarnessParts = {}, dealsMax?: number) {
  const slept: number[] = []
  let hasData = true
  const limits = createLimits(64)
  const harness = createHarnessBehind(
    (app, real) => {
      const test = createTestServer({
        real,
        limits,
        open: (store) => (hasData ? testHistories[store] : undefined),
        secondsLeft: () => 3,
        sleep: async (ms) => void slept.push(ms),
        dealsMax,
      })
      return { ...app, ...dispatchByKey(app, test), test }
    },
    { limits, ...options },
  )
  const ask = (path: string, init?: RequestInit) => harness.sendAs(PUBLIC_TEST_KEY, path, init)
  const askFor = (fault: string, path: string, init: RequestInit = {}) =>
    ask(path, { ...init, headers: { ...init.headers, 'bookfeed-fault': fault } })
  const setData = (isThere: boolean) => {
    hasData = isThere
  }
  return { ...harness, test: harness.app.test, ask, askFor, slept, setData }
}
