import { afterEach, describe, expect, test } from 'bun:test'

import type { SpotTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { START_MS } from '../history/books.ts'
import { closeAll, startLiveServer } from '../support/live-client.ts'
import { openStuck } from '../support/stuck-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const LATE_MS = 30_000
const subscribe = { op: 'subscribe', id: 's', channel: 'spot', coin: 'btc', onSlow: 'close' }

/** Records prices of four series, many at one time, some of them late, and some of another coin. */
function createRecorder(history: MarketHistory, random: Random) {
  let second = 100
  return async (count: number) => {
    const ticks = Array.from({ length: count }, (): SpotTick => {
      second += random.integer(2)
      const late = random.integer(3) === 0 ? random.integer(LATE_MS / 1000 - 1) : 0
      return {
        coin: random.integer(6) ? 'btc' : 'eth',
        windowSeconds: random.pick([0, 60]),
        price: '64000.5',
        source: random.pick(['pyth', 'chainlink']),
        timestampMs: START_MS + (second - late) * 1000,
      }
    })
    await history.putSpot(ticks)
  }
}

/** Follows from a page of the route, cut off and resumed at random; returns ids, got and held. */
async function followCutOff(random: Random) {
  let ms = 0
  const server = startLiveServer({ timer: () => (ms += 20) })
  const { history, send } = server
  const record = createRecorder(history, random)
  await record(random.integer(400))
  const page = await send(`/v1/btc/spot?limit=${random.pick([1, 50, 10_000])}`)
  const read = (await page.json()) as { data: { id: string }[]; nextCursor: string | null }
  const got = read.data.map(({ id }) => Number(id))
  let from = page.headers.get('x-resume-cursor')
  // A page in the middle says nothing of what is late; the first row after it does.
  if (read.nextCursor === null) await record(random.integer(5))

  /** What arrives until the connection is cut: the last part of what was sent does not. */
  async function follow(steps: number): Promise<void> {
    const client = openStuck(server)
    client.ask({ ...subscribe, from })
    for (let step = 0; step < steps; step++) {
      await record(random.integer(8))
      client.state.buffered = random.integer(3) ? 0 : 2 ** 20
      await Bun.sleep(random.integer(3))
      client.take()
    }
    if (steps === 0) await until(() => client.sent.some(({ type }) => type === 'live'))
    const rows = client.sent.filter(({ type }) => type === 'row')
    client.ask({ op: 'unsubscribe', id: 's' })
    const least = from === read.nextCursor ? 1 : 0
    const count = Math.max(least, random.integer(rows.length + 1))
    const arrived = steps === 0 ? rows : rows.slice(0, count)
    got.push(...arrived.map(({ seq }) => Number(seq)))
    from = String(arrived.at(-1)?.cursor ?? from)
  }

  for (let cuts = 0; cuts < 8; cuts++) await follow(1 + random.integer(5))
  await follow(0)
  const held = history.spot({ coin: 'btc', order: 'asc', limit: 10_000 }).map(({ id }) => id)
  closeAll()
  return { got, held }
}

describe('prices of `spot` that come late', () => {
  test('behavior: whoever is cut off and resumes misses none and gets none twice', async () => {
    const random = createRandom('late prices')
    for (let round = 0; round < 25; round++) {
      const { got, held } = await followCutOff(random)
      expect(got.toSorted((a, b) => a - b)).toEqual(held.toSorted((a, b) => a - b))
    }
  }, 300_000)

  test('behavior: the cursor of a late price does not bring later ones again, nor in the route', async () => {
    const server = startLiveServer()
    const { history, send } = server
    const put = (second: number) =>
      history.putSpot([
        {
          coin: 'btc',
          source: 'pyth',
          windowSeconds: 0,
          price: '1',
          timestampMs: START_MS + second * 1000,
        },
      ])
    await put(10)
    const client = openStuck(server)
    client.ask(subscribe)
    for (const second of [20, 12]) {
      await put(second)
      await until(() => client.sent.at(-1)?.seq === history.lastSpotId())
    }
    const cursor = client.sent.at(-1)?.cursor
    const { data } = (await (await send(`/v1/btc/spot?cursor=${cursor}`)).json()) as { data: [] }
    expect(data).toEqual([])
    await put(11)
    const again = openStuck(server)
    again.ask({ ...subscribe, from: cursor })
    await until(() => again.sent.some(({ type }) => type === 'live'))
    expect(again.sent.flatMap(({ seq }) => seq ?? [])).toEqual([4])
  })

  test('behavior: whoever is cut off among the first prices has no place to continue from', async () => {
    const server = startLiveServer()
    for (const source of ['pyth', 'chainlink'])
      await server.history.putSpot([
        { coin: 'btc', source, windowSeconds: 0, price: '1', timestampMs: START_MS },
      ])
    const client = openStuck(server)
    client.ask(subscribe)
    const snapshots = client.sent.filter(({ type }) => type === 'snapshot')
    expect(snapshots.map(({ cursor }) => cursor)).toEqual([undefined, expect.any(String)])
  })
})
