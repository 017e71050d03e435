import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import { openHistory } from '#src/history/open.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  createBrowser,
  keepKey,
  keepShot,
  soon,
  type TestPage,
  until,
} from '../support/browser.ts'
import { createHarness } from '../support/harness.ts'
import { conditionIdOf } from '../support/market-history.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const START_MS = Date.UTC(2026, 0, 1)
const WINDOW_MS = 300_000
const STATE_MS = 250
/** As in `web/charts/heat-canvas.ts`. */
const AXIS_WIDTH = 64
const AXIS_HEIGHT = 22
const traded = conditionIdOf('a')
const bare = conditionIdOf('b')
/** Its best bid falls from 40 to 39 cents in the middle of each second, and rises at its end. */
const moving = conditionIdOf('c')
/** Trades of its last minute alone are recorded. */
const late = conditionIdOf('d')
const MILLION = 1_000_000
/** Large trades are at its best prices, and large sizes at the best bid come and go. */
const busy = conditionIdOf('9')
/** Its best bid falls from 40 to 30 cents at once after 200 seconds. */
const jumping = conditionIdOf('e')
const assetIds: Record<string, string> = {
  [traded]: '1',
  [bare]: '3',
  [moving]: '5',
  [late]: '7',
  [jumping]: '9',
  [busy]: '13',
}

/**
 * 100 shares bid at each price from 30 to 40 cents, and offered from 60 to 70. Ten seconds in every
 * twenty the bid at 35 cents is 900 shares; then it is gone, every other time by trades.
 */
function* states(conditionId: string): Generator<Snapshot> {
  const side = (from: number, step: number, sizeOf: (cents: number) => number) => {
    const cents = Array.from({ length: 11 }, (_, index) => from + index * step)
    return {
      prices: cents.map((price) => price * 10_000),
      sizes: cents.map((price) => sizeOf(price) * MILLION),
    }
  }
  for (let ms = 0; ms < WINDOW_MS; ms += STATE_MS) {
    const isLarge = ms % 20_000 < 10_000
    const hasFallen = conditionId === moving && ms % 1000 >= 500
    const hasJumped = conditionId === jumping && ms >= 200_000
    const bestBid = 40 - (hasFallen ? 1 : 0) - (hasJumped ? 10 : 0)
    yield {
      coin: 'btc',
      conditionId,
      timeframe: '5m',
      assetId: assetIds[conditionId] ?? '',
      outcome: 'up',
      timestampMs: START_MS + ms,
      bids: side(bestBid, -1, (cents) =>
        cents === (conditionId === busy ? bestBid : 35) && isLarge ? 900 : 100,
      ),
      asks: side(60, 1, () => 100),
    }
  }
}

function* trades(fromMs = 0): Generator<Trade> {
  const trade = { price: 350_000, outcome: 'up', side: 'sell', size: 800 * MILLION } as const
  for (let ms = fromMs + 10_000; ms < WINDOW_MS; ms += 40_000)
    yield { ...trade, timestampMs: START_MS + ms }
  const small = { ...trade, price: 900_000, size: MILLION }
  yield { ...small, timestampMs: START_MS + fromMs }
  yield { ...small, timestampMs: START_MS + WINDOW_MS - 1 }
}

/** At both best prices, so that dots cover one another and the lines. */
function* busyTrades(): Generator<Trade> {
  for (let ms = 10_000; ms < WINDOW_MS; ms += 8_000) {
    const trade = { timestampMs: START_MS + ms, outcome: 'up', size: 800 * MILLION } as const
    yield { ...trade, price: 400_000, side: 'sell' }
    yield { ...trade, price: 600_000, side: 'buy' }
  }
}

/** An hour. Its best bid falls from 40 to 30 cents after half of it and 2.5 s, and is 31 cents 1.5 s later. */
const hour = conditionIdOf('f')

function* hourStates(): Generator<Snapshot> {
  const every5s = Array.from({ length: 720 }, (_, index) => index * 5_000)
  for (const ms of [...every5s, 1_802_500, 1_804_000].sort((one, other) => one - other)) {
    const later = ms < 1_804_000 ? 30 : 31
    const bid = ms < 1_802_500 ? 40 : later
    yield {
      coin: 'btc',
      conditionId: hour,
      timeframe: '1h',
      assetId: '11',
      outcome: 'up',
      timestampMs: START_MS + ms,
      bids: { prices: [bid * 10_000], sizes: [100 * MILLION] },
      asks: { prices: [600_000], sizes: [100 * MILLION] },
    }
  }
}

const history = openHistory(':memory:')
{
  const windowEndMs = START_MS + 3_600_000
  const facts = { conditionId: hour, coin: 'btc', timeframe: '1h', source: 'recorded' } as const
  await history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs })
  await history.append({ id: hour, source: 'recorded', snapshots: [...hourStates()] })
  await history.close(hour)
}
for (const conditionId of [traded, bare, moving, late, jumping, busy]) {
  const windowEndMs = START_MS + WINDOW_MS
  const facts = { conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' } as const
  await history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs })
  if (conditionId === moving) {
    const prices = { strike: '64000', strikeSource: 'catalogue' } as const
    const final = { finalPrice: '64999', finalPriceSource: 'catalogue' } as const
    await history.putMarket({ ...facts, ...prices, ...final })
  }
  await history.append({ id: conditionId, source: 'recorded', snapshots: [...states(conditionId)] })
  if (conditionId === traded)
    await history.putTrades({ id: 'trades', conditionId, trades: [...trades()] })
  if (conditionId === busy)
    await history.putTrades({ id: 'busy trades', conditionId, trades: [...busyTrades()] })
  if (conditionId === late)
    await history.putTrades({ id: 'late trades', conditionId, trades: [...trades(240_000)] })
  await history.close(conditionId)
}
/** The price of the coin is 64000 and one more each second. */
await history.putSpot(
  Array.from({ length: WINDOW_MS / 1000 }, (_, second) => ({
    coin: 'btc',
    source: 'chainlink',
    windowSeconds: 60,
    timestampMs: START_MS + second * 1000,
    price: `${64_000 + second}`,
  })),
)
const { app, key, time } = createHarness({ history })
time.nowMs = START_MS + 2 * WINDOW_MS
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
afterEach(browser.closeTabs)
afterAll(async () => {
  await browser.close()
  await server.stop(true)
})

async function open(conditionId: string, options: { width?: number; theme?: 'dark' } = {}) {
  const page = await browser.open(`/markets/btc/${conditionId}`, {
    ...options,
    prepare: keepKey(key),
  })
  await page.waitForSelector('.ladder .ladder-bid')
  await page.waitForLoadState('networkidle')
  return page
}

async function pointAt(page: TestPage, ms: number, price: number): Promise<void> {
  await page.locator('canvas.heat').scrollIntoViewIfNeeded()
  const box = await page.locator('canvas.heat').boundingBox()
  if (box === null) throw new Error('There is a heat map.')
  const x = box.x + ((box.width - AXIS_WIDTH) * ms) / WINDOW_MS
  await page.mouse.move(x, box.y + (box.height - AXIS_HEIGHT) * (1 - price))
}

const readout = (page: TestPage) => page.textContent('.heat-readout')

/** How many pixels of the heat map have about the colour of a name of the style sheet. */
const pixelsOf = (page: TestPage, name: string) =>
  page.evaluate<number>(`(() => {
    const canvas = document.querySelector('canvas.heat')
    const { width, height } = canvas
    const copy = Object.assign(document.createElement('canvas'), { width, height })
    const context = copy.getContext('2d', { willReadFrequently: true })
    context.drawImage(canvas, 0, 0)
    const { data } = context.getImageData(0, 0, width - ${AXIS_WIDTH}, height - ${AXIS_HEIGHT})
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('${name}')
    context.fillRect(0, 0, 1, 1)
    const wanted = context.getImageData(0, 0, 1, 1).data
    let count = 0
    for (let at = 0; at < data.length; at += 4)
      if ([0, 1, 2].every((part) => Math.abs(data[at + part] - wanted[part]) < 8)) count++
    return count
  })()`)

async function saved(page: TestPage, name: 'CSV' | 'PNG'): Promise<Buffer> {
  const download = page.waitForEvent('download')
  await chooseExport(page, 'heat map', name)
  return Buffer.from(await Bun.file((await (await download).path()) ?? '').bytes())
}
const rowsOf = async (page: TestPage) =>
  (await saved(page, 'CSV'))
    .toString()
    .trim()
    .split('\n')
    .map((line) => line.split(','))

describe.skipIf(chromiumPath === undefined)('the heat map, in a browser', () => {
  test('default: price, time, size and side are said of what is under the pointer', async () => {
    const page = await open(traded)
    await pointAt(page, 5_500, 0.355)
    await soon(async () =>
      expect(await readout(page)).toMatch(/^00:00:05\.\d+ · 35¢ · bid 900 shares$/),
    )
    await pointAt(page, 5_500, 0.655)
    await soon(async () => expect(await readout(page)).toEndWith(' · 65¢ · ask 100 shares'))
    await pointAt(page, 5_500, 0.505)
    await soon(async () => expect(await readout(page)).toEndWith(' · 50¢ · no orders'))
    await pointAt(page, 30_500, 0.355)
    await soon(async () =>
      expect(await readout(page)).toEndWith(' · 35¢ · bid 100 shares · pulled 800 shares'),
    )
    await pointAt(page, 10_500, 0.355)
    await soon(async () =>
      expect(await readout(page)).toEndWith(' · 35¢ · bid 100 shares · traded 800 shares'),
    )
    await page.mouse.move(5, 5)
    await soon(async () => expect(await readout(page)).toEndWith(' · best bid 40¢ · best ask 60¢'))
    expect(page.faults).toEqual([])
  })

  test('behavior: the best prices are as of the crosshair, and those of the ladder', async () => {
    for (const [ms, bestBid] of [
      [150_000, '40¢'],
      [150_400, '40¢'],
      [150_600, '39¢'],
    ] as const) {
      const page = await browser.open(`/markets/btc/${moving}?at=${START_MS + ms}`, {
        prepare: keepKey(key),
      })
      await soon(async () =>
        expect(await readout(page)).toEndWith(` · best bid ${bestBid} · best ask 60¢`),
      )
      // The ladder has the book of each whole second.
      await soon(async () => expect(await page.textContent('.ladder .ladder-bid td')).toBe('40¢'))
      expect(page.faults).toEqual([])
    }
  })

  test('behavior: the numbers of a moment are of that moment, and the final price is at the end', async () => {
    const page = await browser.open(`/markets/btc/${moving}?at=${START_MS + 150_000}`, {
      prepare: keepKey(key),
      width: 390,
    })
    const facts = () => page.textContent('.readout')
    await soon(async () => expect(await facts()).toContain('Spot$64,150'))
    expect(await facts()).toContain('Before the end2:30')
    expect(await facts()).not.toContain('Final')
    await page.keyboard.press('End')
    await soon(async () => expect(await facts()).toContain('Final$64,999'))
    expect(page.faults).toEqual([])
  })

  test('behavior: the crosshair moves by keys, and a screen reader is told where it is', async () => {
    const page = await open(traded)
    await page.locator('.heat-frame').focus()
    const told = () => page.textContent('.heat-frame + [role=status]')
    await page.keyboard.press('ArrowLeft')
    await soon(async () => expect(await told()).toBe('00:02:29.000 · 40¢ · bid 100 shares'))
    await page.keyboard.press('Shift+ArrowUp')
    await page.keyboard.press('Shift+ArrowUp')
    await soon(async () => expect(await told()).toBe('00:02:29.000 · 60¢ · ask 100 shares'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Shift+ArrowRight')
    await soon(async () => expect(await told()).toBe('00:02:39.000 · 59¢ · no orders'))
    // The player moves with it, and by seconds where the heat map has no focus.
    expect(await page.textContent('.player > output')).toBe('00:02:39.000')
    for (let press = 0; press < 12; press++) await page.keyboard.press('+')
    await page.waitForURL(/from=\d+&to=\d+/)
    await page.keyboard.press('0')
    await page.waitForURL(({ searchParams }) => !searchParams.has('from'))
    await page.keyboard.press('Escape')
    await soon(async () => expect(await readout(page)).toContain('best bid'))
    expect([...(await accessFaults(page)), ...page.faults]).toEqual([])
  })

  test('behavior: without room nothing fails, and with room it is drawn again', async () => {
    const page = await open(traded)
    await until(page, "performance.getEntriesByName('heat-drawn').length > 0")
    const show = (display: string) =>
      page.evaluate(`document.querySelector('.market-grid').style.display = '${display}'`)
    await show('none')
    await until(page, "document.querySelector('canvas.heat').width === 0")
    await show('')
    await soon(async () => expect(await pixelsOf(page, '--warn')).toBeGreaterThan(40))
    expect(page.faults).toEqual([])
  })

  test('default: a button and a key go to the largest move, which all charts mark', async () => {
    const page = await open(jumping)
    expect(await pixelsOf(page, '--accent')).toBe(0)
    await page.click('button:has-text("Largest move")')
    const said = '.player [role=status]'
    await soon(async () =>
      expect(await page.textContent(said)).toBe(
        'Largest move: Up from 50¢ to 45¢ within 10 s, at 00:03:20.000.',
      ),
    )
    await soon(async () => expect(await page.textContent('.player > output')).toBe('00:03:20.000'))
    await soon(async () => expect(await pixelsOf(page, '--accent')).toBeGreaterThan(300))
    await page.waitForURL(`**/*at=${START_MS + 200_000}*`)
    await keepShot(page, 'heat-move-1280-light')
    // From a part in which it is not seen.
    const query = `?at=${START_MS + 20_000}&from=${START_MS}&to=${START_MS + 60_000}`
    const part = await browser.open(`/markets/btc/${jumping}${query}`, { prepare: keepKey(key) })
    await part.waitForSelector('.ladder .ladder-bid')
    await part.waitForLoadState('networkidle')
    await part.keyboard.press('m')
    await part.waitForURL(`**/*at=${START_MS + 200_000}&from=${START_MS + 170_000}&to=*`)
    await soon(async () => expect(await pixelsOf(part, '--accent')).toBeGreaterThan(300))
    expect([...(await accessFaults(part)), ...page.faults, ...part.faults]).toEqual([])
  })

  test('behavior: of very many quotes it is found in the books, then in the quotes of that time', async () => {
    let asked = 0
    const page = await browser.open(`/markets/btc/${hour}`, {
      async prepare(tab) {
        await keepKey(key)(tab)
        // As if the list of the whole window had an end.
        await tab.route(`**/${hour}/quotes?*`, async (route) => {
          const response = await route.fetch()
          const body = await response.json()
          if (asked++ > 0) return route.fulfill({ response, json: body })
          return route.fulfill({ response, json: { ...body, nextCursor: 'more' } })
        })
      },
    })
    await page.waitForSelector('.ladder .ladder-bid')
    await page.waitForLoadState('networkidle')
    await page.click('button:has-text("Largest move")')
    await soon(async () =>
      expect(await page.textContent('.player [role=status]')).toBe(
        'Largest move: Up from 50¢ to 45¢ within 7.5 s, at 00:30:02.500.',
      ),
    )
    expect(asked).toBe(2)
    expect(page.faults).toEqual([])
  })

  test('behavior: two fingers zoom and drag it, and one scrolls the page', async () => {
    const page = await open(bare, { width: 390 })
    const touch = await page.context().newCDPSession(page)
    await touch.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 })
    const center = async () => {
      await page.locator('canvas.heat').scrollIntoViewIfNeeded()
      const box = await page.locator('canvas.heat').boundingBox()
      if (box === null) throw new Error('There is a heat map.')
      return { x: Math.round(box.x + (box.width - AXIS_WIDTH) / 2), y: Math.round(box.y + 120) }
    }
    const { x, y } = await center()
    const put = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...xs: number[]) =>
      touch.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: xs.map((left, id) => ({ x: left, y, id })),
      })
    await put('touchStart', x - 30)
    await put('touchStart', x - 30, x + 30)
    for (const spread of [40, 50, 60]) await put('touchMove', x - spread, x + spread)
    await put('touchEnd')
    const view = () => {
      const { searchParams } = new URL(page.url())
      return [Number(searchParams.get('from')), Number(searchParams.get('to'))] as const
    }
    await page.waitForURL(/from=\d+&to=\d+/)
    // Twice as far apart: half of the time, around the same moment. The address has the view of a
    // pause, which a slow machine makes between two movements, too.
    await soon(async () => {
      const [fromMs, toMs] = view()
      expect(toMs - fromMs).toBeWithin(WINDOW_MS / 2 - 2_000, WINDOW_MS / 2 + 2_000)
      expect((fromMs + toMs) / 2 - START_MS).toBeWithin(
        WINDOW_MS / 2 - 3_000,
        WINDOW_MS / 2 + 3_000,
      )
    })
    const [fromMs, toMs] = view()
    // Two fingers that move together drag it.
    await put('touchStart', x - 30)
    await put('touchStart', x - 30, x + 30)
    for (const by of [20, 40]) await put('touchMove', x - 30 + by, x + 30 + by)
    await put('touchEnd')
    const box = await page.locator('canvas.heat').boundingBox()
    const draggedByMs = (40 * (toMs - fromMs)) / ((box?.width ?? 0) - AXIS_WIDTH)
    await soon(async () => {
      const [from, to] = view()
      expect(fromMs - from).toBeWithin(draggedByMs - 3_000, draggedByMs + 3_000)
      expect(to - from).toBeWithin(toMs - fromMs - 2_000, toMs - fromMs + 2_000)
    })
    const [draggedMs] = view()
    const top = await page.evaluate<number>('scrollY')
    const now = await center()
    const finger = (type: 'touchStart' | 'touchMove', left: number, up: number) =>
      touch.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: [{ x: left, y: now.y - up, id: 0 }],
      })
    await finger('touchStart', x, 0)
    for (let step = 1; step <= 10; step++) await finger('touchMove', x + step, step * 20)
    await put('touchEnd')
    await soon(async () =>
      expect(await page.evaluate<number>('scrollY')).toBeGreaterThan(top + 100),
    )
    // It scrolled, and did not drag.
    expect(view()[0]).toBeWithin(draggedMs - 3_000, draggedMs + 3_000)
    expect(page.faults).toEqual([])
  })

  test('behavior: zoomed it has finer columns, and keeps the coarse ones until they are here', async () => {
    const page = await open(traded)
    let release = () => {}
    const isReleased = new Promise<void>((resolve) => (release = resolve))
    const asked: URL[] = []
    await page.route('**/heatmap?*from=*', async (route) => {
      asked.push(new URL(route.request().url()))
      await isReleased
      await route.continue()
    })
    await page.locator('.heat-frame').focus()
    // At once: on a slow machine the view would settle between two presses.
    await page.evaluate(`for (let press = 0; press < 20; press++)
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))`)
    await soon(async () => expect(asked.length).toBeGreaterThan(0))
    // All presses are one request, of columns that are round and not too many.
    expect(asked).toHaveLength(1)
    const [from, to, timeBins] = ['from', 'to', 'timeBins'].map((name) =>
      Number(asked[0]?.searchParams.get(name)),
    ) as [number, number, number]
    expect([1, 2, 5, 10, 20, 50, 100]).toContain((to - from) / timeBins)
    expect(timeBins).toBeWithin(250, 1_001)
    expect(await pixelsOf(page, '--bid')).toBeGreaterThan(100)
    const coarse = await rowsOf(page)
    release()
    await soon(async () => expect((await rowsOf(page)).length).toBeGreaterThan(coarse.length * 4))
    const [head, ...rows] = await rowsOf(page)
    expect(head).toEqual(['time', 'side', 'price', 'size', 'pulled', 'traded'])
    const times = [...new Set(rows.map(([time = '']) => Date.parse(time)))]
    const [fromMs = 0, nextMs = 0] = times
    const stepMs = nextMs - fromMs
    expect(stepMs).toBeLessThan(100)
    await page.waitForURL(/from=\d+&to=\d+/)
    const { searchParams } = new URL(page.url())
    const view = { fromMs: Number(searchParams.get('from')), toMs: Number(searchParams.get('to')) }
    expect(fromMs).toBeWithin(view.fromMs - stepMs, view.fromMs + 1)
    expect(times.at(-1)).toBeWithin(view.toMs - stepMs, view.toMs + 1)
    // The code of the API panel requests the same columns.
    await chooseExport(page, 'heat map', 'API')
    const code = (await page.textContent('.calls pre')) ?? ''
    const [url = '', ofTrades = ''] = [...code.matchAll(/'(http[^']+)'/g)].map(
      ([, each]) => each ?? '',
    )
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${key}` } })
    const heat = (await answer.json()) as { from: string; stepMs: number; columns: unknown[] }
    expect([Date.parse(heat.from), heat.stepMs]).toEqual([fromMs, stepMs])
    expect(heat.columns).toHaveLength(times.length)
    expect(new URL(ofTrades).searchParams.get('from')).toBe(String(fromMs))
    // A small move is within what is here.
    await page.locator('canvas.heat').hover({ position: { x: 405, y: 40 } })
    const before = page.url()
    await page.mouse.down()
    await page.locator('canvas.heat').hover({ position: { x: 400, y: 40 } })
    await page.mouse.up()
    await page.waitForURL((now) => now.href !== before)
    expect(asked).toHaveLength(1)
    await page.click('.zoom >> text=All')
    await chooseExport(page, 'heat map', 'API')
    await soon(async () => expect(await page.textContent('.calls pre')).toContain('timeBins=300'))
    expect(page.faults).toEqual([])
  })

  test('behavior: what was pulled and what was traded have marks, which can be left out', async () => {
    const page = await open(traded)
    const marks = async () => [await pixelsOf(page, '--warn'), await pixelsOf(page, '--accent')]
    await soon(async () => {
      for (const count of await marks()) expect(count).toBeGreaterThan(40)
    })
    await page.waitForSelector('.legend .pulled [data-sign=cross]')
    await page.waitForSelector('.legend .traded [data-sign=diamond]')
    expect(await page.locator('.removed-share').count()).toBe(0)
    await page.click('button:text-is("View")')
    await page.click('.heat-view .check')
    await soon(async () => expect(await marks()).toEqual([0, 0]))
    await page.waitForURL('**/*marks=0*')
    expect(page.faults).toEqual([])
  })

  test('behavior: the legend says for how much of what is shown the marks are known', async () => {
    const page = await open(late)
    await page.waitForSelector('.legend .pulled')
    const share = async () =>
      Number(
        /^Pulled and traded sizes are known for (\S+) % of this view/.exec(
          (await page.getAttribute('.removed-share', 'title')) ?? '',
        )?.[1],
      )
    await soon(async () => expect(await share()).toBeWithin(19, 21))
    // A part in which all is known says nothing.
    const query = `?from=${START_MS + 250_000}&to=${START_MS + 290_000}`
    const part = await browser.open(`/markets/btc/${late}${query}`, { prepare: keepKey(key) })
    await part.waitForSelector('.legend .pulled')
    await soon(async () => expect(await part.locator('.removed-share').count()).toBe(0))
    expect([...page.faults, ...part.faults]).toEqual([])
  })

  test('behavior: on a phone the axis has times, and dots are as large as in the legend', async () => {
    const page = await browser.open(`/markets/btc/${traded}`, {
      width: 390,
      prepare: async (tab) => {
        await keepKey(key)(tab)
        await tab.addInitScript(`(() => {
          globalThis.written = new Set()
          globalThis.radii = new Set()
          const { arc, fillText } = CanvasRenderingContext2D.prototype
          Object.assign(CanvasRenderingContext2D.prototype, {
            arc(...args) { radii.add(args[2]); return arc.apply(this, args) },
            fillText(...args) { written.add((this.canvas.isConnected ? 'lines ' : 'heat ') + args[0]); return fillText.apply(this, args) },
          })
        })()`)
      },
    })
    // The axis of the heat map is in the picture below the crosshair, which is not in the page.
    for (const name of ['heat', 'lines'])
      await until(page, `['02', '04'].every((each) => written.has('${name} 00:' + each + ':00'))`)
    const largest = `2 * Math.max(...radii)`
    await until(page, `Math.abs(${largest} - 22 * 0.65) < 0.01`)
    const [, dot = 0] = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.legend .dot-key')].map((dot) => dot.getBoundingClientRect().width)`,
    )
    // The largest trade has 800 shares, the dot of the legend 100.
    expect(dot).toBeCloseTo((22 * 0.65) / Math.sqrt(8), 1)
    expect(page.faults).toEqual([])
  })

  test('behavior: no dot and no mark hides the best prices', async () => {
    const page = await open(busy)
    // Dots and marks are there.
    await soon(async () => {
      expect(await pixelsOf(page, '--warn')).toBeGreaterThan(40)
      expect(await pixelsOf(page, '--accent')).toBeGreaterThan(40)
    })
    // The crosshair is away from the columns that are looked at.
    await page.keyboard.press('End')
    await page.mouse.move(5, 5)
    /** The columns of pixels in which the line of a price, as thick as it is drawn, has another colour. */
    const hidden = (name: string, price: number) =>
      page.evaluate<number[]>(`(() => {
        const canvas = document.querySelector('canvas.heat')
        const { width, height } = canvas
        const copy = Object.assign(document.createElement('canvas'), { width, height })
        const context = copy.getContext('2d', { willReadFrequently: true })
        context.drawImage(canvas, 0, 0)
        const middle = Math.round((height - ${AXIS_HEIGHT}) * (1 - ${price}))
        const { data } = context.getImageData(0, middle - 2, width - ${AXIS_WIDTH}, 4)
        const across = width - ${AXIS_WIDTH}
        context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('${name}')
        context.fillRect(0, 0, 1, 1)
        const wanted = context.getImageData(0, 0, 1, 1).data
        const isLine = (x) => [0, 1, 2, 3].some((y) => [0, 1, 2].every((part) =>
          Math.abs(data[4 * (y * across + x) + part] - wanted[part]) < 30))
        return Array.from({ length: across - 8 }, (_, index) => index + 4).filter((x) => !isLine(x))
      })()`)
    await soon(async () => expect(await hidden('--bid', 0.4)).toEqual([]))
    expect(await hidden('--ask', 0.6)).toEqual([])
    await keepShot(page, 'heat-busy-1280-light')
    expect(page.faults).toEqual([])
  })

  test('behavior: beside the prices two fingers zoom them, and a drag moves them', async () => {
    const page = await open(bare, { width: 390 })
    const touch = await page.context().newCDPSession(page)
    await touch.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 })
    await page.locator('canvas.heat').scrollIntoViewIfNeeded()
    const box = await page.locator('canvas.heat').boundingBox()
    if (box === null) throw new Error('There is a heat map.')
    const height = box.height - AXIS_HEIGHT
    /** The price that is said of a part of the height, from above. */
    const priceAt = async (part: number): Promise<number> => {
      await page.mouse.move(box.x + 40, box.y + part * height)
      return Number(/ · ([\d.]+)¢/.exec((await readout(page)) ?? '')?.[1])
    }
    await soon(async () => expect(await priceAt(0.25)).toBeWithin(73, 77))
    const x = box.x + box.width - AXIS_WIDTH / 2
    const middle = box.y + height / 2
    const put = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...ys: number[]) =>
      touch.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: ys.map((y, id) => ({ x, y, id })),
      })
    await put('touchStart', middle - 30)
    await put('touchStart', middle - 30, middle + 30)
    for (const spread of [40, 50, 60]) await put('touchMove', middle - spread, middle + spread)
    await put('touchEnd')
    // Twice as far apart: half of the prices, around the same one; the time stays.
    await soon(async () => expect(await priceAt(0.25)).toBeWithin(61, 64))
    await soon(async () => expect(await priceAt(0.75)).toBeWithin(36, 39))
    expect(new URL(page.url()).searchParams.has('from')).toBe(false)
    // Prices that were chosen move with the pointer.
    await page.mouse.move(box.x + 100, middle)
    await page.mouse.down()
    await page.mouse.move(box.x + 100, middle + height / 4, { steps: 4 })
    await page.mouse.up()
    await soon(async () => expect(await priceAt(0.75)).toBeWithin(48, 51))
    await page.mouse.dblclick(box.x + 100, middle)
    await soon(async () => expect(await priceAt(0.25)).toBeWithin(73, 77))
    expect(page.faults).toEqual([])
  })

  test('behavior: the area of a dot is as the size of its trade', async () => {
    const page = await open(traded)
    const widths = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.legend .dot-key')].map((dot) => dot.getBoundingClientRect().width)`,
    )
    const [small = 0, large = 0] = widths
    expect(await page.textContent('.legend .trade-sizes')).toContain('trades of 10 and 100')
    expect((large / small) ** 2).toBeCloseTo(10, 0)
    expect(page.faults).toEqual([])
  })

  test('behavior: without trades nothing is marked, and the legend says so', async () => {
    const page = await open(bare)
    await page.waitForSelector('.legend > :text("no marks: trades are not recorded here")')
    expect(await pixelsOf(page, '--warn')).toBe(0)
    await pointAt(page, 30_500, 0.355)
    await soon(async () => expect(await readout(page)).toEndWith(' · bid 100 shares'))
    expect(page.faults).toEqual([])
  })

  test('behavior: a picture that is saved says when it is of, where it is from and its address', async () => {
    const page = await open(traded)
    const heights: number[] = []
    const shown = await page.evaluate<number>("document.querySelector('canvas.heat').height")
    heights.push((await saved(page, 'PNG')).readUInt32BE(20) - shown)
    // The title, two lines of legend, and four lines below it.
    expect(heights[0]).toBeGreaterThan(120)
    expect(page.faults).toEqual([])
  })

  test('behavior: it fits every screen, light and dark', async () => {
    for (const width of [390, 820, 1440]) {
      for (const theme of [undefined, 'dark'] as const) {
        const page = await open(traded, { width, ...(theme && { theme }) })
        await pointAt(page, 30_500, 0.355)
        await until(page, `document.querySelector('.heat-readout').textContent.includes('pulled')`)
        const wide = `[...document.querySelectorAll('#content *')].flatMap((each) => {
          const { right } = each.getBoundingClientRect()
          return right > innerWidth ? [each.outerHTML.slice(0, 80)] : []
        })`
        await soon(async () => expect(await page.evaluate<string[]>(wide)).toEqual([]))
        expect([...(await accessFaults(page)), ...page.faults]).toEqual([])
        await keepShot(page, `heat-${width}-${theme ?? 'light'}`)
      }
    }
  })
})
