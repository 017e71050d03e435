import { afterEach, describe, expect, test } from 'bun:test'

import type { SpotTick } from '#src/domain/spot.ts'
import { createRandom } from '#src/platform/random.ts'

import { aSnapshot, START_MS } from '../history/books.ts'
import {
  append,
  closeAll,
  connect,
  isRow,
  type Message,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'
import { someTicks } from '../support/market-history.ts'
import { withParams } from '../support/page-client.ts'

afterEach(closeAll)

const SECONDS = 700

/** Prices of several series, which come late and out of order. */
function drawTicks(seed: string): SpotTick[] {
  const random = createRandom(seed)
  return Array.from({ length: SECONDS }, (_, at) => ({
    coin: 'btc',
    source: random.integer(3) === 0 ? 'pyth' : 'chainlink',
    windowSeconds: random.integer(2) * 60,
    timestampMs: START_MS + (at - random.integer(5)) * 1000,
    price: `64000.${random.integer(1000)}`,
    sequence: at,
  }))
}

function startServer() {
  const { history, url, key, send } = startLiveServer()
  const listed = async (params: Record<string, string | number>) => {
    const response = await send(withParams('/v1/btc/spot', { limit: 10_000, ...params }))
    return ((await response.json()) as { data: Message['data'][] }).data
  }
  const client = connect(url, key)
  const replay = async (id: string, asked: object): Promise<Message[]> => {
    await client.send({ op: 'replay', id, channel: 'spot', coin: 'btc', speed: 0, ...asked })
    return await client.untilType('replay_end')
  }
  return { history, listed, replay }
}

const rowsOf = (messages: readonly Message[]) => messages.filter(isRow).map(({ data }) => data)

describe('replay of prices of a coin', () => {
  test.each(['1', '2', '3'])(
    'default: any range is what the route lists for it, after the last prices before it, seed %s',
    async (seed) => {
      const { history, listed, replay } = startServer()
      const ticks = drawTicks(seed)
      for (let at = 0; at < ticks.length; at += 50) await history.putSpot(ticks.slice(at, at + 50))
      const random = createRandom(`ranges ${seed}`)
      const filters = [{}, { source: 'chainlink' }, { window: 60 }, { source: 'pyth', window: 0 }]
      for (const [index, filter] of [...filters, ...filters].entries()) {
        const from = START_MS + random.integer(SECONDS * 1000)
        const to = from + 1 + random.integer(SECONDS * 1000)
        const messages = await replay(`${index}`, { ...filter, from, to })
        expect(rowsOf(messages)).toEqual(await listed({ ...filter, from, to }))
        const first = messages.filter(({ type }) => type === 'snapshot').map(({ data }) => data)
        const before = await listed({ ...filter, from: START_MS - 5000, to: from })
        expect(before).toEqual(expect.arrayContaining(first))
        const seqs = messages.flatMap(({ type, seq }) => (type === 'subscribed' || !seq ? [] : seq))
        const prevs = messages.flatMap(({ seq, prevSeq }) => (seq ? [prevSeq ?? null] : []))
        expect(prevs).toEqual(seqs.length === 0 ? [] : [null, ...seqs.slice(0, -1)])
      }
    },
  )

  test('behavior: a cursor of a row continues after it, here and in the route', async () => {
    const { history, listed, replay } = startServer()
    await history.putSpot(drawTicks('cursor'))
    const to = START_MS + SECONDS * 1000
    const all = (await replay('all', { window: 60, from: START_MS, to })).filter(isRow)
    const cursor = String(all[99]?.cursor)
    const rest = all.slice(100).map(({ data }) => data)
    expect(rest.length).toBeGreaterThan(100)
    expect(await listed({ window: 60, cursor })).toEqual(rest)
    const resumed = await replay('rest', { window: 60, cursor, to })
    expect(rowsOf(resumed)).toEqual(rest)
    expect(resumed.some(({ type }) => type === 'snapshot')).toBe(false)
  })

  test('behavior: `with` plays them among the rows of markets, by time', async () => {
    const { history, listed, replay } = startServer()
    await putMarket(history)
    const offsets = [0, 500, 1000, 1500, 3000, 9999]
    await append(
      history,
      offsets.map((offset) => aSnapshot({ timestampMs: START_MS + offset })),
    )
    const first = someTicks('btc', 1)[0]?.timestampMs ?? 0
    const shifted = someTicks('btc', 12).map((tick) => ({
      ...tick,
      timestampMs: tick.timestampMs - first + START_MS,
    }))
    await history.putSpot(shifted)
    const range = { from: START_MS, to: START_MS + 10_000 }
    const asked = { channel: 'snapshots', with: 'spot', ...range }
    const messages = (await replay('both', asked)).filter(isRow)
    const times = messages.map(({ data }) => Date.parse(String(data?.timestamp)) - START_MS)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const [prices, rows] = [true, false].map((isSpot) =>
      messages.filter(({ channel }) => (channel === 'spot') === isSpot),
    )
    expect(prices?.map(({ data }) => data)).toEqual(await listed(range))
    expect(rows).toHaveLength(offsets.length)
    // Of one moment the price comes first.
    expect(messages.slice(0, 3).map(({ channel }) => channel)).toEqual([
      'spot',
      'snapshots',
      'snapshots',
    ])
    const quiet = await replay('one', { channel: 'snapshots', ...range })
    expect(quiet.some(({ channel }) => channel === 'spot')).toBe(false)
  })
})
