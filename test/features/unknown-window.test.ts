/**
 * A market whose window is not known: what is held of it is served, and nothing is called whole.
 */
import { describe, expect, test } from 'bun:test'

import { type Timeframe, timeframeMs } from '#src/domain/market.ts'
import type { CoverageDay, MarketCoverageBody } from '#src/features/coverage/schema.ts'
import type { MarketBody } from '#src/features/markets/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { aSnapshot, assetIdOf, conditionIdOf } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { type Params, withParams } from '../support/page-client.ts'
import { readPanel } from '../support/panel-client.ts'
import { addWhole, DAY_START_MS, wholeMarkets } from '../support/whole-markets.ts'

const WINDOW_MS = 300_000
const ID = conditionIdOf(900)
const PATH = `/v1/btc/markets/${ID}`
const HELD_MS = DAY_START_MS + WINDOW_MS + 100_000
const UNKNOWN = 'unknown;gaps=2;reasons="window_unknown"'

type Draft = {
  number?: number
  heldMs?: number
  timeframe?: Timeframe
  source?: 'recorded' | 'simulated'
}

/** Adds 49 seconds of both outcomes of five minutes, neither name nor facts. */
async function addUnknown(
  history: MarketHistory,
  { number = 900, heldMs = HELD_MS, source = 'recorded', ...changes }: Draft = {},
) {
  const conditionId = conditionIdOf(number)
  const snapshots = Array.from({ length: 100 }, (_, index) => {
    const outcome = index % 2 === 0 ? 'up' : 'down'
    const assetId = assetIdOf(conditionId, outcome)
    const timestampMs = heldMs + (index >> 1) * 1_000
    return aSnapshot({ conditionId, outcome, assetId, timestampMs, ...changes }, index + 1)
  })
  await history.append({ id: `unknown-${number}`, source, snapshots })
  await history.close(conditionId)
}

async function openUnknown(windows: readonly number[] = [], timeframe: Timeframe = '5m') {
  const history = await wholeMarkets({ [timeframe]: windows })
  // Beside others it is of their source: a list leaves simulated markets out beside recorded ones.
  await addUnknown(history, { timeframe, source: windows.length > 0 ? 'simulated' : 'recorded' })
  return { history, ...createHarness({ history }) }
}

const coverageAt = async (path: string, params: Params = {}) => {
  const response = await (await openUnknown()).send(withParams(path, params))
  expect(response.status).toBe(200)
  return response.headers.get('x-coverage')
}

const within = { from: HELD_MS, to: HELD_MS + 49_001 }

describe('X-Coverage of a market whose window is not known', () => {
  test.each(['snapshots', 'quotes', 'prices', 'coverage', 'export'])(
    'default: of %s of all of it is unknown, never full',
    async (route) => {
      expect(await coverageAt(`${PATH}/${route}`)).toBe(UNKNOWN)
      expect(await coverageAt(`${PATH}/${route}`, { from: HELD_MS })).toBe(UNKNOWN)
      expect(await coverageAt(`${PATH}/${route}`, { to: HELD_MS + 20_000 })).toBe(UNKNOWN)
    },
  )

  test.each(['snapshots', 'quotes', 'prices', 'coverage', 'export'])(
    'behavior: of %s between two moments is measured as ever',
    async (route) => {
      expect(await coverageAt(`${PATH}/${route}`, within)).toBe('full')
      const wider = { ...within, from: HELD_MS - 49_001 }
      expect(await coverageAt(`${PATH}/${route}`, wider)).toBe(
        'partial;covered=0.5;gaps=2;reasons="import"',
      )
    },
  )

  test('behavior: of a moment that is held is full', async () => {
    expect(await coverageAt(`${PATH}/snapshots/at`, { ts: HELD_MS + 500 })).toBe('full')
  })

  test('behavior: lists what is known to be missing, too', async () => {
    const { history, send } = await openUnknown()
    const gap = { fromMs: HELD_MS + 1_000, toMs: HELD_MS + 3_000, reason: 'recorder_down' } as const
    await history.putGaps(ID, [{ ...gap, outcome: 'up' }])
    const coverage = (await send(`${PATH}/quotes`)).headers.get('x-coverage')
    expect(coverage).toBe('unknown;gaps=3;reasons="recorder_down window_unknown"')
  })

  test('behavior: is none of an outcome that was never recorded', async () => {
    const history = await wholeMarkets({})
    await history.append({
      id: 'up',
      source: 'recorded',
      snapshots: [aSnapshot({ conditionId: ID })],
    })
    const { send } = createHarness({ history })
    const coverage = (await send(`${PATH}/quotes?outcome=down`)).headers.get('x-coverage')
    expect(coverage).toStartWith('none;')
  })

  test('behavior: is measured once the window becomes known', async () => {
    const { history, send } = await openUnknown()
    const windowStartMs = DAY_START_MS + WINDOW_MS
    await history.putMarket({
      ...({ conditionId: ID, coin: 'btc', timeframe: '5m', source: 'recorded' } as const),
      windowStartMs,
      windowEndMs: windowStartMs + WINDOW_MS,
    })
    const coverage = (await send(`${PATH}/quotes`)).headers.get('x-coverage')
    expect(coverage).toBe('partial;covered=0.163;gaps=4;reasons="import"')
  })
})

describe('coverage of a market whose window is not known', () => {
  const read = async (params: Params) =>
    (await (
      await (await openUnknown()).send(withParams(`${PATH}/coverage`, params))
    ).json()) as Body
  type Body = MarketCoverageBody

  test('default: says what is held and no share of it', async () => {
    const { covered, outcomes } = await read({})
    expect(covered).toBeNull()
    expect(outcomes.map((each) => [each.covered, each.coveredMs])).toEqual([
      [null, 49_001],
      [null, 49_001],
    ])
  })

  test('behavior: between two moments it has a share', async () => {
    const { covered, outcomes } = await read(within)
    expect([covered, ...outcomes.map((each) => each.covered)]).toEqual([1, 1, 1])
  })

  test('behavior: the market object gives no share either', async () => {
    const { outcomes } = (await (await (await openUnknown()).send(PATH)).json()) as MarketBody
    expect(outcomes.map(({ coverage }) => [coverage.covered, coverage.gaps])).toEqual([
      [null, 0],
      [null, 0],
    ])
  })
})

describe('many windows, one of them unknown', () => {
  const allDay = [0, 1, 2, 3, 4, 5]

  async function readDay(windows: readonly number[]): Promise<CoverageDay | undefined> {
    const { send } = await openUnknown(windows, '4h')
    const address = withParams('/v1/btc/coverage', { from: DAY_START_MS, to: DAY_START_MS + 1 })
    return ((await (await send(address)).json()) as { data: CoverageDay[] }).data[0]
  }

  test('a day that has one is degraded, though no window is missing', async () => {
    const day = await readDay(allDay)
    expect([day?.state, day?.markets, day?.covered]).toEqual(['degraded', 7, 1])
    expect(day?.gaps).toEqual([{ reason: 'window_unknown', count: 2, durationMs: 0 }])
  })

  test('a day does not take it for the window that is not held', async () => {
    const day = await readDay(allDay.filter((window) => window !== 1))
    expect(day?.gaps).toEqual([
      { reason: 'import', count: 2, durationMs: 2 * timeframeMs['4h'] },
      { reason: 'window_unknown', count: 2, durationMs: 0 },
    ])
  })

  test('a day that has nothing else is not called missing', async () => {
    const day = await readDay([])
    expect([day?.state, day?.covered]).toEqual(['degraded', 0])
  })

  test('the export of a day names it', async () => {
    const coverageOf = async (windows: readonly number[]) =>
      (await (await openUnknown(windows, '4h')).send('/v1/btc/export?day=2026-01-01')).headers.get(
        'x-coverage',
      )
    expect(await coverageOf(allDay)).toBe('partial;covered=1.0;gaps=2;reasons="window_unknown"')
    expect(await coverageOf([])).toBe('unknown;gaps=14;reasons="import window_unknown"')
  })

  test('a panel names it and leaves it out', async () => {
    const { send } = await openUnknown([0, 1, 2])
    const { data, headers } = await readPanel(send, { offsets: '-240s,-60s' })
    expect(data).toHaveLength(6)
    expect(headers.get('x-coverage')).toBe('partial;covered=1.0;gaps=4;reasons="window_unknown"')
    const before = await readPanel(send, { to: HELD_MS })
    expect(before.headers.get('x-coverage')).toBe('full')
    const alone = await readPanel((await openUnknown()).send, {})
    expect(alone.headers.get('x-coverage')).toBe(UNKNOWN)
  })

  test('the pages of a panel name each once', async () => {
    const { history, send } = await openUnknown([0, 1, 2])
    await addUnknown(history, { number: 901, heldMs: DAY_START_MS - 1, source: 'simulated' })
    await addUnknown(history, {
      number: 902,
      heldMs: DAY_START_MS + 4 * WINDOW_MS,
      source: 'simulated',
    })
    await addWhole(history, { number: 903, timeframe: '5m', startMs: DAY_START_MS + 3 * WINDOW_MS })
    const gaps: number[] = []
    let cursor: string | null | undefined
    do {
      const page = await readPanel(send, { limit: 1, ...(cursor ? { cursor } : {}) })
      gaps.push(Number(/gaps=(\d+)/.exec(page.headers.get('x-coverage') ?? '')?.[1] ?? 0))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(gaps).toEqual([2, 0, 2, 2])
  })
})
