import { afterEach, describe, expect, test } from 'bun:test'

import { AppError } from '#src/domain/errors.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createHub } from '#src/live/hub.ts'
import { createRowReader, type LiveRow, type RowReader } from '#src/live/rows.ts'

import { aSnapshot, conditionIdOf, getMarket, START_MS } from '../history/books.ts'
import { append, putMarket } from '../support/live-client.ts'

const histories: MarketHistory[] = []
afterEach(() => {
  for (const history of histories.splice(0)) history.dispose()
})

const refuse = () => {
  throw new Error('Only snapshots are followed here.')
}
const filter = { channel: 'snapshots' } as const

/** A hub whose clock ticks once each time that it is looked at. */
function createTickingHub(wrap: (read: RowReader) => RowReader = (read) => read) {
  const history = openHistory(':memory:')
  histories.push(history)
  const read = wrap(createRowReader(history, { quotes: refuse, prices: refuse }))
  let looks = 0
  const hub = createHub({ history, read, clock: () => START_MS, timer: () => ++looks })
  return { history, hub }
}

const idsOf = (rows: readonly LiveRow[]) => rows.map(({ position }) => position.id)

describe('createHub', () => {
  test('behavior: rows reach many in slices; each gets every row once and in order', () => {
    const { history, hub } = createTickingHub()
    putMarket(history)
    const follower = hub.follower(getMarket(history), filter)
    const got = Array.from({ length: 50 }, () => [] as number[])
    for (const ids of got) follower.join((rows) => ids.push(...idsOf(rows)))
    const isOwing: boolean[] = []
    for (let index = 0; index < 20; index++) {
      append(history, [aSnapshot({ timestampMs: START_MS + index }, (index + 1) * 10_000)])
      isOwing.push(hub.wake())
    }
    const all = Array.from({ length: 20 }, (_, index) => index + 1)
    while (got.some((ids) => ids.length < all.length) && isOwing.length < 5000)
      isOwing.push(hub.wake())
    for (const ids of got) expect(ids).toEqual(all)
    expect(isOwing.length).toBeGreaterThan(20)
    expect([isOwing[0], isOwing.at(-1)]).toEqual([true, false])
  })

  test('behavior: who leaves while rows are handed on gets no more, and the last ends it', () => {
    const { history, hub } = createTickingHub()
    putMarket(history)
    const follower = hub.follower(getMarket(history), filter)
    const got: string[] = []
    const second = () => got.push('second')
    const first = () => {
      got.push('first')
      hub.leave(follower, second)
    }
    follower.join(first)
    follower.join(second)
    append(history, [aSnapshot()])
    for (let wakes = 0; wakes < 20; wakes++) hub.wake()
    expect(got).toEqual(['first'])
    hub.leave(follower, first)
    expect(hub.followers).toBe(0)
  })

  test('error: a market that cannot be read says so, and the others go on', () => {
    const { history, hub } = createTickingHub((read) => ({
      ...read,
      after(query) {
        if (query.market.conditionId === conditionIdOf(1)) throw new AppError('damaged', 'It is.')
        return read.after(query)
      },
    }))
    const got: unknown[] = []
    for (const number of [1, 2]) {
      putMarket(history, number)
      const follower = hub.follower(getMarket(history, conditionIdOf(number)), filter)
      follower.join(
        (rows) => got.push(...idsOf(rows)),
        ({ code }) => got.push(code),
      )
      append(history, [aSnapshot({ conditionId: conditionIdOf(number) })])
    }
    for (let wakes = 0; wakes < 20; wakes++) hub.wake()
    expect(got.toSorted()).toEqual([2, 'damaged'])
  })
})
