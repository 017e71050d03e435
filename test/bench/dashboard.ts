import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { createBrowser, type TestPage, until } from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { addHeatMarket } from './heat-market.ts'
import { median } from './measure.ts'
import { describeMachine } from './report.ts'

/**
 * `bun test/bench/dashboard.ts`: the page of a market of 3,500 states of 99 levels in Chromium on
 * this machine: first load in bytes, largest paint with the processor throttled four times, the
 * heat map from its data to its picture, and frames while it is panned, zoomed and played.
 */
const ROUNDS = 5
const THROTTLE = 4
const MOVES = 120
const PLAY_MS = 5_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-dashboard-'))
const history = openHistory(join(folder, 'history.db'))
const conditionId = await addHeatMarket(history)
const { app, key, closePool } = createHarness({ history, timer: () => performance.now() })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
const market = `/markets/btc/${conditionId}`

let shown: TestPage | undefined

/** One page at a time: those that stay open take the processor too. */
async function open(path: string, throttle: number): Promise<TestPage> {
  await shown?.context().close()
  const page = await browser.open('/llms.txt')
  shown = page
  await page.evaluate(`sessionStorage.setItem('bookfeed.key', '${key}')`)
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: throttle })
  await page.goto(new URL(path, server.url).href)
  // The board has a stream, so it is never idle.
  if (path === '/') await page.waitForSelector('.away, .board-legend, .finished')
  else await page.waitForLoadState('networkidle')
  return page
}

const largestPaint = (page: TestPage) =>
  page.evaluate<number>(`new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime))
      .observe({ type: 'largest-contentful-paint', buffered: true })
  })`)

const transferred = (page: TestPage) =>
  page.evaluate<number>(`[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .filter(({ name }) => !name.includes('/v1/'))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)

/** From the data of the heat map to the end of its first picture. */
const drawn = async (page: TestPage) => {
  await until(page, "performance.getEntriesByName('heat-drawn').length > 0")
  return page.evaluate<number>(`(() => {
    const [data] = performance.getEntriesByName('heat-data')
    return performance.getEntriesByName('heat-drawn').find(({ startTime }) => startTime > data.startTime).startTime - data.startTime
  })()`)
}

/** Frames a second while the wheel zooms and the pointer pans. */
const frames = (page: TestPage) =>
  page.evaluate<number>(`new Promise((resolve) => {
    const canvas = document.querySelector('canvas.heat')
    const { left, top, width, height } = canvas.getBoundingClientRect()
    const begun = performance.now()
    let count = 0
    const at = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true }
    requestAnimationFrame(function next() {
      const isZoom = count < ${MOVES / 2}
      if (isZoom) canvas.dispatchEvent(new WheelEvent('wheel', { ...at, deltaY: count % 20 < 12 ? -1 : 1 }))
      else canvas.dispatchEvent(new PointerEvent('pointermove', { ...at, clientX: at.clientX + (count % 40), buttons: count === ${MOVES / 2} ? 0 : 1 }))
      if (++count < ${MOVES}) requestAnimationFrame(next)
      else resolve((1000 * count) / (performance.now() - begun))
    })
  })`)

/** Pictures of the heat map a second while the player runs at five times the speed. */
const played = async (page: TestPage): Promise<number> => {
  await page.keyboard.press('Home')
  await page.selectOption('.speed select', '5')
  await page.evaluate('performance.clearMarks()')
  await page.click('[aria-label="Play"]')
  await page.waitForTimeout(PLAY_MS)
  const count = await page.evaluate<number>("performance.getEntriesByName('heat-drawn').length")
  return (1000 * count) / PLAY_MS
}

/** A page of a market that is drawn. */
async function opened(path: string): Promise<TestPage> {
  const page = await open(path, 1)
  await until(page, "performance.getEntriesByName('heat-drawn').length > 0")
  return page
}

async function rounds(measure: () => Promise<number>): Promise<string> {
  const found: number[] = []
  for (let round = 0; round < ROUNDS; round++) found.push(await measure())
  return `${median(found).toFixed(0)} (${Math.min(...found).toFixed(0)}–${Math.max(...found).toFixed(0)})`
}

console.log(describeMachine())
for (const path of ['/', market, '/coverage']) {
  const name = path === market ? '/markets/btc/…' : path
  const page = await open(path, 1)
  console.log(`${name}: first load ${await transferred(page)} bytes`)
  const paint = await rounds(async () => await largestPaint(await open(path, THROTTLE)))
  console.log(`${name}: largest paint, processor throttled ${THROTTLE} times: ${paint} ms`)
}
console.log(
  `heat map drawn after its data: ${await rounds(async () => await drawn(await open(market, 1)))} ms`,
)
console.log(
  `pan and zoom: ${await rounds(async () => await frames(await opened(market)))} frames a second`,
)
console.log(
  `player at 5 times the speed: ${await rounds(async () => await played(await opened(market)))} pictures a second`,
)
await browser.close()
await server.stop(true)
await closePool()
history.dispose()
rmSync(folder, { recursive: true })
