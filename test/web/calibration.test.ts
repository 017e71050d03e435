/** The page of calibration: its counts, its backtest, the same in Python, and how it looks. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'

import { PUBLIC_TEST_KEY as computedTestKey } from '#src/domain/selling/api-key.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { simulate } from '#src/simulator/simulator.ts'
import {
  equityOf,
  findEntries,
  type Ladders,
  needsDepth,
  type Rule,
  runRule,
  sumUp,
  toDecimal,
} from '#web/lib/backtest.ts'
import type { Level, PanelRow } from '#web/lib/bodies.ts'
import { calibrate, meanOf, type Observation, verdictOf, wilson } from '#web/lib/calibration.ts'
import { toPython } from '#web/pages/calibration/python-code.ts'
import { callOf, readView } from '#web/pages/calibration/view.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import {
  BROWSER_TEST_MS_MAX,
  chooseExport,
  chromiumPath,
  createBrowser,
  keepKey,
  lookAtAll,
  soon,
} from '../support/browser.ts'
import { readConfig } from '../support/config.ts'
import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { createTestGround } from '../support/test-mode.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const MARKETS = 48
const WINDOW_MS = 300_000
const START_MS = (Math.floor(NOW_MS / WINDOW_MS) - MARKETS - 1) * WINDOW_MS
const DAY_MS = 86_400_000
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const hasPython = Bun.which('python3') !== null
const root = join(import.meta.dir, '../..')

/** Markets with gaps, of which the first is not resolved and the second void. */
async function createHistory() {
  const history = openHistory(':memory:')
  const options = { seed: 'calibration', coins: ['btc'], timeframes: ['5m'] } as const
  const batches = [
    ...simulate({ ...options, markets: MARKETS, startMs: START_MS, statesPerSecond: 0.4 }),
  ]
  const ids = [...new Set(batches.flatMap(({ facts }) => facts.map((each) => each.conditionId)))]
  for (const fact of batches.flatMap((batch) => batch.facts)) {
    const place = ids.indexOf(fact.conditionId)
    const { winner, ...others } = fact
    if (winner === undefined) await history.putMarket(fact)
    else if (place === 0) await history.putMarket({ ...others, winnerSource: undefined })
    else await history.putMarket(place === 1 ? { ...fact, winner: 'void' } : fact)
  }
  for (const [index, { snapshots }] of batches.entries()) {
    await history.append({ id: `batch-${index}`, source: 'simulated', snapshots })
  }
  for (const id of ids) await history.close(id)
  return history
}

const MANY = 510
/** More markets than a page of the panel, each with one book a minute before its end. */
async function addMany(history: MarketHistory): Promise<void> {
  const books: Snapshot[] = []
  for (let number = 1; number <= MANY; number++) {
    const conditionId = conditionIdOf(number)
    const windowStartMs = START_MS - number * WINDOW_MS
    const windowEndMs = windowStartMs + WINDOW_MS
    await history.putMarket({
      conditionId,
      coin: 'eth',
      timeframe: '5m',
      source: 'simulated',
      windowStartMs,
      windowEndMs,
      winner: number % 2 === 0 ? 'up' : 'down',
      winnerSource: 'simulated',
    })
    books.push(
      aSnapshot({
        conditionId,
        coin: 'eth',
        timestampMs: windowEndMs - 60_000,
        bids: { prices: [300_000], sizes: [1_000_000] },
        asks: { prices: [400_000, 500_000], sizes: [500_000, 1_000_000_000] },
      }),
    )
  }
  await history.append({ id: 'many', source: 'simulated', snapshots: books })
}

/** Down was recorded, and Up was not. */
async function addDown(history: MarketHistory): Promise<void> {
  for (const number of [1, 2, 3]) {
    const conditionId = conditionIdOf(1000 + number)
    const windowStartMs = START_MS - number * WINDOW_MS
    const windowEndMs = windowStartMs + WINDOW_MS
    const facts = { conditionId, coin: 'sol', timeframe: '5m', source: 'simulated' } as const
    const winner = { winner: 'down', winnerSource: 'simulated' } as const
    await history.putMarket({ ...facts, windowStartMs, windowEndMs, ...winner })
    const book = { conditionId, coin: 'sol', outcome: 'down', assetId: `down ${number}` } as const
    const snapshots = [aSnapshot({ ...book, timestampMs: windowEndMs - 60_000 })]
    await history.append({ id: `down ${number}`, source: 'simulated', snapshots })
  }
}

const history = await createHistory()
await addDown(history)
await addMany(history)
const harness = createHarness({
  history,
  config: readConfig({ BOOKFEED_TRUSTED_PROXIES: '127.0.0.1' }),
})
const { app, key, ledger, send } = harness
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const guests = createTestGround()
// The simulated hours are over.
guests.time.nowMs = Date.UTC(2026, 4, 1)
const guestServer = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: guests.app.fetch })
const browser = createBrowser(server.url.origin)
const guestBrowser = createBrowser(guestServer.url.origin)
afterEach(async () => {
  await browser.closeTabs()
  await guestBrowser.closeTabs()
})
afterAll(async () => {
  await browser.close()
  await guestBrowser.close()
  await server.stop(true)
  await guestServer.stop(true)
})

const FIRST_LOAD_BYTES_MAX = 120_000
const momentsMs = [240_000, 120_000, 60_000, 10_000, 37_000]
const call = {
  coin: 'btc',
  timeframe: '5m',
  from: `${dayOf(START_MS)}T00:00:00Z`,
  to: `${dayOf(NOW_MS + DAY_MS)}T00:00:00Z`,
  source: undefined,
  offsets: momentsMs.map((ms) => `-${ms / 1000}s`),
}
const usual: Rule = {
  outcome: 'up',
  measure: 'ask',
  comparison: 'most',
  price: 600_000,
  beforeMs: 60_000,
  size: 100_000_000,
  feeRate: 70_000,
}
const rules: Rule[] = [
  usual,
  { ...usual, size: 20_000_000_000 },
  { ...usual, outcome: 'down', comparison: 'least', price: 500_000, size: 5_000_000_000 },
  { ...usual, measure: 'mid', price: 455_000, beforeMs: 37_000, size: 12_340_000, feeRate: 0 },
  { ...usual, outcome: 'down', measure: 'mid', comparison: 'least', price: 10_000, size: 10_000 },
]

let rows: PanelRow[] = []

async function readRows(): Promise<PanelRow[]> {
  const { timeframe, offsets } = call
  const search = new URLSearchParams({ timeframe, offsets: offsets.join(','), limit: '500' })
  const answer = await send(`/v1/btc/panel?${search}`)
  const { data, nextCursor } = (await answer.json()) as { data: PanelRow[]; nextCursor: null }
  expect([answer.status, nextCursor, data.length]).toEqual([200, null, MARKETS * momentsMs.length])
  return data
}

async function readLadders(entries: readonly Observation[], { outcome }: Rule): Promise<Ladders> {
  if (entries.length === 0) return new Map()
  const requests = entries.map(({ conditionId, ts }) => ({ conditionId, outcome, ts }))
  const body = JSON.stringify({ requests, fields: 'asks' })
  const headers = { 'content-type': 'application/json' }
  const answer = await send('/v1/btc/snapshots/at', { method: 'POST', body, headers })
  const { data } = (await answer.json()) as {
    data: { conditionId: string; snapshot: { asks: Level[] } }[]
  }
  return new Map(data.map(({ conditionId, snapshot }) => [conditionId, snapshot.asks]))
}

/** As the page does it: books are read for entries whose best ask is too small. */
async function runAsPage(rule: Rule) {
  const entries = findEntries(rows, rule)
  const deep = entries.rows.filter((row) => needsDepth(row, rule))
  return { entries, deep, run: runRule(entries.rows, rule, await readLadders(deep, rule)) }
}

beforeAll(async () => {
  rows = await readRows()
})

const sameCard = '.card:has(h2:has-text("The same in"))'
const sameCode = `${sameCard} pre`

describe('intervals', () => {
  test('default: Wilson’s, as tables of it have them', () => {
    for (const [wins, count, low, high] of [
      [0, 10, 0, 0.2775],
      [10, 10, 0.7225, 1],
      [8, 10, 0.4902, 0.9433],
      [50, 100, 0.4038, 0.5962],
    ] as const) {
      const found = wilson(wins, count)
      expect(found.low).toBeCloseTo(low, 4)
      expect(found.high).toBeCloseTo(high, 4)
    }
  })

  test('default: a mean has one by its standard deviation, and of one number none', () => {
    expect(meanOf([0.25])).toEqual({ mean: 0.25 })
    const { mean, interval } = meanOf([1, 2, 3, 4])
    expect(mean).toBe(2.5)
    expect(interval?.low).toBeCloseTo(2.5 - 1.959964 * 0.6455, 4)
    expect(interval?.high).toBeCloseTo(2.5 + 1.959964 * 0.6455, 4)
  })
})

describe('the address', () => {
  const held = {
    firstSnapshot: '2026-04-01T10:00:00Z',
    lastSnapshot: '2026-04-13T02:00:00Z',
    timeframes: [
      {
        timeframe: '1h',
        firstSnapshot: '2026-04-02T00:00:00Z',
        lastSnapshot: '2026-04-10T00:00:00Z',
      },
    ],
  }
  const read = (query: string) => readView(new URLSearchParams(query), held)

  test('default: without anything it is a week of five-minute windows and a usual rule', () => {
    const view = read('')
    expect(view).toMatchObject({ timeframe: '5m', outcome: 'up', widthCents: 5, momentMs: 60_000 })
    expect([view.fromDay, view.toDay]).toEqual(['2026-04-07', '2026-04-13'])
    expect(view.rule).toEqual(usual)
    expect(callOf('btc', view)).toEqual({
      coin: 'btc',
      timeframe: '5m',
      from: '2026-04-07T00:00:00Z',
      to: '2026-04-14T00:00:00Z',
      source: undefined,
      offsets: ['-240s', '-180s', '-120s', '-60s', '-30s', '-10s', '-5s'],
    })
    expect(read('timeframe=1h')).toMatchObject({ fromDay: '2026-04-02', toDay: '2026-04-10' })
    expect(read('timeframe=1d')).toMatchObject({ fromDay: '2026-04-01' })
  })

  test('behavior: a moment of the rule that is not shown is asked for, within eight', () => {
    for (const timeframe of ['5m', '15m', '1h', '4h', '1d']) {
      const { offsets } = callOf('btc', read(`timeframe=${timeframe}&before=7.5`))
      expect([timeframe, offsets.length, offsets.at(-1)]).toEqual([timeframe, 8, '-7500ms'])
    }
  })

  test('error: what cannot be is as if it were not there', () => {
    const usualView = read('')
    for (const query of [
      'timeframe=2m',
      'outcome=sideways&buy=sideways&on=last&at=about',
      'bins=7&moment=59',
      'price=0&size=-1&before=301&fee=2',
      'price=x&size=&before=NaN&fee=Infinity',
      'from=yesterday&to=2026-13-45',
    ]) {
      expect([query, read(query)]).toEqual([query, usualView])
    }
  })
})

const observe = (mid: number | null, changes: Partial<Observation> = {}): Observation => ({
  conditionId: '0x1',
  windowEnd: '2026-01-01T00:05:00.000Z',
  ts: '2026-01-01T00:04:00.000Z',
  offsetMs: -60_000,
  winner: 'up',
  covered: { up: true, down: true },
  up: mid === null ? null : { mid, ask: mid, askSize: 1 },
  down: null,
  ...changes,
})

describe('calibrate', () => {
  test('behavior: a price on the edge of two bins is in the upper one, exactly', () => {
    for (const widthCents of [2, 5, 10]) {
      for (let cents = 1; cents < 100; cents++) {
        const [column] = calibrate([observe(cents / 100)], 'up', widthCents).columns
        const index = column?.bins.findIndex((bin) => bin !== undefined)
        expect([widthCents, cents, index]).toEqual([
          widthCents,
          cents,
          Math.floor(cents / widthCents),
        ])
      }
    }
  })

  test('behavior: what cannot be counted is counted by its reason, each once', () => {
    const gap = { up: false, down: true }
    const [column] = calibrate(
      [
        observe(0.6),
        observe(0.6, { winner: null }),
        observe(0.6, { covered: gap, winner: null }),
        observe(null, { covered: gap }),
        observe(null, { winner: null }),
      ],
      'up',
      5,
    ).columns
    expect(column).toMatchObject({
      count: 1,
      wins: 1,
      leftOut: { gap: 2, noPrice: 1, noWinner: 1 },
    })
    expect(column?.brier).toBeCloseTo(0.16, 12)
  })

  test('behavior: a bin says more, less or fits by the interval of its share', () => {
    const won = Array.from({ length: 20 }, () => observe(0.3))
    const lost = won.map((row) => ({ ...row, winner: 'down' as const }))
    const verdicts = [won, lost, [...won.slice(0, 6), ...lost.slice(0, 14)]].map((each) => {
      const bin = calibrate(each, 'up', 5).columns[0]?.bins[6]
      return bin && verdictOf(bin)
    })
    expect(verdicts).toEqual(['more', 'less', 'fits'])
    const few = calibrate(won.slice(0, 9), 'up', 5).columns[0]?.bins[6]
    expect(few && [few.interval.low > few.meanPrice, verdictOf(few)]).toEqual([true, 'fits'])
  })
})

describe('a rule', () => {
  test('behavior: its entries do not depend on who won, nor on any other moment', () => {
    for (const rule of rules) {
      const ids = findEntries(rows, rule).rows.map(({ conditionId }) => conditionId)
      expect(ids.length).toBeGreaterThanOrEqual(5)
      const others = rows
        .filter(({ offsetMs }) => offsetMs === -rule.beforeMs)
        .map((row) => ({ ...row, winner: row.winner === 'up' ? null : ('up' as const) }))
      expect(findEntries(others, rule).rows.map(({ conditionId }) => conditionId)).toEqual(ids)
    }
  })

  test('behavior: each trade is the fill that the route returns for it', async () => {
    let partial = 0
    let deeper = 0
    for (const rule of rules) {
      const { entries, deep, run } = await runAsPage(rule)
      deeper += deep.length
      const tradeOf = new Map(run.trades.map((trade) => [trade.conditionId, trade]))
      expect(run.trades.length + run.noWinner + run.notFilled).toBe(entries.rows.length)
      for (const { conditionId, ts, winner } of entries.rows) {
        const limited = rule.measure === 'ask' && rule.comparison === 'most'
        const search = new URLSearchParams({
          ts,
          outcome: rule.outcome,
          side: 'buy',
          view: 'own',
          size: toDecimal(rule.size),
          feeRate: toDecimal(rule.feeRate),
          ...(limited ? { limitPrice: toDecimal(rule.price) } : {}),
        })
        const answer = await send(`/v1/btc/markets/${conditionId}/fill?${search}`)
        const fill = (await answer.json()) as Record<
          'filled' | 'total' | 'fee' | 'unfilled',
          number
        >
        const trade = tradeOf.get(conditionId)
        if (winner === null) {
          expect(trade).toBeUndefined()
          continue
        }
        expect(trade?.shares).toBe(fill.filled)
        expect(trade?.fee).toBeCloseTo(fill.fee, 6)
        expect(trade?.isPartial).toBe(fill.unfilled > 0)
        const paid = (winner === rule.outcome ? fill.filled : 0) - (trade?.profit ?? 0)
        expect(paid).toBeCloseTo(fill.total, 5)
        if (trade?.isPartial) partial++
      }
    }
    // Both paths were taken: the best ask was enough, and it was not.
    expect(deeper).toBeGreaterThan(10)
    expect(partial).toBeGreaterThan(0)
  })

  test('behavior: it ends where a book that it needs was not read', async () => {
    const rule = { ...usual, size: 20_000_000_000 }
    const { rows: entries } = findEntries(rows, rule)
    const ladders = await readLadders(entries.slice(0, 3), rule)
    const run = runRule(entries, rule, ladders)
    expect([run.trades.length + run.noWinner, run.notRead]).toEqual([3, entries.length - 3])
  })

  test('behavior: the drawdown is the largest fall, also of a rule that never gained', () => {
    const trade = (profit: number) => ({
      conditionId: '0x1',
      endMs: 0,
      shares: 1,
      cost: 0.5,
      fee: 0.25,
      isWon: profit > 0,
      profit,
      isPartial: false,
    })
    const drawdowns = [
      [1, -3, 1, -2, 5],
      [-1, -1],
      [1, 2],
    ].map((profits) => sumUp(profits.map(trade))?.drawdown)
    expect(drawdowns).toEqual([4, 2, 0])
    expect(equityOf([trade(1), trade(-3)])).toEqual({
      times: [0, 0],
      net: [1, -2],
      gross: [1.25, -1.5],
    })
    expect(sumUp([])).toBeUndefined()
  })
})

async function python(args: string[], input: string, env: Record<string, string> = {}) {
  const child = Bun.spawn(['python3', ...args], {
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'pipe',
    env,
  })
  const [printed, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  expect([await child.exited, errors]).toEqual([0, ''])
  return printed
}

describe.skipIf(!hasPython)('in Python', () => {
  test('default: whole books give the same counts and the same sums of the rules', async () => {
    const listed = (await (await send('/v1/btc/markets?timeframe=5m&limit=1000')).json()) as {
      data: { conditionId: string }[]
    }
    const texts: string[] = []
    for (const day of new Set([dayOf(START_MS), dayOf(START_MS + MARKETS * WINDOW_MS)])) {
      const answer = await send(`/v1/btc/export?day=${day}&timeframe=5m&format=ndjson`)
      if (answer.ok) texts.push(...(await answer.text()).trim().split('\n'))
    }
    const binCents = 5
    const found = JSON.parse(
      await python(
        [join(import.meta.dir, 'calibration_recount.py')],
        `{"markets":${JSON.stringify(listed.data)},"snapshots":[${texts.join(',')}],"rules":${JSON.stringify(
          rules.map((rule) => ({
            ...rule,
            size: toDecimal(rule.size),
            price: toDecimal(rule.price),
            feeRate: toDecimal(rule.feeRate),
          })),
        )},"momentsMs":${JSON.stringify(momentsMs)},"binCents":${binCents}}`,
      ),
    ) as { cells: Record<string, [number, number]>; runs: Record<string, number>[] }
    const cells = calibrate(rows, 'up', binCents).columns.flatMap(({ offsetMs, bins }) =>
      bins.flatMap((bin, index) => (bin ? [[`${-offsetMs} ${index}`, [bin.count, bin.wins]]] : [])),
    )
    expect(cells.length).toBeGreaterThan(20)
    expect(Object.fromEntries(cells)).toEqual(found.cells)
    const left = calibrate(rows, 'up', binCents).columns.map(({ leftOut }) => leftOut)
    expect(left.some(({ gap }) => gap > 0)).toBe(true)
    expect(left.every(({ noWinner }) => noWinner <= 2)).toBe(true)
    expect(left.some(({ noWinner }) => noWinner > 0)).toBe(true)
    for (const [index, rule] of rules.entries()) {
      const expected = found.runs[index]
      const { entries, run } = await runAsPage(rule)
      const sum = sumUp(run.trades)
      expect<object>({
        ...entries.leftOut,
        notMet: entries.notMet,
        noWinner: run.noWinner,
        notFilled: run.notFilled,
        trades: run.trades.length,
        wins: sum?.wins,
        profit: sum?.profit,
        fees: sum?.fees,
        drawdown: sum?.drawdown,
        meanReturn: sum?.meanReturn,
      }).toEqual({
        ...expected,
        profit: expect.closeTo(expected?.profit ?? 0, 6),
        fees: expect.closeTo(expected?.fees ?? 0, 6),
        drawdown: expect.closeTo(expected?.drawdown ?? 0, 6),
        meanReturn: expect.closeTo(expected?.meanReturn ?? 0, 9),
      })
    }
  })

  test('default: the code of the page runs with our client, and prints the same numbers', async () => {
    for (const rule of rules) {
      for (const outcome of ['up', 'down'] as const) {
        const { origin } = server.url
        const code = toPython({ call, outcome, widthCents: 10, rule, origin, token: undefined })
        const printed = await python(['-c', code], '', {
          KEY: key,
          PYTHONPATH: join(root, 'clients/python'),
          PYTHONDONTWRITEBYTECODE: '1',
        })
        const interval = (wins: number, count: number) => {
          const { low, high } = wilson(wins, count)
          return `${low.toFixed(4)} to ${high.toFixed(4)}`
        }
        const cells = calibrate(rows, outcome, 10).columns.flatMap(({ offsetMs, bins }) =>
          bins.flatMap((bin) =>
            bin
              ? `${offsetMs / 1000}s ${bin.fromCents}-${bin.toCents} ${bin.wins} of ${bin.count} ${interval(bin.wins, bin.count)}`
              : [],
          ),
        )
        const { run } = await runAsPage(rule)
        const sum = sumUp(run.trades)
        if (sum?.returnInterval === undefined) throw new Error('The rule has no two trades.')
        const { low, high } = sum.returnInterval
        const offsets = printed.split('\n').flatMap((line) => /^-(\d+)s /.exec(line)?.[1] ?? [])
        expect(offsets).toEqual(offsets.toSorted((a, b) => Number(b) - Number(a)))
        expect(printed.trim().split('\n').toSorted()).toEqual(
          [
            ...cells,
            `${sum.count} trades, ${sum.wins} won, ${interval(sum.wins, sum.count)}`,
            `profit ${sum.profit.toFixed(4)} USDC, max drawdown ${sum.drawdown.toFixed(4)} USDC, mean return ${sum.meanReturn.toFixed(6)}`,
            `mean return, 95 % interval: ${low.toFixed(6)} to ${high.toFixed(6)}`,
          ].toSorted(),
        )
      }
    }
  })
})

test('default: the public test key of the page is the one that servers take', async () => {
  const text = await Bun.file(join(root, 'web/lib/key.ts')).text()
  expect(text).toContain(`PUBLIC_TEST_KEY = '${computedTestKey}'`)
})

describe.skipIf(chromiumPath === undefined)('/calibration in a browser', () => {
  const ready = '.calibration-grid td small'
  const place = `/calibration/btc?to=${dayOf(NOW_MS)}`

  test('default: shows counts, intervals and the backtest, and keeps the rule in the address', async () => {
    const page = await browser.open(place, { prepare: keepKey(key) })
    await page.waitForSelector('.calibration-grid tbody td small')
    expect(await page.textContent('.calibration-count')).toContain(`${MARKETS} markets of 5m`)
    expect(await page.textContent('.calibration-count')).toContain('Counts are small')
    const { run } = await runAsPage(usual)
    const trades = () => page.textContent('.readout dd >> nth=0')
    await soon(async () => expect(await trades()).toBe(String(run.trades.length)))
    await page.fill('input[name=price]', '45.5')
    await page.selectOption('select[name=on]', 'mid')
    await page.fill('input[name=before]', '37')
    await page.click('text=Run')
    await page.waitForURL('**before=37**')
    const other = await runAsPage({ ...usual, measure: 'mid', price: 455_000, beforeMs: 37_000 })
    await soon(async () => expect(await trades()).toBe(String(other.run.trades.length)))
    expect(await page.inputValue('input[name=price]')).toBe('45.5')
    await page.reload()
    await soon(async () => expect(await trades()).toBe(String(other.run.trades.length)))
    expect(await page.inputValue('input[name=before]')).toBe('37')
    expect(page.faults).toEqual([])
  })

  test('behavior: reads the panel page by page, and the books of entries in batches', async () => {
    const page = await browser.open('/llms.txt', { prepare: keepKey(key) })
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/panel|snapshots/.test(pathname)) asked.push(`${request.method()} ${pathname}`)
    })
    await page.goto(new URL('/calibration/eth', server.url).href)
    await page.waitForSelector(`.calibration-count:has-text("${MANY} markets of 5m")`)
    // Each buys half a share at 40¢ and the rest at 50¢.
    const paid = 49.95 + 0.07 * (0.5 * 0.4 * 0.6 + 99.5 * 0.5 * 0.5)
    const profit = (MANY / 2) * 100 - MANY * paid
    await page.waitForSelector(`.readout dd:has-text("−$${(-profit).toFixed(2)}")`)
    expect(await page.textContent('.readout dd >> nth=0')).toBe(`${MANY}`)
    const panel = 'GET /v1/eth/panel'
    const books = 'POST /v1/eth/snapshots/at'
    expect(asked).toEqual([panel, panel, books, books])
    expect(page.faults).toEqual([])
  })

  test('default: it opens on the outcome that was recorded, unless the address names one', async () => {
    const page = await browser.open('/calibration/sol', { prepare: keepKey(key) })
    const chosen = () =>
      page.textContent('.calibration-filters [aria-label="Outcome"] [aria-pressed=true]')
    await page.waitForSelector(ready)
    expect(await chosen()).toContain('Down')
    expect(await page.inputValue('.rule select[name=buy]')).toBe('down')
    await page.click('.calibration-filters >> text=Up')
    await page.waitForURL('**/*outcome=up*')
    await soon(async () => expect(await chosen()).toContain('Up'))
    expect(page.faults).toEqual([])
  })

  test.skipIf(!hasPython)('default: the code that is copied is what Python runs', async () => {
    const page = await browser.open(place, { prepare: keepKey(key) })
    await page.waitForSelector('.calibration-grid tbody td small')
    const code = (await page.textContent(sameCode)) ?? ''
    const printed = await python(['-c', code], '', {
      KEY: key,
      PYTHONPATH: join(root, 'clients/python'),
      PYTHONDONTWRITEBYTECODE: '1',
    })
    const { run } = await runAsPage(usual)
    expect(printed).toContain(`\n${run.trades.length} trades, `)
    await page.click(`${sameCard} .tabs >> text=curl`)
    await page.waitForSelector(`${sameCode}:has-text("/fill?")`)
    const curl = (await page.textContent(sameCode)) ?? ''
    const lines = curl.replaceAll('curl ', 'curl --fail -sS -o /dev/null ')
    const child = Bun.spawn(['env', `KEY=${key}`, 'sh', '-ec', lines])
    expect([curl, await child.exited]).toEqual([curl, 0])
    await page.waitForSelector('h2:has-text("The same in curl")')
  })

  test('behavior: without a key it shows the hours of the public test key, and says so', async () => {
    const page = await guestBrowser.open('/calibration')
    await page.waitForSelector('.calibration-grid tbody td small')
    const count = (await page.textContent('.calibration-count')) ?? ''
    expect(count).toContain('public test key')
    expect(count).toContain('simulated')
    expect(await page.textContent(sameCode)).toContain(`Client("${computedTestKey}"`)
    expect(page.faults).toEqual([])
  })

  test('behavior: with a tier without the panel, and where test mode is off, a tier is named', async () => {
    const free = addKey(ledger, {
      tierId: 'prices',
      name: 'Prices',
      rank: 50,
      coins: ['btc'],
      routes: ['markets', 'prices'],
      requestsPerMinute: 1000,
      isForSale: false,
    })
    const page = await browser.open('/calibration', { prepare: keepKey(free) })
    await page.waitForSelector('.tier-card >> text=Not included in your tier, Prices')
    expect(page.faults).toEqual([])
    const guest = await browser.open('/calibration')
    await guest.waitForSelector('.tier-card >> text=Get a key')
    guest.forgive(/status of 401/)
    expect(guest.faults).toEqual([])
  })

  test('behavior: pictures and rows can be saved, with what they are', async () => {
    const page = await browser.open(place, { prepare: keepKey(key) })
    await page.waitForSelector('.calibration-grid tbody td small')
    const [first, second] = await Promise.all([
      page.waitForEvent('download'),
      chooseExport(page, 'How often', 'CSV'),
    ]).then(async ([csv]) => {
      const text = await Bun.file((await csv.path()) ?? '').text()
      return text.split('\n')
    })
    expect(first).toBe(
      'offset_ms,from_cents,to_cents,markets,won,share,low_95,high_95,mean_price,source',
    )
    expect(second).toEndWith(',simulated')
    const [trades] = await Promise.all([
      page.waitForEvent('download'),
      chooseExport(page, 'Equity curve', 'CSV'),
    ])
    const cells = (await Bun.file((await trades.path()) ?? '').text()).split(/[,\n]/)
    const numbers = cells.filter((cell) => /^-?\d+\.\d+$/.test(cell))
    expect(numbers.length).toBeGreaterThan(0)
    for (const cell of numbers) expect(cell.replace(/\D|^-?0\.0*/g, '').length).toBeLessThan(16)
    await chooseExport(page, 'Equity curve', 'API')
    const code = (await page.textContent('.figure-list .calls pre')) ?? ''
    expect(code).toContain('/v1/btc/panel?')
    expect(code).toContain('/fill?')
    const saved = page.waitForEvent('download')
    await chooseExport(page, 'Equity curve', 'PNG')
    expect((await saved).suggestedFilename()).toBe('equity-btc-5m.png')
    expect(page.faults).toEqual([])
  })

  test.each([390, 820, 1440])(
    'behavior: nothing moves when the panel arrives, and the page is light, %d px wide',
    async (width) => {
      const sizes: Promise<number>[] = []
      const page = await browser.open('/llms.txt', { width, prepare: keepKey(key) })
      // Slow enough that the page is painted before its data is there.
      await page.route('**/v1/**', async (route) => {
        await Bun.sleep(200)
        await route.continue()
      })
      page.on('requestfinished', (request) => {
        const { pathname } = new URL(request.url())
        if (pathname.startsWith('/v1/')) return
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
      })
      await page.goto(new URL(place, server.url).href)
      await page.waitForSelector(ready)
      await page.waitForLoadState('networkidle')
      const shift = await page.evaluate(`new Promise((resolve) => {
        new PerformanceObserver((list) => {
          const moved = ({ value, sources }) => value + ' ' + sources.map(({ node }) => node?.outerHTML)
          resolve(list.getEntries().map(moved).join())
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(''), 500)
      })`)
      expect(shift).toBe('')
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
      expect(bytes).toBeWithin(5_000, FIRST_LOAD_BYTES_MAX)
    },
  )

  test('default: looks right at every width, in both themes', async () => {
    expect(
      await lookAtAll(browser, place, { name: 'calibration', ready, prepare: keepKey(key) }),
    ).toEqual([])
    expect(
      await lookAtAll(guestBrowser, '/calibration', { name: 'calibration-guest', ready }),
    ).toEqual([])
  })
})
