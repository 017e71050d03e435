import { describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  simulatedSnapshots,
  START_MS,
} from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { rebuild, type Row, stored } from '../support/rebuilt-books.ts'

type Page = { data: Row[]; nextCursor: string | null }
function serve(history: MarketHistory, conditionId = conditionIdOf(1)) {
  const { send } = createHarness({ history })
  const path = `/v1/btc/markets/${conditionId}`
  const get = async (query: string) => (await (await send(`${path}/${query}`)).json()) as Page
  const walk = async (query: string, onPage: () => unknown = () => {}) => {
    const rows: Row[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await get(cursor === '' ? query : `${query}&cursor=${cursor}`)
      rows.push(...page.data)
      cursor = page.nextCursor
      await onPage()
    }
    return rows
  }
  return { send: (query: string) => send(`${path}/${query}`), get, walk }
}

/** What is there for both, in the same order. */
async function expectRebuilt({ walk }: ReturnType<typeof serve>, query = ''): Promise<Row[]> {
  const rows = await walk(`changes?limit=37&${query}`)
  const snapshots = await walk(`snapshots?limit=1000&${query}`)
  expect(rebuild(rows)).toEqual(snapshots.map(stored))
  return rows
}

/** Books of the simulator, twice a second: without gaps. */
const evenSnapshots = (seed: string, count: number): Snapshot[] =>
  simulatedSnapshots(seed, count).map((snapshot, index) => ({
    ...snapshot,
    timestampMs: START_MS + index * 500,
  }))

const isWhole = ({ snapshot }: Row) => snapshot

describe('changes', () => {
  test('default: rebuild every snapshot, and have few of its levels', async () => {
    const history = openHistory(':memory:')
    const snapshots = evenSnapshots('changes', 450)
    await appendAll(history, snapshots)
    const server = serve(history, snapshots[0]?.conditionId)
    const rows = await expectRebuilt(server)
    expect(rows).toHaveLength(450)
    expect(rows.filter(isWhole)).toHaveLength(2)
    const levels = (all: readonly { bids: object[]; asks: object[] }[]) =>
      all.reduce((sum, { bids, asks }) => sum + bids.length + asks.length, 0)
    const whole = await server.walk('snapshots?limit=1000')
    expect(levels(rows)).toBeLessThan(levels(whole) / 2)
    expect((await expectRebuilt(server, 'outcome=down')).filter(isWhole)).toHaveLength(1)
  })

  test('behavior: a page of any size has the same rows', async () => {
    const history = openHistory(':memory:')
    const snapshots = evenSnapshots('sizes', 230)
    await appendAll(history, snapshots)
    const { walk } = serve(history, snapshots[0]?.conditionId)
    const all = await walk('changes?limit=1000')
    expect(await walk('changes?limit=1')).toEqual(all)
    expect(await walk('changes?limit=100')).toEqual(all)
    const outcome = await walk('changes?limit=7&outcome=up')
    expect(outcome).toEqual(all.filter((row) => row.outcome === 'up'))
  })

  test('behavior: a range begins with whole books', async () => {
    const history = openHistory(':memory:')
    const snapshots = evenSnapshots('range', 300)
    await appendAll(history, snapshots)
    const at = (index: number) => snapshots[index]?.timestampMs ?? 0
    const server = serve(history, snapshots[0]?.conditionId)
    const rows = await expectRebuilt(server, `from=${at(120)}&to=${at(250)}`)
    expect(rows[0]).toMatchObject({ snapshot: true, prevId: null })
    expect(
      rows
        .filter(isWhole)
        .map(({ outcome }) => outcome)
        .sort(),
    ).toEqual(['down', 'up'])
  })

  test('behavior: no change bridges a gap, of its own outcome', async () => {
    const history = openHistory(':memory:')
    const at = (second: number, size: number, more: Partial<Snapshot> = {}) =>
      aSnapshot({ timestampMs: START_MS + second * 1000, ...more }, size * 1_000_000)
    // Silence of more than five seconds is a gap, and another was noticed.
    await appendAll(history, [at(0, 1), at(1, 2), at(9, 3), at(10, 4), at(12, 5)])
    await appendAll(history, [at(0, 1, { outcome: 'down' }), at(4, 2, { outcome: 'down' })])
    const noticed = { fromMs: START_MS + 10_001, toMs: START_MS + 12_000 }
    await history.putGaps(conditionIdOf(1), [
      { outcome: 'up', reason: 'hash_mismatch', ...noticed },
    ])
    const rows = await expectRebuilt(serve(history))
    expect(rows.map(({ outcome, snapshot }) => `${outcome} ${snapshot}`)).toEqual([
      'up true',
      'down true',
      'up false',
      'down false',
      'up true',
      'up false',
      'up true',
    ])
  })

  test('behavior: a finer tick begins a whole book', async () => {
    const history = openHistory(':memory:')
    const book = (second: number, price: number) =>
      aSnapshot({
        timestampMs: START_MS + second * 1000,
        bids: { prices: [price, 490_000], sizes: [1_000_000, 2_000_000] },
      })
    await appendAll(history, [
      book(0, 500_000),
      book(1, 501_000),
      book(2, 502_000),
      book(3, 500_000),
      book(4, 510_000),
    ])
    const rows = await expectRebuilt(serve(history))
    expect(rows.map(isWhole)).toEqual([true, true, false, false, false])
  })

  test('behavior: empty and identical books are changes without levels, or of all', async () => {
    const history = openHistory(':memory:')
    const none = { prices: [], sizes: [] }
    const at = (second: number, more: Partial<Snapshot> = {}) =>
      aSnapshot({ timestampMs: START_MS + second * 1000, ...more })
    await appendAll(history, [
      at(0),
      at(1, { bids: none, asks: none }),
      at(2, { bids: none, asks: none, sequence: 1 }),
      at(3),
    ])
    const rows = await expectRebuilt(serve(history))
    expect(rows.map(({ bids, asks }) => bids.length + asks.length)).toEqual([3, 3, 0, 3])
    expect(rows[1]?.bids).toEqual([
      { price: 0.5, size: 0 },
      { price: 0.49, size: 0 },
    ])
  })

  test('behavior: both clocks and the verdict are those of the state', async () => {
    const history = openHistory(':memory:')
    await appendAll(history, [
      aSnapshot({ receivedMs: START_MS + 59, sourceHash: 'ab'.repeat(20), isVerified: true }),
      aSnapshot({ timestampMs: START_MS + 1000 }, 5_000_000),
    ])
    const { data } = await serve(history).get('changes')
    expect(data).toMatchObject([
      { receivedAt: '2026-04-14T08:00:00.059Z', verified: true, prevId: null },
      { receivedAt: null, verified: null, prevId: '1' },
    ])
  })

  test('behavior: a walk stays whole when late rows come in behind it', async () => {
    const history = openHistory(':memory:')
    const snapshots = evenSnapshots('late', 400)
    const { conditionId = '' } = snapshots[0] ?? {}
    const late = snapshots.filter((_, index) => index % 5 === 3)
    const first = snapshots.filter((_, index) => index % 5 !== 3)
    await appendAll(history, first)
    const server = serve(history, conditionId)
    const all = async () => (await server.walk('snapshots?limit=1000')).map(stored)
    // Rows of a moment may get other ids, so what was there before counts too.
    const held = new Map((await all()).map((state) => [state.id, state]))
    let pages = 0
    const rows = await server.walk('changes?limit=50', async () => {
      // Of some, the reader is already past.
      if (++pages === 3) await appendAll(history, late)
    })
    for (const state of await all()) held.set(state.id, state)
    for (const state of rebuild(rows)) expect(state).toEqual(held.get(state.id) as never)
    expect(rows.filter(isWhole).length).toBeLessThan(5)
    await expectRebuilt(server)
  })

  test('behavior: who resumes at the end gets the changes that follow', async () => {
    const history = openHistory(':memory:')
    const snapshots = evenSnapshots('resume', 120)
    await appendAll(history, snapshots.slice(0, 110))
    const { send } = serve(history, snapshots[0]?.conditionId)
    const first = await send('changes?limit=1000')
    const resume = first.headers.get('x-resume-cursor')
    const { data } = (await first.json()) as Page
    await appendAll(history, snapshots.slice(110))
    const more = (await (await send(`changes?limit=1000&cursor=${resume}`)).json()) as Page
    expect(more.data.some(isWhole)).toBe(false)
    expect(rebuild([...data, ...more.data])).toHaveLength(120)
  })

  test('error: it only ascends', async () => {
    const history = openHistory(':memory:')
    await appendAll(history, [aSnapshot()])
    const answer = await serve(history).send('changes?order=desc')
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ code: 'invalid_parameter', param: 'order' })
  })
})
