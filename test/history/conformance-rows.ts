/**
 * The conformance suite's part on single rows: the last before a moment, by
 * id, and one text after the other.
 */
import { describe, expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  getMarket,
  simulatedSnapshots,
  someSnapshots,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'
import { rowsText } from './history-model.ts'
import { pageOf, textOf } from './pages.ts'

const orders = ['asc', 'desc'] as const
const ROWS = 250

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')

/** Appends rows of market 1 and returns them as they must be held. */
const fill = async (history: MarketHistory): Promise<StoredSnapshot[]> => {
  const sourceHash = 'ab'.repeat(20)
  const rows = someSnapshots(ROWS).map((row, at) => (at % 3 === 0 ? { ...row, sourceHash } : row))
  await appendAll(history, rows)
  return rows.map((row, at) => ({ ...row, id: at + 1 }))
}

const emptyMarket = async (history: MarketHistory): Promise<string> => {
  const { coin, timeframe, conditionId } = aSnapshot({ conditionId: conditionIdOf(2) })
  await history.putMarket({ coin, timeframe, conditionId, source: 'simulated' })
  return conditionId
}

export function conformRows(use: Use): void {
  describe('at and latest', () => {
    conformAt(use)
    conformAtEdges(use)
  })
  describe('times of receipt', () => {
    conformReceived(use)
  })
  describe('findPosition', () => {
    conformFindPosition(use)
  })
  describe('texts', () => {
    conformTexts(use)
  })
}

function conformReceived(use: Use): void {
  const rows = someSnapshots(ROWS).map((row, at) =>
    at % 4 === 0 ? row : { ...row, receivedMs: row.timestampMs + 40 - at },
  )
  const timesOf = (list: readonly { receivedMs?: number | undefined }[]) =>
    list.map(({ receivedMs }) => receivedMs)
  const queries = [undefined, ...outcomes].flatMap((outcome) =>
    orders.map((order) => ({ outcome, order, limit: 1000 })),
  )

  test.each(queries)(
    'default: pages, steps and tops have them where they are asked for: %p',
    (asked) =>
      use(async (history) => {
        await appendAll(history, rows)
        const query = { ...asked, market: getMarket(history) }
        const own = rows.filter((row) => (asked.outcome ?? row.outcome) === row.outcome)
        const times = timesOf(asked.order === 'asc' ? own : own.toReversed())
        expect(history.page(query).received).toEqual([])
        expect(history.page({ ...query, withReceived: true }).received).toEqual(times)
        // A step holds one row of an outcome, and the last ones may not be over.
        const page = history.page({ ...query, stepMs: 1000, withReceived: true })
        expect(page.received).toHaveLength(page.count)
        expect(times.join()).toContain(page.received.join())
        expect(timesOf(history.tops({ ...query, withReceived: true }))).toEqual(times)
        for (const top of history.tops(query)) expect(top).not.toHaveProperty('receivedMs')
      })(),
  )

  test(
    'default: single rows and streams have them',
    use(async (history) => {
      await appendAll(history, rows)
      const market = getMarket(history)
      for (const { outcome, timestampMs, receivedMs } of rows) {
        expect(history.at({ market, outcome, timestampMs })?.receivedMs()).toBe(receivedMs)
      }
      expect(timesOf([...snapshotRuns(history, { market })].flat())).toEqual(timesOf(rows))
    }),
  )
}

function conformAt(use: Use): void {
  test(
    'default: gives the last row at or before a moment, never one after, with its text and hash',
    use(async (history) => {
      const rows = await fill(history)
      const market = getMarket(history)
      for (const outcome of outcomes) {
        const own = rows.filter((row) => row.outcome === outcome)
        for (const row of [0, 1, 50, 99, 100, 101, 198, 199, 200, 201, 248, 249]) {
          for (const step of [-1, 0, 1]) {
            const timestampMs = START_MS + row * 1000 + step
            const expected = own.findLast((candidate) => candidate.timestampMs <= timestampMs)
            const found = history.at({ market, outcome, timestampMs })
            expect(found?.snapshot()).toEqual(expected)
            if (found === undefined || expected === undefined) continue
            expect(toText(found.text())).toBe(rowsText([expected]))
            const { id } = expected
            expect(found).toMatchObject({ id, timestampMs: expected.timestampMs })
          }
        }
        expect(history.latest({ market, outcome })?.snapshot()).toEqual(own.at(-1))
      }
    }),
  )

  test(
    'behavior: of several rows of one moment the last accepted is in force',
    use(async (history) => {
      await appendAll(history, [aSnapshot({}, 1), aSnapshot({}, 2), aSnapshot({}, 3)])
      const query = { market: getMarket(history), outcome: 'up', timestampMs: START_MS } as const
      expect(history.at(query)?.id).toBe(3)
      expect(history.at({ ...query, timestampMs: START_MS - 1 })).toBeUndefined()
      expect(history.latest({ ...query, outcome: 'down' })).toBeUndefined()
    }),
  )
}

function conformAtEdges(use: Use): void {
  test(
    'behavior: a market without rows has none at any moment',
    use(async (history) => {
      const market = getMarket(history, await emptyMarket(history))
      expect(history.at({ market, outcome: 'up', timestampMs: START_MS })).toBeUndefined()
      expect(history.latest({ market, outcome: 'up' })).toBeUndefined()
    }),
  )

  test(
    'behavior: goes back over any number of rows of the other outcome',
    use(async (history) => {
      const { assetId } = aSnapshot({ outcome: 'down' })
      const downs = someSnapshots(330, { outcome: 'down', assetId })
      await appendAll(history, [aSnapshot({ timestampMs: START_MS + 500 }), ...downs])
      const market = getMarket(history)
      expect(history.latest({ market, outcome: 'up' })?.id).toBe(1)
      const timestampMs = START_MS + 499
      expect(history.at({ market, outcome: 'up', timestampMs })).toBeUndefined()
    }),
  )

  test(
    'behavior: stays the same, hash included, when rows come late around it',
    use(async (history) => {
      const rows = await fill(history)
      const query = { market: getMarket(history), outcome: 'up', timestampMs: START_MS } as const
      const late = [aSnapshot({ timestampMs: START_MS + 1, outcome: 'down' }, 77)]
      await appendAll(history, [...late, aSnapshot({ timestampMs: START_MS - 1 }, 78)])
      await history.close(conditionIdOf(1))
      expect(history.at(query)?.snapshot()).toEqual(rows[0])
    }),
  )
}

function conformFindPosition(use: Use): void {
  test(
    'default: gives the time of every id of the market',
    use(async (history) => {
      const rows = await fill(history)
      const market = getMarket(history)
      for (const { id, timestampMs } of rows.filter((_, at) => at % 9 === 0))
        expect(history.findPosition(market, id)).toEqual({ id, timestampMs })
    }),
  )

  test(
    'behavior: finds rows that came late, whose ids do not rise with their times',
    use(async (history) => {
      const rows = await fill(history)
      const late = [1500, 500, 120_500].map((afterMs) =>
        aSnapshot({ timestampMs: START_MS + afterMs }, 5),
      )
      await appendAll(history, late)
      const market = getMarket(history)
      const expected = late.map(({ timestampMs }, at) => ({ timestampMs, id: ROWS + 1 + at }))
      expect(expected.map(({ id }) => history.findPosition(market, id))).toEqual(expected)
      expect(history.findPosition(market, ROWS)?.timestampMs).toBe(rows.at(-1)?.timestampMs)
    }),
  )

  test(
    'behavior: an id of another market, of none, or in a market without rows has no position',
    use(async (history) => {
      await fill(history)
      await appendAll(history, [aSnapshot({ conditionId: conditionIdOf(3) })])
      const market = getMarket(history)
      for (const id of [0, -1, ROWS + 1, ROWS + 2, 0.5, Number.MAX_SAFE_INTEGER])
        expect([id, history.findPosition(market, id)]).toEqual([id, undefined])
      expect(
        history.findPosition(getMarket(history, await emptyMarket(history)), 1),
      ).toBeUndefined()
    }),
  )
}

function conformTexts(use: Use): void {
  test(
    'default: gives each row of the page as the page has it, in both orders, in steps and without',
    use(async (history) => {
      const rows = simulatedSnapshots('texts', 450)
      await appendAll(history, rows)
      const conditionId = rows[0]?.conditionId
      for (const order of orders) {
        for (const outcome of [undefined, ...outcomes]) {
          for (const stepMs of [undefined, 1, 1000, 10_000]) {
            const query = { conditionId, order, outcome, stepMs, limit: 777 }
            const joined = Array.from(pageOf(history, query).texts(), toText).join(',')
            expect(`[${joined}]` === textOf(history, query)).toBe(true)
          }
        }
      }
    }),
  )

  test(
    'behavior: a text stays valid while other pages are read and other texts are walked through',
    use(async (history) => {
      await fill(history)
      const expected: string[] = JSON.parse(textOf(history, { order: 'asc', limit: 200 })).map(
        (row: unknown) => JSON.stringify(row),
      )
      const others = pageOf(history, { order: 'desc', limit: 200 }).texts()[Symbol.iterator]()
      let at = 0
      for (const text of pageOf(history, { order: 'asc', limit: 200 }).texts()) {
        others.next()
        if (at % 50 === 0) textOf(history, { order: 'asc', stepMs: 5000, limit: 50 })
        expect(JSON.parse(toText(text))).toEqual(JSON.parse(expected[at++] ?? ''))
      }
      expect(at).toBe(200)
    }),
  )

  test(
    'behavior: a walk that is left early leaves nothing behind',
    use(async (history) => {
      await fill(history)
      const query = { order: 'asc', limit: 150 } as const
      const whole = textOf(history, query)
      for (const text of pageOf(history, query).texts()) {
        expect(text.length).toBeGreaterThan(100)
        break
      }
      const joined = Array.from(pageOf(history, query).texts(), toText).join(',')
      expect(`[${joined}]` === whole).toBe(true)
      expect([...pageOf(history, { ...query, toMs: START_MS }).texts()]).toEqual([])
    }),
  )
}
