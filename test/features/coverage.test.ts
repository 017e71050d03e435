import { describe, expect, test } from 'bun:test'

import type { Gap } from '#src/domain/coverage.ts'
import type { ErrorCode } from '#src/domain/errors.ts'
import type { MarketFacts } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { MOMENT_MS_MAX } from '#src/domain/time.ts'
import type { MarketCoverageBody } from '#src/features/coverage/schema.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'
import { silentRecorder } from '../support/silences.ts'

/** Long over by the clock of the harness. */
const WINDOW_MS = Date.UTC(2025, 3, 14, 8)
const facts: MarketFacts = {
  conditionId: conditionIdOf(1),
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: WINDOW_MS,
  windowEndMs: WINDOW_MS + 300_000,
}
const PATH = `/v1/btc/markets/${facts.conditionId}/coverage`
const at = (second: number): number => WINDOW_MS + second * 1000
const isoOf = (second: number): string => new Date(at(second)).toISOString()

/** Different books of one outcome at the given seconds of the window. */
const rowsAt = (outcome: Snapshot['outcome'], seconds: readonly number[]): Snapshot[] =>
  seconds.map((second, index) =>
    aSnapshot(
      { outcome, timestampMs: at(second), isVerified: index % 2 === 0 ? true : undefined },
      1_000_000 + index,
    ),
  )

const everySecond = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

/** Up is held whole; down is silent from 100 s to 160 s, and held from 20 s on. */
async function createMarket(gaps: readonly Gap[] = []) {
  const history = openHistory(':memory:')
  await history.putMarket(facts)
  const down = [...everySecond(20, 101), ...everySecond(160, 300)]
  const snapshots = [...rowsAt('up', everySecond(0, 300)), ...rowsAt('down', down)]
  await history.append({ id: 'rows', source: 'recorded', snapshots })
  await history.putGaps(facts.conditionId, gaps)
  return { history, ...createHarness({ history }) }
}

async function read(send: Send, params: Record<string, number> = {}): Promise<MarketCoverageBody> {
  const response = await send(withParams(PATH, params))
  expect(response.status).toBe(200)
  return (await response.json()) as MarketCoverageBody
}

const spansOf = (spans: readonly { from: string; to: string; durationMs: number }[]) =>
  spans.map(({ from, to, durationMs }) => [from, to, durationMs])

describe('GET /v1/{coin}/markets/{conditionId}/coverage', () => {
  test('default: both outcomes over the life of the market, gaps with their reason', async () => {
    const { send } = await createMarket()
    const body = await read(send)
    expect(body.requested).toEqual({ from: isoOf(0), to: isoOf(300), durationMs: 300_000 })
    const [up, down] = body.outcomes
    expect(up).toMatchObject({ outcome: 'up', covered: 1, coveredMs: 300_000, gaps: [] })
    expect(spansOf(up?.intervals ?? [])).toEqual([[isoOf(0), isoOf(300), 300_000]])
    expect(spansOf(down?.intervals ?? [])).toEqual([
      [isoOf(20), isoOf(100.001), 80_001],
      [isoOf(160), isoOf(300), 140_000],
    ])
    expect(spansOf(down?.gaps ?? [])).toEqual([
      [isoOf(0), isoOf(20), 20_000],
      [isoOf(100.001), isoOf(160), 59_999],
    ])
    expect(down?.gaps.map(({ reason }) => reason)).toEqual(['import', 'import'])
    expect([down?.covered, down?.coveredMs]).toEqual([0.733336, 220_001])
    expect(body.covered).toBe(0.866668)
    expect(body.silenceMs).toBe(5000)
  })

  test('default: says what is held of each outcome', async () => {
    const { send } = await createMarket()
    const [up, down] = (await read(send)).outcomes
    expect(up?.wholeMarket).toEqual({
      snapshots: 300,
      verifiedSnapshots: 150,
      verified: 0.5,
      longestSilenceMs: 1000,
      firstSnapshot: isoOf(0),
      lastSnapshot: isoOf(299),
    })
    expect(down?.wholeMarket).toMatchObject({ snapshots: 221, longestSilenceMs: 60_000 })
  })

  test('behavior: from and to are the time looked at; the holdings stay those of the market', async () => {
    const { send } = await createMarket()
    const whole = await read(send)
    const part = await read(send, { from: at(90), to: at(110) })
    expect(part.requested).toEqual({ from: isoOf(90), to: isoOf(110), durationMs: 20_000 })
    expect(part.outcomes.map(({ covered }) => covered)).toEqual([1, 0.50005])
    expect(part.outcomes.map(({ wholeMarket }) => wholeMarket)).toEqual(
      whole.outcomes.map(({ wholeMarket }) => wholeMarket),
    )
    const seconds = await read(send, { from: at(90) / 1000, to: at(110) / 1000 })
    expect(seconds).toEqual(part)
  })

  test('behavior: outside its life the market was not open', async () => {
    const { send } = await createMarket()
    const { covered, outcomes } = await read(send, { from: at(-10), to: at(0) })
    expect(covered).toBe(0)
    expect(outcomes.map(({ gaps }) => gaps.map(({ reason }) => reason))).toEqual([
      ['not_open'],
      ['not_open'],
    ])
  })

  test('behavior: a time that leaves nothing of the market is empty, not an error', async () => {
    const { send } = await createMarket()
    const { requested, covered, outcomes } = await read(send, { from: at(900) })
    expect([requested.durationMs, covered]).toEqual([0, null])
    expect(outcomes.map(({ covered: share, gaps }) => [share, gaps])).toEqual([
      [null, []],
      [null, []],
    ])
    const far = await send(withParams(PATH, { from: MOMENT_MS_MAX - 1, to: MOMENT_MS_MAX }))
    expect(far.status).toBe(200)
  })

  test('behavior: a recorded reason wins over one that was derived', async () => {
    const gap = { outcome: 'down', fromMs: at(90), toMs: at(120), reason: 'recorder_down' } as const
    const { send } = await createMarket([gap])
    const { gaps } = (await read(send)).outcomes[1] ?? { gaps: [] }
    expect(gaps.map(({ from, to, reason }) => [from, to, reason])).toEqual([
      [isoOf(0), isoOf(20), 'import'],
      [isoOf(90), isoOf(120), 'recorder_down'],
      [isoOf(120), isoOf(160), 'import'],
    ])
  })

  test('behavior: X-Coverage sums it up', async () => {
    const { send } = await createMarket()
    const header = async (params: Record<string, number>) =>
      (await send(withParams(PATH, params))).headers.get('x-coverage')
    expect(await header({})).toBe('partial;covered=0.866;gaps=2;reasons="import"')
    expect(await header({ from: at(30), to: at(90) })).toBe('full')
    // The state of 100 s is known then, and the one that prevails a millisecond later is not.
    expect(await header({ from: at(100), to: at(100) + 1 })).toBe('full')
    expect(await header({ from: at(100) + 1, to: at(100) + 3 })).toMatch(/^partial;covered=0\.5;/)
    expect(await header({ from: at(-60), to: at(-30) })).toBe(
      'none;covered=0.0;gaps=2;reasons="not_open"',
    )
  })

  test('behavior: may be kept once the market is closed; 304 until something of it changes', async () => {
    const { history, send } = await createMarket()
    expect((await send(PATH)).headers.get('cache-control')).toBe('private, no-cache')
    await history.close(facts.conditionId)
    const closed = await send(PATH)
    expect(closed.headers.get('cache-control')).toBe('private, max-age=60, immutable')
    const headers = { 'if-none-match': closed.headers.get('etag') ?? '' }
    const again = await send(PATH, { headers })
    expect([again.status, again.headers.get('x-coverage')]).toEqual([
      304,
      closed.headers.get('x-coverage'),
    ])
    const late = rowsAt('down', [130])
    await history.append({ id: 'late', source: 'recorded', snapshots: late })
    expect((await send(PATH, { headers })).status).toBe(200)
  })

  test('behavior: of an open market it ends now; of one to come nothing is asked', async () => {
    const { history, empty } = await createMarketHistory()
    const { send, time } = createHarness({ history })
    const path = `/v1/sol/markets/${empty.conditionId}/coverage`
    const open = (await (await send(path)).json()) as MarketCoverageBody
    expect(open.requested.durationMs).toBe(1000)
    expect(open.outcomes.map(({ gaps }) => gaps.length)).toEqual([1, 1])
    time.nowMs = NOW_MS - 60_000
    const upcoming = await send(path)
    expect(((await upcoming.json()) as MarketCoverageBody).covered).toBeNull()
    expect(upcoming.headers.get('x-coverage')).toBe('none;covered=0.0;gaps=2;reasons="not_open"')
  })

  test('behavior: what a recorder that fell silent misses of an open market is its gap before it notes it', async () => {
    const history = openHistory(':memory:')
    await history.putMarket(facts)
    const snapshots = (['up', 'down'] as const).flatMap((each) => rowsAt(each, everySecond(0, 100)))
    await history.append({ id: 'rows', source: 'recorded', snapshots })
    let silentMs: number | undefined
    const { send, time } = createHarness({ history, silences: silentRecorder(() => silentMs) })
    time.nowMs = at(200)
    const reasonsOf = async () => (await read(send)).outcomes.map(({ gaps }) => gaps.at(-1)?.reason)
    expect(await reasonsOf()).toEqual(['import', 'import'])
    silentMs = at(100)
    expect(await reasonsOf()).toEqual(['recorder_down', 'recorder_down'])
    const days = await (await send(`/v1/btc/coverage?from=${at(0)}&to=${at(1)}`)).text()
    expect(days).toContain('"reason":"recorder_down"')
  })

  test('behavior: of a market of which nothing is known there is nothing to say', async () => {
    const history = openHistory(':memory:')
    const { conditionId } = facts
    await history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })
    const body = await read(createHarness({ history }).send)
    expect(body.requested).toEqual({ from: null, to: null, durationMs: 0 })
    expect(body.outcomes.map(({ covered, intervals }) => [covered, intervals])).toEqual([
      [null, []],
      [null, []],
    ])
  })

  test.each<[string, ErrorCode, number]>([
    [`${PATH}?from=5&to=5`, 'invalid_parameter', 400],
    [`${PATH}?from=-1`, 'invalid_parameter', 400],
    [`${PATH}?from=1.5`, 'invalid_parameter', 400],
    [`${PATH}?to=`, 'invalid_parameter', 400],
    [`${PATH}?outcome=up`, 'invalid_parameter', 400],
    [`${PATH}?from=1&from=1`, 'invalid_parameter', 400],
    ['/v1/btc/markets/0x1/coverage', 'invalid_parameter', 400],
    [`/v1/btc/markets/${conditionIdOf(2)}/coverage`, 'unknown_market', 404],
    [`/v1/eth/markets/${facts.conditionId}/coverage`, 'unknown_market', 404],
    [`/v1/nocoin/markets/${facts.conditionId}/coverage`, 'unknown_coin', 404],
  ])('error: %s is %s', async (path, code, status) => {
    const problem = await readProblem(await (await createMarket()).send(path))
    expect([problem.status, problem.code]).toEqual([status, code])
  })
})
