import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { withDowntime } from '#src/history/reads/with-downtime.ts'
import { MarketCursor } from '#src/live/feed.ts'
import { START } from '#src/live/rows.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { silentRecorder } from '../support/silences.ts'

const END_MS = START_MS + 300_000
const LAST_MS = START_MS + 1000
const openGap = { reason: 'recorder_down', toMs: ENDLESS_MS } as const
const afterLast = { outcome: 'up', fromMs: LAST_MS + 1, ...openGap } as const
const ofDown = { outcome: 'down', fromMs: START_MS, ...openGap } as const

let history: MarketHistory
let time: { nowMs: number; silentMs: number | undefined }
let cursor: MarketCursor
const market = () => {
  const found = history.findMarket(conditionIdOf(1))
  if (found === undefined) throw new Error('It was put.')
  return found
}
const record = (timestampMs: number) =>
  history.record({ snapshots: [aSnapshot({ outcome: 'up', timestampMs })], trades: [], gaps: [] })
/** The gaps that come next; rows are not looked at here. */
const take = () => {
  const gaps: Gap[] = []
  for (;;) {
    const event = cursor.next(({ after }) => ({ resume: after, hasMore: false }), 1)
    if (event === undefined) return gaps
    if (event.kind === 'gap') gaps.push(event.gap)
  }
}

beforeEach(async () => {
  history = openHistory(':memory:', { lagMs: 0 })
  time = { nowMs: LAST_MS + 10_000, silentMs: undefined }
  await history.putMarket({
    conditionId: conditionIdOf(1),
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: END_MS,
  })
  await record(LAST_MS)
  const view = withDowntime(history, {
    clock: () => time.nowMs,
    silences: silentRecorder(() => time.silentMs),
  })
  cursor = new MarketCursor(view, market(), START)
})
afterEach(() => history.dispose())

describe('gaps of streams', () => {
  test('default: a recorder that is silent leaves what it notes later, told once', async () => {
    expect(take()).toEqual([])
    time.silentMs = LAST_MS + 500
    expect(take()).toEqual([ofDown, afterLast])
    expect(take()).toEqual([])
    // It runs again, and has not begun with the market.
    time.silentMs = undefined
    expect(take()).toEqual([])
    const { conditionId } = market()
    const opened = [afterLast, ofDown].map(
      (gap) => ({ kind: 'opened', conditionId, gap: { ...gap } }) as const,
    )
    await history.record({ snapshots: [], trades: [], gaps: opened })
    expect(take()).toEqual([])
    const ended = { kind: 'ended', conditionId, outcome: 'up', atMs: LAST_MS + 9000 } as const
    await history.record({ snapshots: [], trades: [], gaps: [ended] })
    expect(take()).toEqual([{ ...afterLast, toMs: LAST_MS + 9000 }])
  })

  test('behavior: what was missing after all is none is told as empty', async () => {
    time.silentMs = LAST_MS + 500
    take()
    time.silentMs = undefined
    await record(LAST_MS + 200)
    expect(take()).toEqual([{ ...afterLast, toMs: afterLast.fromMs }])
  })

  test('behavior: a state of a recorder that runs again is not before a gap', async () => {
    time.silentMs = LAST_MS + 500
    take()
    await record(LAST_MS + 9000)
    const isOwn = ({ outcome, reason }: Gap) => outcome === 'up' && reason === 'recorder_down'
    expect(take().filter(isOwn)).toEqual([{ ...afterLast, toMs: afterLast.fromMs }])
  })

  test('behavior: it ends with the window, and begins in none that was over before', () => {
    time.silentMs = LAST_MS + 500
    take()
    time.nowMs = END_MS + 1
    expect(take()).toEqual([
      { ...ofDown, toMs: END_MS },
      { ...afterLast, toMs: END_MS },
    ])
    const later = withDowntime(history, {
      clock: () => END_MS + 1,
      silences: silentRecorder(() => END_MS),
    })
    expect(later.gaps(market())).toEqual([])
  })

  test('behavior: a window that begins while a recorder is silent is a gap of it', async () => {
    const startMs = LAST_MS + 9000
    const facts = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
    const conditionId = conditionIdOf(2)
    const window = { windowStartMs: startMs, windowEndMs: startMs + 300_000 }
    await history.putMarket({ conditionId, ...facts, ...window })
    time.silentMs = LAST_MS + 500
    const later = history.findMarket(conditionId)
    const view = withDowntime(history, {
      clock: () => time.nowMs,
      silences: silentRecorder(() => time.silentMs),
    })
    const gaps = later && view.gaps(later)
    expect(gaps).toEqual(
      (['up', 'down'] as const).map((outcome) => ({ outcome, fromMs: startMs, ...openGap })),
    )
  })

  test('behavior: a quiet outcome is no gap while another recorder has the market', async () => {
    time.silentMs = LAST_MS + 500
    expect(take()).toEqual([ofDown, afterLast])
    // Of up alone: nothing changed in the book of down.
    await record(LAST_MS + 9000)
    expect(take()).toContainEqual({ ...ofDown, toMs: ofDown.fromMs })
    const isOpen = ({ reason, toMs }: Gap) => reason === 'recorder_down' && toMs === ENDLESS_MS
    const view = withDowntime(history, {
      clock: () => time.nowMs,
      silences: silentRecorder(() => time.silentMs),
    })
    expect(view.gaps(market()).filter(isOpen)).toEqual([])
  })
})
