/** The conformance suite's part on what goes in: batches, ids, duplicates, conflicts, order. */
import { describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import {
  appendAll,
  aSnapshot,
  assetIdOf,
  conditionIdOf,
  getMarket,
  simulatedSnapshots,
  someSnapshots,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'
import { rowsText } from './history-model.ts'
import { idsOf, textOf } from './pages.ts'

const HASH = 'ab'.repeat(20)
const OTHER_HASH = 'cd'.repeat(20)

type Served = { id: string; timestamp: string }

const served = (history: MarketHistory, conditionId?: string): Served[] =>
  JSON.parse(textOf(history, { conditionId, order: 'asc', limit: 1000 }))

/** Sorted; none while the market is unknown. */
const idsHeld = (history: MarketHistory): number[] =>
  history.findMarket(conditionIdOf(1)) === undefined
    ? []
    : idsOf(history, { order: 'asc', limit: 1000 })

export function conformAppend(use: Use): void {
  describe('append', () => {
    conformBatches(use)
    conformIds(use)
    conformDuplicates(use)
    conformMoments(use)
    conformConflicts(use)
    conformOrder(use)
  })
}

function conformBatches(use: Use): void {
  test(
    'default: keeps a batch and says what became of it, now and later',
    use(async (history) => {
      const batch = { id: 'one', source: 'recorded', snapshots: someSnapshots(3) } as const
      expect(history.findBatch('one')).toBeUndefined()
      expect(await history.append(batch)).toEqual({ kind: 'appended', accepted: 3, duplicates: 0 })
      expect(history.findBatch('one')).toEqual({ accepted: 3, duplicates: 0 })
      expect(history.totals()).toMatchObject({ markets: 1, snapshots: 3 })
    }),
  )

  test(
    'behavior: a batch id that was applied changes nothing, whatever it now brings',
    use(async (history) => {
      const snapshots = someSnapshots(3)
      await history.append({
        id: 'one',
        source: 'simulated',
        snapshots: [...snapshots, aSnapshot()],
      })
      const before = [getMarket(history), served(history)]
      const counts = { accepted: 4, duplicates: 0 }
      for (const again of [
        snapshots,
        [],
        [aSnapshot({ timestampMs: 0 })],
        [aSnapshot({ coin: 'eth' })],
      ]) {
        const result = await history.append({ id: 'one', source: 'simulated', snapshots: again })
        expect(result).toEqual({ kind: 'already_applied', ...counts })
      }
      expect([getMarket(history), served(history)]).toEqual(before)
    }),
  )

  test(
    'behavior: an empty batch is applied and touches no market',
    use(async (history) => {
      expect(await appendAll(history, [])).toEqual({ kind: 'appended', accepted: 0, duplicates: 0 })
      expect(history.totals()).toMatchObject({ markets: 0, snapshots: 0 })
    }),
  )

  test(
    'behavior: ids of one hundred characters, of quotes and of other scripts name different batches',
    use(async (history) => {
      const ids = [
        'a'.repeat(100),
        'a'.repeat(99),
        "'; DROP TABLE chunk; --",
        'é',
        'e\u0301',
        'A',
        'a',
      ]
      for (const [at, id] of ids.entries()) {
        const snapshots = [aSnapshot({ timestampMs: START_MS + at })]
        const result = await history.append({ id, source: 'simulated', snapshots })
        expect([id, result.kind]).toEqual([id, 'appended'])
      }
      for (const id of ids) expect(history.findBatch(id)).toEqual({ accepted: 1, duplicates: 0 })
    }),
  )
}

function conformIds(use: Use): void {
  test(
    'behavior: ids rise strictly in the order of the batch, across markets, times and batches',
    use(async (history) => {
      const order = [3, 0, 2, 1]
      const first = order.map((second) => aSnapshot({ timestampMs: START_MS + second * 1000 }))
      await appendAll(
        history,
        first.flatMap((row) => [row, ofMarket(2, row.timestampMs)]),
      )
      const byTime = (conditionId?: string) =>
        served(history, conditionId).map(({ id }) => Number(id))
      const [id0 = 0, id1 = 0, id2 = 0, id3 = 0] = byTime()
      const [other0 = 0, other1 = 0, other2 = 0, other3 = 0] = byTime(conditionIdOf(2))
      const inBatch = [id3, other3, id0, other0, id2, other2, id1, other1]
      expect(inBatch).toEqual(inBatch.toSorted((a, b) => a - b))
      await appendAll(history, [aSnapshot({ timestampMs: START_MS - 1 })])
      expect(byTime()[0]).toBeGreaterThan(Math.max(...inBatch))
    }),
  )

  test(
    'behavior: no id is used twice, also when batches fail between others',
    use(async (history) => {
      const rows = someSnapshots(90)
      for (let at = 0; at < rows.length; at += 10) {
        const fresh = rows.slice(at, at + 10)
        const before = idsHeld(history)
        const conflict = aSnapshot({ timestampMs: START_MS + 1e6, coin: 'eth' })
        if (at > 0) await expect(appendAll(history, [...fresh, conflict])).rejects.toThrow('coin')
        await appendAll(history, fresh)
        const after = idsHeld(history)
        expect(after.slice(0, before.length)).toEqual(before)
        expect(new Set(after).size).toBe(at + 10)
      }
      expect([...history.verify()]).toEqual([])
    }),
  )
}

/** The same row in another market. */
const inMarket = (number: number, row: Snapshot): Snapshot => {
  const conditionId = conditionIdOf(number)
  return { ...row, conditionId, assetId: assetIdOf(conditionId, row.outcome) }
}

const ofMarket = (number: number, timestampMs: number): Snapshot =>
  inMarket(number, aSnapshot({ timestampMs }))

function conformDuplicates(use: Use): void {
  const cases: [string, Snapshot, Snapshot, boolean][] = [
    ['the same levels', aSnapshot(), aSnapshot(), true],
    ['the same levels under another hash', hashed(HASH, 1), hashed(OTHER_HASH, 1), false],
    ['the same levels without a hash', verified(hashed(HASH, 1)), aSnapshot({}, 1), true],
    ['the same levels without a hash, unverified', hashed(HASH, 1), aSnapshot({}, 1), false],
    ['the same hash with other levels, unverified', hashed(HASH, 1), hashed(HASH, 2), false],
    ['the same hash with other levels', verified(hashed(HASH, 1)), hashed(HASH, 2), true],
    [
      'the same levels, verified under another hash',
      verified(hashed(HASH, 1)),
      verified(hashed(OTHER_HASH, 1)),
      true,
    ],
    ['other levels without a hash', aSnapshot({}, 1), aSnapshot({}, 2), false],
    ['other levels under another hash', hashed(HASH, 1), hashed(OTHER_HASH, 2), false],
    ['the same levels at another time', aSnapshot(), aSnapshot({ timestampMs: 5 }), false],
    [
      'the same levels and hash of the other outcome',
      hashed(HASH, 1),
      downOf(hashed(HASH, 1)),
      false,
    ],
    [
      'one level less',
      aSnapshot(),
      aSnapshot({ bids: { prices: [500_000], sizes: [1_000_000] } }),
      false,
    ],
  ]
  for (const [name, first, second, isDuplicate] of cases) {
    const counts = { accepted: isDuplicate ? 0 : 1, duplicates: isDuplicate ? 1 : 0 }
    test(
      `behavior: ${name} at the same time: ${isDuplicate ? 'a duplicate' : 'kept'}, whether open, sealed or in one batch`,
      use(async (history) => {
        await appendAll(history, [first])
        expect(await appendAll(history, [second])).toEqual({ kind: 'appended', ...counts })
        const one = inMarket(3, first)
        const two = inMarket(3, second)
        expect(await appendAll(history, [one, two])).toMatchObject({
          accepted: 1 + counts.accepted,
        })
        await appendAll(history, [inMarket(4, first)])
        await history.close(conditionIdOf(4))
        expect(await appendAll(history, [inMarket(4, second)])).toMatchObject(counts)
        // A made-up hash is none that a book reproduces.
        const faults = [...history.verify()].filter((fault) => !fault.includes('verdict'))
        expect(faults).toEqual([])
      }),
    )
  }

  test(
    'behavior: late duplicates are found wherever they lie, among hundreds of rows',
    use(async (history) => {
      const rows = simulatedSnapshots('duplicates', 450)
      await appendAll(history, rows)
      const random = createRandom('late')
      const again = Array.from({ length: 60 }, () => random.pick(rows))
      const fresh = again.map((row, at) => ({
        ...row,
        timestampMs: row.timestampMs - 100_000_000 - at,
      }))
      const mixed = again.flatMap((row, at) => [row, fresh[at] ?? row])
      expect(await appendAll(history, mixed)).toEqual({
        kind: 'appended',
        accepted: 60,
        duplicates: 60,
      })
    }),
  )
}

function conformMoments(use: Use): void {
  test(
    'behavior: where a hash proves none of its books, the one after all changes of the millisecond is last',
    use(async (history) => {
      const books = [2, 1, 3].map((size, sequence) => ({
        ...hashed(HASH, size),
        sequence,
        receivedMs: START_MS + sequence,
      }))
      const orders = [
        [0, 1, 2],
        [2, 1, 0],
        [1, 2, 0, 1],
      ]
      for (const [index, order] of orders.entries()) {
        const conditionId = conditionIdOf(index + 1)
        for (const at of order)
          await appendAll(history, [inMarket(index + 1, books[at] ?? aSnapshot())])
        const sizes = [...snapshotRuns(history, { market: getMarket(history, conditionId) })]
          .flat()
          .map(({ bids }) => bids.sizes[0])
        expect(sizes).toEqual(books.map(({ bids }) => bids.sizes[0]))
        // Once a hash proves one, the others were none.
        await appendAll(history, [verified(inMarket(index + 1, books[1] ?? aSnapshot()))])
        expect(getMarket(history, conditionId).snapshotCounts).toEqual({ up: 1, down: 0 })
      }
      expect([...history.verify()].filter((fault) => !fault.includes('verdict'))).toEqual([])
    }),
  )

  test(
    'behavior: a book that is verified under two hashes is one state, which keeps its id',
    use(async (history) => {
      const hashes = [HASH, OTHER_HASH]
      for (const [index, order] of [hashes, hashes.toReversed()].entries()) {
        const conditionId = conditionIdOf(index + 1)
        const rows = order.map((hash) => verified(inMarket(index + 1, hashed(hash, 1))))
        const ids = await Array.fromAsync(rows, async (row) => {
          await appendAll(history, [row])
          const states = [...snapshotRuns(history, { market: getMarket(history, conditionId) })]
          return states.flat().map(({ id }) => id)
        })
        expect(ids[1]).toEqual(ids[0] ?? [])
        const market = getMarket(history, conditionId)
        const [row] = [...snapshotRuns(history, { market })].flat()
        expect(row?.sourceHash).toBe(hashes.toSorted()[0])
      }
    }),
  )

  test(
    'behavior: imported rows of Up come before those of Down in their millisecond, whichever came first',
    use(async (history) => {
      const up = aSnapshot({ sequence: 1 }, 1)
      const downs = [aSnapshot({ outcome: 'down' }, 2), aSnapshot({ outcome: 'down' }, 3)]
      const imports = [
        [[up], downs],
        [downs, [up]],
        [downs.slice(1), [up], downs.slice(0, 1)],
        [downs.slice(0, 1), [up], downs, [up]],
        [[...downs, up]],
      ]
      for (const [index, batches] of imports.entries()) {
        for (const rows of batches) {
          const inOwnMarket = rows.map((row) => inMarket(index + 1, row))
          await appendAll(history, inOwnMarket)
        }
        expect(booksOf(history, index + 1)).toEqual([up, ...downs].map(bookOf))
        expect(getMarket(history, conditionIdOf(index + 1)).snapshotCounts).toEqual({
          up: 1,
          down: 2,
        })
      }
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: a recorder sorts the outcomes of one write, and moves no row of the other outcome',
    use(async (history) => {
      const up = aSnapshot({}, 1)
      const down = aSnapshot({ outcome: 'down' }, 2)
      const record = (snapshots: Snapshot[]) => history.record({ snapshots, trades: [], gaps: [] })
      await record([down, up].map((row) => inMarket(2, row)))
      expect(booksOf(history, 2)).toEqual([up, down].map(bookOf))
      await record([down])
      const stored = idsHeld(history)
      await record([up])
      expect(booksOf(history, 1)).toEqual([down, up].map(bookOf))
      expect(idsHeld(history)).toEqual([...stored, Math.max(...stored) + 1])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: an import moves a recorded row of Down only behind a row of Up that is new',
    use(async (history) => {
      const up = aSnapshot({}, 1)
      const down = aSnapshot({ outcome: 'down' }, 2)
      const other = aSnapshot({}, 3)
      const record = (row: Snapshot, isImport: boolean) =>
        history.record({ snapshots: [row], trades: [], gaps: [], isImport })
      for (const row of [down, up]) await record(row, false)
      const recorded = idsHeld(history)
      for (const row of [up, down]) await record(row, true)
      expect(idsHeld(history)).toEqual(recorded)
      expect(booksOf(history, 1)).toEqual([down, up].map(bookOf))
      await record(other, true)
      expect(booksOf(history, 1)).toEqual([up, other, down].map(bookOf))
      expect([...history.verify()]).toEqual([])
    }),
  )
}

const bookOf = ({ outcome, bids }: Snapshot) => [outcome, bids.sizes[0]]

/** The books of a market in order. */
const booksOf = (history: MarketHistory, number: number) =>
  [...snapshotRuns(history, { market: getMarket(history, conditionIdOf(number)) })]
    .flat()
    .map(bookOf)

const hashed = (sourceHash: string, size: number): Snapshot => aSnapshot({ sourceHash }, size)

const verified = (row: Snapshot): Snapshot => ({ ...row, isVerified: true })

const downOf = (row: Snapshot): Snapshot => ({
  ...row,
  outcome: 'down',
  assetId: assetIdOf(row.conditionId, 'down'),
})

function conformConflicts(use: Use): void {
  const conflicts: [string, Partial<Snapshot>][] = [
    ['coin', { coin: 'eth' }],
    ['timeframe', { timeframe: '1h' }],
    ['asset', { assetId: '12345' }],
    ['other outcome of the same asset', { outcome: 'down', assetId: aSnapshot().assetId }],
  ]
  for (const [name, changes] of conflicts) {
    test(
      `error: a contradicted ${name} keeps nothing of the batch, other markets included`,
      use(async (history) => {
        await appendAll(history, someSnapshots(3))
        const before = [getMarket(history), served(history), history.totals().snapshots]
        const wrong = aSnapshot({ timestampMs: START_MS + 99_000, ...changes })
        const good = aSnapshot({ timestampMs: START_MS + 98_000 })
        const snapshots = [good, ofMarket(2, START_MS), wrong]
        const append = () => history.append({ id: 'bad', source: 'simulated', snapshots })
        expect(append).toThrow(expect.objectContaining({ code: 'market_conflict' }))
        expect(history.findBatch('bad')).toBeUndefined()
        expect(history.findMarket(conditionIdOf(2))).toBeUndefined()
        expect([getMarket(history), served(history), history.totals().snapshots]).toEqual(before)
        const mended = { id: 'bad', source: 'simulated', snapshots: [good] } as const
        expect(await history.append(mended)).toMatchObject({ kind: 'appended', accepted: 1 })
        expect([...history.verify()]).toEqual([])
      }),
    )
  }

  test(
    'error: a batch of another source, or one that contradicts itself, keeps nothing',
    use(async (history) => {
      await appendAll(history, someSnapshots(1))
      const snapshots = [aSnapshot({ timestampMs: START_MS + 5 })]
      const conflict = expect.objectContaining({ code: 'market_conflict' })
      await expect(history.append({ id: 'other', source: 'recorded', snapshots })).rejects.toThrow(
        conflict,
      )
      const one = ofMarket(7, 1)
      const two = { ...ofMarket(7, 2), assetId: '99' }
      await expect(appendAll(history, [one, two])).rejects.toThrow(conflict)
      expect(history.findMarket(conditionIdOf(7))).toBeUndefined()
      expect(history.totals()).toMatchObject({ markets: 1, snapshots: 1 })
    }),
  )
}

function conformOrder(use: Use): void {
  const random = createRandom('order')
  const rows = someSnapshots(330)
  const keyed = rows.map((row) => ({ row, key: random.uniform() }))
  const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ row }) => row)
  const arrivals: Record<string, Snapshot[][]> = {
    'one by one': inParts(rows, 1),
    backwards: inParts(rows.slice(0, 130).reverse(), 1),
    'in halves that interleave': [
      rows.filter((_, at) => at % 4 < 2),
      rows.filter((_, at) => at % 4 > 1),
    ],
    'up first, then down': [
      rows.filter(({ outcome }) => outcome === 'up'),
      rows.filter(({ outcome }) => outcome === 'down'),
    ],
    'with the end first': [rows.slice(200), rows.slice(100, 200), rows.slice(0, 100)],
    shuffled: inParts(shuffled, 23),
  }
  for (const [name, [first = [], ...rest]] of Object.entries(arrivals)) {
    for (const isClosed of [false, true]) {
      test(
        `behavior: rows that come ${name}${isClosed ? ' into a closed market' : ''} read as their sorted union`,
        use(async (history) => {
          await appendAll(history, first)
          if (isClosed) await history.close(conditionIdOf(1))
          for (const batch of rest) await appendAll(history, batch)
          const union = [first, ...rest].flat().sort((a, b) => a.timestampMs - b.timestampMs)
          const expected = rowsText(union.map((row) => ({ ...row, id: 0 })))
          const text = textOf(history, { order: 'asc', limit: 1000 })
          expect(text.replaceAll(/"id":"\d+"/g, '"id":"0"') === `[${expected}]`).toBe(true)
          expect([...history.verify()]).toEqual([])
        }),
      )
    }
  }

  test(
    'behavior: rows of one moment stand in the order of their ids, late ones last',
    use(async (history) => {
      const moments = Array.from({ length: 240 }, (_, at) => START_MS + Math.floor(at / 60))
      const books = moments.map((timestampMs, at) => aSnapshot({ timestampMs }, at + 1))
      await appendAll(history, books.slice(30))
      await appendAll(history, books.slice(0, 30))
      const ids = served(history).map(({ id, timestamp }) => [timestamp, Number(id)] as const)
      const byTimeAndId = ids.toSorted((a, b) => a[0].localeCompare(b[0]) || a[1] - b[1])
      expect(ids).toEqual(byTimeAndId)
      expect(ids.length).toBe(240)
    }),
  )
}

const inParts = <T>(items: T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  )
