import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import {
  coverageOf,
  type CoverageQuestion,
  type Gap,
  type GapReason,
  gapReasons,
  marketSpanOf,
  shareOf,
  silenceMs,
  type Span,
  spanOf,
  tallyCoverage,
} from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'

const START_MS = Date.UTC(2026, 3, 14, 8)
const END_MS = START_MS + 300_000
const LATER_MS = END_MS + 86_400_000

/** A recorded 5-minute market whose both outcomes are held over the whole window. */
function aMarket(changes: Partial<Market> = {}): Market {
  const spans = changes.spans ?? {
    up: { firstMs: START_MS, lastMs: END_MS },
    down: { firstMs: START_MS, lastMs: END_MS },
  }
  const held = outcomes.flatMap((outcome) => spans[outcome] ?? [])
  const isHeld = held.length > 0
  return {
    id: 1,
    revision: 1,
    layout: 1,
    conditionId: `0x${'1'.repeat(64)}`,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: END_MS,
    assetIds: {},
    snapshotCounts: { up: 0, down: 0 },
    verifiedCounts: { up: 0, down: 0 },
    longestSilenceMs: {},
    firstSnapshotMs: isHeld ? Math.min(...held.map(({ firstMs }) => firstMs)) : undefined,
    lastSnapshotMs: isHeld ? Math.max(...held.map(({ lastMs }) => lastMs)) : undefined,
    isClosed: true,
    orderMs: START_MS,
    ...changes,
    spans,
  }
}

const ask = (
  market: Market,
  changes: Partial<Omit<CoverageQuestion, 'market'>> = {},
): CoverageQuestion => ({ market, gaps: [], nowMs: LATER_MS, ...changes })

/** Coverage of up, times in seconds after the window's start, reasons as words. */
function tilesOf(question: CoverageQuestion): string[] {
  const [coverage] = coverageOf({ ...question, outcome: 'up' })
  const { intervals = [], gaps = [] } = coverage ?? {}
  const tiles = [...intervals.map((span) => ({ ...span, reason: 'held' })), ...gaps]
  const second = (timeMs: number) => (timeMs - START_MS) / 1000
  return tiles
    .sort((a, b) => a.fromMs - b.fromMs)
    .map(({ fromMs, toMs, reason }) => `${second(fromMs)}..${second(toMs)} ${reason}`)
}

const at = (seconds: number): number => START_MS + seconds * 1000
const heldOnly = (first: number, last: number): Partial<Market> => ({
  spans: { up: { firstMs: at(first), lastMs: at(last) } },
})
const gap = (from: number, to: number, reason: GapReason): Gap => ({
  outcome: 'up',
  fromMs: at(from),
  toMs: at(to),
  reason,
})

describe('marketSpanOf', () => {
  test('default: the window, and what is held beyond it', () => {
    expect(marketSpanOf(aMarket(heldOnly(10, 20)), LATER_MS)).toEqual({
      fromMs: START_MS,
      toMs: END_MS,
    })
    const wider = aMarket(heldOnly(-60, 310))
    expect(marketSpanOf(wider, LATER_MS)).toEqual({ fromMs: at(-60), toMs: at(310) + 1 })
  })

  test('behavior: without a window it is what is held; without anything it is unknown', () => {
    const windowless = { windowStartMs: undefined, windowEndMs: undefined }
    const market = aMarket({ ...windowless, ...heldOnly(10, 20) })
    expect(marketSpanOf(market, LATER_MS)).toEqual({ fromMs: at(10), toMs: at(20) + 1 })
    expect(marketSpanOf(aMarket({ ...windowless, spans: {} }), LATER_MS)).toBeUndefined()
  })

  test('behavior: of an open market nothing after now, of one to come nothing at all', () => {
    const open = aMarket({ isClosed: false, spans: {} })
    expect(marketSpanOf(open, at(100))).toEqual({ fromMs: START_MS, toMs: at(100) })
    expect(marketSpanOf(open, at(-100))).toEqual({ fromMs: START_MS, toMs: START_MS })
    expect(marketSpanOf({ ...open, isClosed: true }, at(100))?.toMs).toBe(END_MS)
    expect(marketSpanOf({ ...open, winner: 'up' }, at(100))?.toMs).toBe(END_MS)
  })

  test('behavior: what is held is there, even where clocks say that it cannot be yet', () => {
    const ahead = aMarket({ isClosed: false, ...heldOnly(10, 20) })
    expect(marketSpanOf(ahead, at(15))).toEqual({ fromMs: START_MS, toMs: at(20) + 1 })
    expect(marketSpanOf(ahead, at(-60))).toEqual({ fromMs: START_MS, toMs: at(20) + 1 })
  })
})

describe('coverageOf', () => {
  test('default: both outcomes over the life; full where everything is held', () => {
    const span = { fromMs: START_MS, toMs: END_MS + 1 }
    expect(coverageOf(ask(aMarket()))).toEqual(
      outcomes.map((outcome) => ({ outcome, intervals: [span], gaps: [], coveredMs: 300_001 })),
    )
  })

  test.each<[string, CoverageQuestion, string[]]>([
    [
      'a stored gap is cut out',
      ask(aMarket(), { gaps: [gap(10, 20, 'recorder_down')] }),
      ['0..10 held', '10..20 recorder_down', '20..300.001 held'],
    ],
    [
      'gaps of the other outcome are not its own',
      ask(aMarket(), { gaps: [{ ...gap(10, 20, 'import'), outcome: 'down' }] }),
      ['0..300.001 held'],
    ],
    [
      'what is missing at the edges is a gap with the reason of an import',
      ask(aMarket(heldOnly(100, 200))),
      ['0..100 import', '100..200.001 held', '200.001..300 import'],
    ],
    [
      'of a simulation it was the venue',
      ask(aMarket({ ...heldOnly(100, 300), source: 'simulated' })),
      ['0..100 venue_silent', '100..300.001 held'],
    ],
    [
      'a moment of quiet behind the last state is not a gap, nor one before the window',
      ask(aMarket(heldOnly(0, 295))),
      ['0..300 held'],
    ],
    [
      'in the window nothing is in force before the first state',
      ask(aMarket(heldOnly(0.001, 295))),
      ['0..0.001 import', '0.001..300 held'],
    ],
    [
      'a stored gap gives the reason at an edge',
      ask(aMarket(heldOnly(100, 300)), { gaps: [gap(-50, 60, 'recorder_down')] }),
      ['0..60 recorder_down', '60..100 import', '100..300.001 held'],
    ],
    [
      'outside its life the market is not open',
      ask(aMarket(), { fromMs: at(-10), toMs: at(310) }),
      ['-10..0 not_open', '0..300.001 held', '300.001..310 not_open'],
    ],
    [
      'outside what is held of an unknown window is what was imported',
      ask(aMarket({ windowStartMs: undefined, windowEndMs: undefined, ...heldOnly(100, 200) }), {
        fromMs: at(0),
        toMs: at(300),
      }),
      ['0..100 import', '100..200.001 held', '200.001..300 import'],
    ],
    [
      'an outcome without snapshots is one gap',
      ask(aMarket({ spans: { down: { firstMs: START_MS, lastMs: END_MS - 1 } } })),
      ['0..300 import'],
    ],
    [
      'a market of which nothing is known is one gap',
      ask(aMarket({ windowStartMs: undefined, windowEndMs: undefined, spans: {} }), {
        fromMs: at(0),
        toMs: at(1),
      }),
      ['0..1 import'],
    ],
    [
      'of an open market the time since the last snapshot is a gap once it is a silence',
      ask(aMarket({ isClosed: false, ...heldOnly(0, 100) }), { nowMs: at(200) }),
      ['0..100.001 held', '100.001..200 import'],
    ],
    [
      'and nothing of it lies in the future',
      ask(aMarket({ isClosed: false, ...heldOnly(0, 100) }), { nowMs: at(104), toMs: at(110) }),
      ['0..104 held', '104..110 not_open'],
    ],
    [
      'overlapping gaps are one, and the surer reason counts',
      ask(aMarket(), {
        gaps: [
          gap(10, 40, 'import'),
          gap(15, 20, 'hash_mismatch'),
          gap(18, 30, 'recorder_down'),
          gap(35, 50, 'import'),
        ],
      }),
      [
        '0..10 held',
        '10..15 import',
        '15..18 hash_mismatch',
        '18..30 recorder_down',
        '30..50 import',
        '50..300.001 held',
      ],
    ],
    [
      'only the span asked for counts',
      ask(aMarket(), { gaps: [gap(10, 20, 'import')], fromMs: at(15), toMs: at(30) }),
      ['15..20 import', '20..30 held'],
    ],
  ])('behavior: %s', (_, question, tiles) => {
    expect(tilesOf(question)).toEqual(tiles)
  })

  test('property: pieces tile the span, gaps are where the model says, sums agree', () => {
    fc.assert(
      fc.property(questions, (question) => {
        const { fromMs, toMs } = spanOf(question)
        for (const { outcome, intervals, gaps, coveredMs } of coverageOf(question)) {
          const pieces = [...intervals.map((span) => ({ ...span, reason: undefined })), ...gaps]
          pieces.sort((a, b) => a.fromMs - b.fromMs)
          let end = fromMs
          for (const piece of pieces) {
            expect(piece.fromMs).toBe(end)
            expect(piece.toMs).toBeGreaterThan(piece.fromMs)
            for (const moment of [piece.fromMs, piece.toMs - 1]) {
              expect(reasonAt(question, outcome, moment)).toBe(piece.reason)
            }
            end = piece.toMs
          }
          expect(end).toBe(toMs)
          expect(coveredMs).toBe(lengthOf(intervals))
          expect(coveredMs + lengthOf(gaps)).toBe(toMs - fromMs)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('tallyCoverage', () => {
  test('property: adds up what coverageOf lists', () => {
    fc.assert(
      fc.property(questions, (question) => {
        const listed = coverageOf(question)
        const { fromMs, toMs } = spanOf(question)
        fc.pre(toMs > fromMs)
        const tally = tallyCoverage(question)
        const coveredMs = listed.reduce((sum, each) => sum + each.coveredMs, 0)
        const isKnown = question.fromMs !== undefined || question.market.windowEndMs !== undefined
        if (isKnown || coveredMs === 0) {
          expect(tally.totalMs).toBe((toMs - fromMs) * listed.length)
          expect(tally.coveredMs).toBe(coveredMs)
          expect(tally.gaps.has('window_unknown')).toBe(false)
        } else {
          expect([tally.totalMs, tally.coveredMs]).toEqual([0, 0])
          expect(tally.gaps.get('window_unknown')).toEqual({ count: listed.length, ms: 0 })
        }
        for (const reason of gapReasons) {
          const gaps = listed.flatMap((one) => one.gaps.filter((each) => each.reason === reason))
          const expected = { count: gaps.length, ms: lengthOf(gaps) }
          expect(tally.gaps.get(reason) ?? { count: 0, ms: 0 }).toEqual(expected)
        }
      }),
    )
  })

  test('behavior: of a market to come says that it is not open', () => {
    const market = aMarket({ isClosed: false, spans: {} })
    const { coveredMs, gaps } = tallyCoverage(ask(market, { nowMs: at(-60) }))
    expect([coveredMs, [...gaps.keys()]]).toEqual([0, ['not_open']])
  })
})

describe('spanOf', () => {
  test('default: the life; a bound that leaves nothing of it is an empty span there', () => {
    const market = aMarket(heldOnly(0, 200))
    expect(spanOf(ask(market))).toEqual({ fromMs: at(0), toMs: at(300) })
    expect(spanOf(ask(market, { fromMs: at(50) }))).toEqual({ fromMs: at(50), toMs: at(300) })
    expect(spanOf(ask(market, { fromMs: at(400) }))).toEqual({ fromMs: at(400), toMs: at(400) })
    const moment = at(-50) - 1
    expect(spanOf(ask(market, { toMs: at(-50) }))).toEqual({ fromMs: moment, toMs: moment })
  })
})

describe('shareOf', () => {
  test('default: is rounded down, so that all is said of all alone', () => {
    expect([shareOf(1, 3), shareOf(0, 5), shareOf(5, 5), shareOf(0, 0)]).toEqual([
      333_333, 0, 1_000_000, 0,
    ])
    expect(shareOf(8_999_999_999_999, 9_000_000_000_000)).toBe(999_999)
  })
})

const lengthOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)

/** Why nothing is recorded at a moment, from the definition alone; undefined where something is. */
function reasonAt(
  { market, gaps, nowMs }: CoverageQuestion,
  outcome: Outcome,
  timeMs: number,
): GapReason | undefined {
  const order: GapReason[] = [
    'replica_behind',
    'recorder_down',
    'hash_mismatch',
    'venue_restart',
    'venue_silent',
    'import',
    'not_open',
  ]
  const here = gaps.filter(
    (each) => each.outcome === outcome && each.fromMs <= timeMs && timeMs < each.toMs,
  )
  const stored = order.find((reason) => here.some((each) => each.reason === reason))
  if (stored !== undefined) return stored
  const held = market.spans[outcome]
  if (held !== undefined && timeMs >= held.firstMs && timeMs <= held.lastMs) return undefined
  const life = marketSpanOf(market, nowMs)
  if (life === undefined || timeMs < life.fromMs || timeMs >= life.toMs) {
    return market.windowStartMs === undefined ? 'import' : 'not_open'
  }
  const inside = market.source === 'simulated' ? 'venue_silent' : 'import'
  if (held === undefined) return inside
  const isLead = timeMs < held.firstMs
  if (isLead && held.firstMs > (market.windowStartMs ?? Infinity)) return inside
  const edgeMs = isLead ? held.firstMs - life.fromMs : life.toMs - (held.lastMs + 1)
  return edgeMs > silenceMs('5m') ? inside : undefined
}

const second = fc.integer({ min: -40, max: 340 })
const orderedPair = fc.tuple(second, second).map(([a, b]) => (a < b ? [a, b] : [b, a + 1]))
const heldSpan = fc.option(
  orderedPair.map(([first = 0, last = 0]) => ({ firstMs: at(first), lastMs: at(last) })),
  { nil: undefined },
)
const storedGap = fc
  .tuple(orderedPair, fc.constantFrom(...gapReasons), fc.constantFrom(...outcomes))
  .map(([[from = 0, to = 0], reason, outcome]) => ({ ...gap(from, to, reason), outcome }))

const questions: fc.Arbitrary<CoverageQuestion> = fc
  .record({
    spans: fc.record({ up: heldSpan, down: heldSpan }),
    hasWindow: fc.boolean(),
    source: fc.constantFrom('recorded' as const, 'simulated' as const),
    isClosed: fc.boolean(),
    now: fc.integer({ min: -60, max: 400 }),
    gaps: fc.array(storedGap, { maxLength: 12 }),
    range: fc.option(orderedPair, { nil: undefined }),
    outcome: fc.option(fc.constantFrom(...outcomes), { nil: undefined }),
  })
  .map(({ spans, hasWindow, source, isClosed, now, gaps, range, outcome }) => ({
    market: aMarket({
      spans,
      source,
      isClosed,
      ...(hasWindow ? {} : { windowStartMs: undefined, windowEndMs: undefined }),
    }),
    gaps: gaps.sort((a, b) => a.fromMs - b.fromMs),
    outcome,
    fromMs: range === undefined ? undefined : at(range[0] ?? 0),
    toMs: range === undefined ? undefined : at(range[1] ?? 1),
    nowMs: at(now),
  }))
