import { afterEach, describe, expect, test } from 'bun:test'

import type { Gap } from '#src/domain/coverage.ts'
import { AppError } from '#src/domain/errors.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { MarketCursor } from '#src/live/feed.ts'
import { createFanout, type Source, type Subscriber } from '#src/live/group.ts'
import { createRowReader, type LiveRow, START } from '#src/live/rows.ts'

import { aSnapshot, conditionIdOf, getMarket, START_MS } from '../history/books.ts'
import { append, putMarket } from '../support/live-client.ts'

const histories: MarketHistory[] = []
afterEach(() => {
  for (const history of histories.splice(0)) history.dispose()
})

const refuse = () => {
  throw new Error('Only snapshots are followed here.')
}
const noGaps: readonly Gap[] = []

interface Rows extends Source<LiveRow, Rows> {}
type Follower = Subscriber<LiveRow, Rows> & { ids: number[]; faults: unknown[] }

/** Groups whose clock ticks once each time that it is looked at. */
function start() {
  const history = openHistory(':memory:')
  histories.push(history)
  const reader = createRowReader(history, { quotes: refuse, prices: refuse })
  const groups = createFanout<LiveRow, Rows>()
  const damaged = new Set<string>()
  const counts = { reads: 0 }

  function rowsOf(cursor: MarketCursor): Rows {
    return {
      next() {
        const { conditionId } = cursor.market
        const event = cursor.next((query) => {
          counts.reads++
          if (damaged.has(conditionId)) throw new AppError('damaged', 'It is.')
          return reader.after({ ...query, channel: 'snapshots' })
        }, 200)
        return event?.kind === 'rows' ? event.rows.rows : []
      },
      hasMore: false,
      get step() {
        return cursor.step
      },
      fork: () => rowsOf(cursor.fork()),
      stop() {},
    }
  }

  function follow(number = 1, change: (ids: number[]) => void = () => {}): Follower {
    const ids: number[] = []
    const faults: unknown[] = []
    const follower: Follower = {
      ids,
      faults,
      push({ position }) {
        ids.push(position.id)
        change(ids)
        return true
      },
      isFull: false,
      move() {},
      fail: (error) => void faults.push(error),
    }
    const market = getMarket(history, conditionIdOf(number))
    const sources = { findMarket: history.findMarket, gaps: () => noGaps }
    const cursor = new MarketCursor(sources, market, reader.end(market, { channel: 'snapshots' }))
    groups.add(market.conditionId, rowsOf(cursor), follower)
    return follower
  }

  /** As long as so many looks. */
  function tick(looksMax = 2): boolean {
    let looks = 0
    return groups.tick(() => ++looks >= looksMax)
  }
  const settle = () => {
    for (let hasBacklog = true; hasBacklog;) hasBacklog = tick(100)
  }
  return { history, groups, follow, tick, settle, damaged, counts }
}

const write = (history: MarketHistory, index: number, number = 1) =>
  append(history, [
    aSnapshot(
      { conditionId: conditionIdOf(number), timestampMs: START_MS + index },
      (index + 1) * 10_000,
    ),
  ])

describe('createFanout', () => {
  test('default: those in step share what is read, and each gets every row once and in order', async () => {
    const { history, groups, follow, settle, counts } = start()
    await putMarket(history)
    const followers = Array.from({ length: 50 }, () => follow())
    settle()
    expect(groups.counts).toEqual({ groups: 1, subscribers: 50 })
    const before = counts.reads
    for (let index = 0; index < 20; index++) {
      await write(history, index)
      settle()
    }
    expect(counts.reads - before).toBe(20)
    const all = Array.from({ length: 20 }, (_, index) => index + 1)
    for (const { ids } of followers) expect(ids).toEqual(all)
  })

  test('behavior: rows reach many in slices, and the next one goes on where it stopped', async () => {
    const { history, follow, settle, tick } = start()
    await putMarket(history)
    const followers = Array.from({ length: 50 }, () => follow())
    settle()
    const hasBacklog: boolean[] = []
    for (let index = 0; index < 20; index++) {
      await write(history, index)
      hasBacklog.push(tick(1))
    }
    while (followers.some(({ ids }) => ids.length < 20) && hasBacklog.length < 5000)
      hasBacklog.push(tick(1))
    const all = Array.from({ length: 20 }, (_, index) => index + 1)
    for (const { ids } of followers) expect(ids).toEqual(all)
    expect(hasBacklog.length).toBeGreaterThan(20)
    expect([hasBacklog[0], hasBacklog.at(-1)]).toEqual([true, false])
  })

  test('behavior: one that takes no more goes on alone, and joins the others again', async () => {
    const { history, groups, follow, settle } = start()
    await putMarket(history)
    const fast = follow()
    const slow = follow()
    settle()
    const state = { isFull: true, waits: 0 }
    const { push } = slow
    Object.defineProperty(slow, 'isFull', { get: () => state.isFull })
    slow.push = (row) => {
      push(row)
      return false
    }
    for (let index = 0; index < 3; index++) {
      await write(history, index)
      settle()
    }
    expect([fast.ids, slow.ids, groups.counts.groups]).toEqual([[1, 2, 3], [1], 2])
    state.isFull = false
    for (let ticks = 0; ticks < 3; ticks++) settle()
    expect([slow.ids, groups.counts.groups]).toEqual([[1, 2, 3], 1])
  })

  test('behavior: who leaves while rows are handed on gets no more, and the last ends it', async () => {
    const { history, groups, follow, settle } = start()
    await putMarket(history)
    const first: Follower = follow(1, () => groups.leave(second))
    const second: Follower = follow(1, () => groups.leave(first))
    settle()
    await write(history, 0)
    settle()
    expect([first, second].flatMap(({ ids }) => ids)).toEqual([1])
    groups.leave(first)
    groups.leave(second)
    expect(groups.counts).toEqual({ groups: 0, subscribers: 0 })
  })

  test('error: a market that cannot be read says so once, and the others go on', async () => {
    const { history, follow, settle, damaged } = start()
    damaged.add(conditionIdOf(1))
    const followers = await Array.fromAsync([1, 2], async (number) => {
      await putMarket(history, number)
      return follow(number)
    })
    for (const number of [1, 2]) await write(history, 0, number)
    for (let ticks = 0; ticks < 20; ticks++) settle()
    expect(followers.map(({ ids }) => ids.length)).toEqual([0, 1])
    expect(followers.map(({ faults }) => faults)).toEqual([[expect.any(AppError)], []])
  })
})

describe('MarketCursor', () => {
  test('default: a gap comes after the rows before it began, and before the later ones', async () => {
    const { history } = start()
    await putMarket(history)
    for (let index = 0; index < 6; index++) await write(history, index)
    const gap = { outcome: 'up', reason: 'venue_silent', toMs: START_MS + 9 } as const
    const gaps: Gap[] = [2, 4].map((index) => ({ ...gap, fromMs: START_MS + index }))
    const reader = createRowReader(history, { quotes: refuse, prices: refuse })
    const sources = { findMarket: history.findMarket, gaps: () => gaps }
    const cursor = new MarketCursor(sources, getMarket(history), START)
    const told: unknown[] = []
    for (;;) {
      const event = cursor.next((query) => reader.after({ ...query, channel: 'snapshots' }), 2)
      if (event === undefined) break
      if (event.kind === 'gap') told.push(event.gap.fromMs - START_MS)
      else told.push(...event.rows.rows.map(({ position }) => `row ${position.id - 1}`))
    }
    expect(told).toEqual(['row 0', 'row 1', 'row 2', 2, 'row 3', 'row 4', 4, 'row 5'])
    const copy = cursor.fork()
    expect(copy.step).toBe(cursor.step)
  })
})
