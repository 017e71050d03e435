import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createBrowser, type TestPage, until } from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { addOpenWindows } from './board-windows.ts'
import { median } from './measure.ts'
import { describeMachine } from './report.ts'

/**
 * `bun test/bench/board.ts`: the board of 40 windows, each of which changes four times a second: what
 * the server spends on it, and in Chromium on this machine frames a second and how late a change is
 * shown, also with the processor throttled four times; and what a market takes that is followed.
 */
const THROTTLE = 4
const BOARD_MS = 10_000
const BOARD_ROUNDS = 20
const SAME_ROUNDS = 50
const FOLLOW_ROUNDS = 5
const FOLLOW_MS = 4_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-board-'))
console.log(describeMachine())
const history = openHistory(join(folder, 'board.db'))
const board = await addOpenWindows(history, Date.now())
const { app, key, closePool } = createHarness({
  history,
  timer: () => performance.now(),
  clock: () => Date.now(),
})
const listening = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: app.fetch })
const ask = async (): Promise<number> => {
  const response = await app.fetch(
    new Request(new URL('/v1/board', listening.url).href, {
      headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' },
    }),
  )
  return (await response.arrayBuffer()).byteLength
}
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
/** Processor time of this process for a request. */
async function timeRequest(): Promise<{ ms: number; byteLength: number }> {
  const begun = cpuMs()
  const byteLength = await ask()
  return { ms: cpuMs() - begun, byteLength }
}
const first = await timeRequest()
console.log(
  `board of ${board.windows} windows: first read ${first.ms.toFixed(0)} ms, ${first.byteLength} bytes in gzip`,
)
const changed: number[] = []
const same: number[] = []
for (let round = 0; round < BOARD_ROUNDS; round++) {
  await board.advance(Date.now())
  await Bun.sleep(300)
  changed.push((await timeRequest()).ms)
  const begun = cpuMs()
  for (let again = 0; again < SAME_ROUNDS; again++) await ask()
  same.push((cpuMs() - begun) / SAME_ROUNDS)
}
console.log(
  `board: every row changed ${median(changed).toFixed(1)} ms, read again within a quarter of a second ${median(same).toFixed(2)} ms`,
)
let ticks = 0
let tickMs = 0
let longestTickMs = 0
const ticking = setInterval(() => {
  const begun = cpuMs()
  app.tick()
  const spent = cpuMs() - begun
  ticks++
  tickMs += spent
  longestTickMs = Math.max(longestTickMs, spent)
}, 5)
const feeding = setInterval(() => board.advance(Date.now()), 250)
const browser = createBrowser(listening.url.origin)
for (const rate of [1, THROTTLE]) {
  const page = await browser.open('/', {
    width: 1440,
    height: 1000,
    prepare: async (tab) => {
      await tab.addInitScript(`sessionStorage.setItem('bookfeed.key', '${key}')`)
    },
  })
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate })
  await until(page, `document.querySelectorAll('.board tbody tr').length === ${board.windows}`)
  await page.waitForTimeout(2_000)
  // In processor time, so that other load on the machine does not count.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busyMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  }
  const busyBefore = await busyMs()
  const { perSecond, longestMs } = await countFrames(page)
  const busy = ((await busyMs()) - busyBefore) / (BOARD_MS / 1000)
  const age = await page.evaluate<number>(`new Promise((resolve) => {
    let last = performance.now()
    let longest = 0
    const watch = new MutationObserver(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    })
    watch.observe(document.querySelector('.board tbody tr .board-price'), { subtree: true, attributes: true })
    setTimeout(() => resolve(longest), ${BOARD_MS})
  })`)
  console.log(
    `board, processor throttled ${rate} times: ${perSecond.toFixed(1)} frames a second, the longest ${longestMs.toFixed(0)} ms, ${busy.toFixed(0)} ms of each second spent; a row changes after ${age.toFixed(0)} ms at most`,
  )
  await page.context().close()
}
{
  // A window of 15 minutes, which stays open.
  const { data } = (await (
    await app.fetch(
      new Request(new URL('/v1/board?timeframe=15m', listening.url).href, {
        headers: { authorization: `Bearer ${key}` },
      }),
    )
  ).json()) as { data: { symbol: string; conditionId: string }[] }
  const page = await browser.open(`/markets/${data[0]?.symbol}/${data[0]?.conditionId}`, {
    width: 1440,
    prepare: async (tab) => {
      await tab.addInitScript(`sessionStorage.setItem('bookfeed.key', '${key}')`)
    },
  })
  await page.waitForSelector('.tag.live:has-text("Live")')
  await page.waitForTimeout(3_000)
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taskMs = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  }
  const shares: number[] = []
  for (let round = 0; round < FOLLOW_ROUNDS; round++) {
    const before = await taskMs()
    await page.waitForTimeout(FOLLOW_MS)
    shares.push((100 * ((await taskMs()) - before)) / FOLLOW_MS)
  }
  console.log(
    `market: followed at four updates a second it takes ${median(shares).toFixed(1)} % of a core`,
  )
  await page.context().close()
}
console.log(
  `board: one follower takes ${((100 * tickMs) / (ticks * 5)).toFixed(1)} % of a core, ${longestTickMs.toFixed(1)} ms at a time at most`,
)
clearInterval(ticking)
clearInterval(feeding)
await browser.close()
app.drain()
await listening.stop(true)
await closePool()
history.dispose()
rmSync(folder, { recursive: true })

/** Frames in ten seconds and the longest one, while the board changes. */
async function countFrames(page: TestPage): Promise<{ perSecond: number; longestMs: number }> {
  return page.evaluate(`new Promise((resolve) => {
    const begun = performance.now()
    let last = begun
    let count = 0
    let longestMs = 0
    requestAnimationFrame(function next(now) {
      longestMs = Math.max(longestMs, now - last)
      last = now
      count++
      if (now - begun < ${BOARD_MS}) requestAnimationFrame(next)
      else resolve({ perSecond: (1000 * count) / (now - begun), longestMs })
    })
  })`)
}
