import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import type { BookCounts } from '#src/recorder/book-output.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { startBooks, toPlain } from './books-log.ts'
import type { PlainBook } from './venue-model.ts'

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

const linesOf = (name: string): string[] =>
  new TextDecoder()
    .decode(Bun.gunzipSync(readFileSync(`${recordings}/${name}`)))
    .trimEnd()
    .split('\n')

const receivedMsOf = ({ _recv, timestamp }: WireLine): number =>
  _recv === undefined ? Number(timestamp) + 10 : Math.round(_recv * 1000)

/** Feeds lines to books of their markets; which token is "up" does not matter. */
function record(lines: readonly string[]) {
  const verifier = polymarket.createBookVerifier()
  const markets = new Map<string, ReturnType<typeof startBooks>>()
  const wires = lines.map((line): WireLine => JSON.parse(line))
  for (const [conditionId, ids] of assetsOf(wires)) {
    const [up = '', down = 'none'] = ids
    const market = { conditionId, coin: 'btc', timeframe: '5m', assetIds: { up, down } } as const
    markets.set(conditionId, startBooks({ verifier, market }))
  }
  for (const [index, line] of lines.entries()) {
    const wire = wires[index]
    const books = markets.get(wire?.market ?? '')
    if (wire === undefined || books === undefined) throw new Error(line.slice(0, 200))
    for (const event of polymarket.feed.decode(line)) books.takeEvent(event, receivedMsOf(wire))
  }
  const all = [...markets.values()]
  for (const books of all) books.settle(Date.UTC(2027, 0))
  const sum = (name: keyof BookCounts): number =>
    all.reduce((total, { counts }) => total + counts[name], 0)
  return { all, sum, wires }
}

function assetsOf(wires: readonly WireLine[]): Map<string, Set<string>> {
  const assets = new Map<string, Set<string>>()
  for (const wire of wires) {
    const ids = assets.get(wire.market) ?? new Set()
    assets.set(wire.market, ids)
    for (const id of idsOf(wire)) ids.add(id)
  }
  return assets
}

const idsOf = (wire: WireLine): Set<string> =>
  new Set([wire.asset_id ?? [], (wire.price_changes ?? []).map((each) => each.asset_id)].flat(2))

type WireLevel = { price: string; size: string; side?: string }
type WireLine = {
  event_type: string
  market: string
  timestamp: string
  asset_id?: string
  bids?: WireLevel[]
  asks?: WireLevel[]
  price_changes?: (WireLevel & { asset_id: string })[]
  _recv?: number
}

/** Rebuilds books the plain way: a map of texts, sorted at the end of each line. */
class PlainRebuild {
  readonly #sides = { BUY: new Map<string, string>(), SELL: new Map<string, string>() }

  replace({ bids = [], asks = [] }: WireLine): void {
    this.#sides.BUY = new Map(bids.map(({ price, size }) => [price, size]))
    this.#sides.SELL = new Map(asks.map(({ price, size }) => [price, size]))
  }

  change({ side, price, size }: WireLevel): void {
    const levels = this.#sides[side === 'BUY' ? 'BUY' : 'SELL']
    if (size === '0') levels.delete(price)
    else levels.set(price, size)
  }

  book(): PlainBook {
    const list = (levels: Map<string, string>): [number, number][] =>
      [...levels].map(([price, size]) => [toMillionths(price), toMillionths(size)])
    return {
      bids: list(this.#sides.BUY).sort(([a], [b]) => b - a),
      asks: list(this.#sides.SELL).sort(([a], [b]) => a - b),
    }
  }
}

const toMillionths = (text: string): number => Math.round(Number(text) * 1_000_000)

/** The book of each token at each time. */
function rebuildPlainly(wires: readonly WireLine[]): Map<string, PlainBook> {
  const books = new Map<string, PlainRebuild>()
  const states = new Map<string, PlainBook>()
  for (const wire of wires) {
    for (const id of idsOf(wire)) {
      const book = books.get(id) ?? new PlainRebuild()
      books.set(id, book)
      if (wire.event_type === 'book') book.replace(wire)
      for (const change of wire.price_changes ?? []) if (change.asset_id === id) book.change(change)
      states.set(`${id}@${wire.timestamp}`, book.book())
    }
  }
  return states
}

describe('createMarketBooks', () => {
  test.skipIf(isAbsent)(`default: every recorded book fits its hash${reason}`, () => {
    const lines = linesOf('wire-book-frames-btc-5m.jsonl.gz')
    expect([lines.length, record(lines).sum('verified')]).toEqual([185, 185])
  })

  const title = `behavior: recorded changes make the books they are of${reason}`
  test.skipIf(isAbsent)(
    title,
    () => {
      const lines = linesOf('wire-deltas-btc-5m-20260416T1000-1120.jsonl.gz')
      const { all, sum, wires } = record(lines)
      const expected = rebuildPlainly(wires)
      const states = all.flatMap((books) => [...books.states('up'), ...books.states('down')])
      const wrong = states.filter(
        (state) =>
          !Bun.deepEquals(toPlain(state), expected.get(`${state.assetId}@${state.timestampMs}`)),
      )
      expect([lines.length, all.length, expected.size]).toEqual([58_135, 16, 58_123])
      expect([states.length, wrong.length]).toEqual([58_123, 0])
      expect([sum('verified'), sum('mismatched'), sum('stale')]).toEqual([58_123, 0, 0])
      expect(all.flatMap(({ log }) => log.filter(({ said }) => said === 'lost'))).toEqual([])
    },
    300_000,
  )
})
