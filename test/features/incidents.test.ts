import { describe, expect, test } from 'bun:test'

import { Value } from '@sinclair/typebox/value'

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Coin, MarketFacts } from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { type IncidentBody, IncidentList } from '#src/features/incidents/schema.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, assetIdOf, conditionIdOf } from '../history/books.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem, type Send, withParams } from '../support/page-client.ts'
import { createSilences } from '../support/silences.ts'

const PATH = '/v1/incidents'
const LENGTH_MS = 300_000
const START_MS = NOW_MS - (NOW_MS % DAY_MS) - DAY_MS
const iso = (timeMs: number): string => new Date(timeMs).toISOString()

type Draft = { window?: number; coin?: Coin; gaps?: readonly Omit<Gap, 'outcome'>[] }

let made = 0

/** A recorded market of five minutes with a book at each end, and gaps of both outcomes. */
async function addMarket(history: MarketHistory, { window = 0, coin = 'btc', gaps = [] }: Draft) {
  const conditionId = conditionIdOf(++made)
  const windowStartMs = START_MS + window * LENGTH_MS
  const windowEndMs = windowStartMs + LENGTH_MS
  const facts: MarketFacts = { conditionId, coin, timeframe: '5m', source: 'recorded' }
  await history.putMarket({ ...facts, windowStartMs, windowEndMs })
  const outcomes = ['up', 'down'] as const
  await history.record({
    snapshots: outcomes.map((outcome, index) => {
      const assetId = assetIdOf(conditionId, outcome)
      return aSnapshot(
        { ...facts, outcome, assetId, timestampMs: windowStartMs },
        1_000_000 + index,
      )
    }),
    trades: [],
    gaps: [],
  })
  const noted = outcomes.flatMap((outcome) => gaps.map((gap): Gap => ({ ...gap, outcome })))
  await history.putGaps(conditionId, noted)
}

async function createServer(...drafts: Draft[]) {
  const history = openHistory(':memory:')
  for (const draft of drafts) await addMarket(history, draft)
  return createHarness({ history })
}

async function read(send: Send, params: Record<string, string | number> = {}) {
  const response = await send(withParams(PATH, params))
  const body: unknown = await response.json()
  expect([response.status, ...Value.Errors(IncidentList, body)]).toEqual([200])
  return (body as { data: IncidentBody[] }).data
}

/** A gap some seconds after the start of the first window. */
const gapAt = (from: number, to: number, reason: Gap['reason']): Omit<Gap, 'outcome'> => ({
  fromMs: START_MS + from * 1000,
  toMs: START_MS + to * 1000,
  reason,
})
const spansOf = (incidents: readonly IncidentBody[]) =>
  incidents.map(({ cause, from, to }) => [
    cause,
    (Date.parse(from) - START_MS) / 1000,
    to === null ? null : (Date.parse(to) - START_MS) / 1000,
  ])

describe('GET /v1/incidents', () => {
  test('default: gaps of one outage are one incident, with all markets that it affected', async () => {
    const { sendAs } = await createServer(
      { gaps: [gapAt(100, 300, 'recorder_down')] },
      { coin: 'eth', gaps: [gapAt(98, 300, 'recorder_down')] },
      { window: 1, gaps: [gapAt(300, 420, 'recorder_down')] },
      { window: 5 },
    )
    const send: Send = (path, init) => sendAs(undefined, path, init)
    expect(await read(send)).toEqual([
      {
        id: `recorder_down-${START_MS + 98_000}`,
        source: 'recorder',
        cause: 'recorder_down',
        from: iso(START_MS + 98_000),
        to: iso(START_MS + 420_000),
        durationMs: 322_000,
        markets: 3,
        affected: [
          {
            symbol: 'eth',
            timeframe: '5m',
            markets: 1,
            firstWindow: iso(START_MS),
            lastWindow: iso(START_MS),
          },
          {
            symbol: 'btc',
            timeframe: '5m',
            markets: 2,
            firstWindow: iso(START_MS),
            lastWindow: iso(START_MS + LENGTH_MS),
          },
        ],
      },
    ])
  })

  test('behavior: other causes and times are other incidents, newest first; short ones are none', async () => {
    const { send } = await createServer({
      gaps: [
        gapAt(10, 20, 'recorder_down'),
        gapAt(30, 40, 'venue_restart'),
        gapAt(50, 60, 'recorder_down'),
        gapAt(70, 74, 'recorder_down'),
        gapAt(80, 120, 'hash_mismatch'),
        gapAt(130, 160, 'import'),
      ],
    })
    expect(spansOf(await read(send))).toEqual([
      ['recorder_down', 50, 60],
      ['venue_restart', 30, 40],
      ['recorder_down', 10, 20],
    ])
  })

  test('behavior: the venue is silent where all that is open is, and not where one market is', async () => {
    const { send } = await createServer(
      { gaps: [gapAt(10, 100, 'venue_silent')] },
      { coin: 'eth', gaps: [gapAt(40, 80, 'venue_silent')] },
      { coin: 'sol', window: 1, gaps: [gapAt(310, 400, 'venue_silent')] },
    )
    expect(spansOf(await read(send))).toEqual([['venue_silent', 40, 80]])
  })

  test('behavior: an outage that goes on has no end', async () => {
    const history = openHistory(':memory:')
    const window = Math.floor((NOW_MS - START_MS) / LENGTH_MS)
    const fromMs = NOW_MS - 10_000
    await addMarket(history, {
      window,
      gaps: [{ fromMs, toMs: ENDLESS_MS, reason: 'recorder_down' }],
    })
    const { send, advance } = createHarness({ history })
    expect(await read(send)).toMatchObject([{ from: iso(fromMs), to: null, durationMs: null }])
    // A gap without an end reaches no further than its window.
    advance(LENGTH_MS)
    const endMs = START_MS + (window + 1) * LENGTH_MS
    expect(await read(send)).toMatchObject([{ from: iso(fromMs), to: iso(endMs) }])
  })

  test('behavior: while the recorder is silent, an outage goes on after the last known window', async () => {
    const { since, silences } = createSilences()
    const history = openHistory(':memory:')
    await addMarket(history, {})
    const { send } = createHarness({ history, silences })
    since.recorder = START_MS + 1000
    expect(spansOf(await read(send))).toEqual([['recorder_down', 0.001, null]])
    since.recorder = undefined
    expect(spansOf(await read(send))).toEqual([['recorder_down', 0.001, 300]])
  })

  test('behavior: a window that begins later does not change when an outage began', async () => {
    const { send } = await createServer(
      { gaps: [gapAt(100, 300, 'recorder_down')] },
      { window: 1, gaps: [gapAt(95, 420, 'recorder_down')] },
      { window: 4, gaps: [gapAt(1000, 1100, 'recorder_down')] },
    )
    expect(spansOf(await read(send))).toEqual([['recorder_down', 100, 420]])
  })

  test('behavior: `from` and `to` choose what overlaps them', async () => {
    const { send } = await createServer({ gaps: [gapAt(100, 200, 'recorder_down')] })
    const countAt = async (from: number, to: number) =>
      (await read(send, { from: START_MS + from * 1000, to: START_MS + to * 1000 })).length
    expect(await countAt(0, 100)).toBe(0)
    expect(await countAt(0, 101)).toBe(1)
    expect(await countAt(199, 300)).toBe(1)
    expect(await countAt(200, 300)).toBe(0)
  })

  test('default: as a feed, by parameter or by `Accept`', async () => {
    const { send } = await createServer({ gaps: [gapAt(10, 20, 'venue_restart')] })
    const byFormat = await send(withParams(PATH, { format: 'atom' }))
    const accept = 'application/atom+xml'
    const byAccept = await send(PATH, { headers: { accept } })
    for (const response of [byFormat, byAccept]) {
      expect(response.headers.get('content-type')).toBe(accept)
      expect(response.headers.get('vary')).toContain('Accept,')
    }
    const text = await byFormat.text()
    expect(await byAccept.text()).toBe(text)
    const id = `urn:bookfeed:incident:venue_restart-${START_MS + 10_000}`
    const valuesOf = (tag: string) =>
      [...text.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map(([, value]) => value)
    expect(valuesOf('id')).toEqual(['urn:bookfeed:incidents', id])
    expect(valuesOf('title')).toEqual(['Incidents of a Bookfeed server', 'The venue restarted'])
    expect(valuesOf('updated')).toEqual([iso(START_MS + 20_000), iso(START_MS + 20_000)])
    expect(valuesOf('published')).toEqual([iso(START_MS + 10_000)])
    // An entry without a link must have a content (RFC 4287, 4.1.2).
    expect(valuesOf('content')).toEqual([
      `From ${iso(START_MS + 10_000)} to ${iso(START_MS + 20_000)}: 1 market (btc 5m).`,
    ])
  })

  test.each([
    ['to', { from: START_MS, to: START_MS }],
    ['to', { from: START_MS - 40 * DAY_MS, to: START_MS }],
    ['format', { format: 'rss' }],
    ['coin', { coin: 'btc' }],
  ])('error: names the parameter `%s`', async (name, params) => {
    const { send } = await createServer()
    const problem = await readProblem(await send(withParams(PATH, params)))
    expect([problem.code, problem.param]).toEqual(['invalid_parameter', name])
  })
})
