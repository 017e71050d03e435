import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import type { FeedEvent } from '#src/venue/feed.ts'
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

/** Books of every market that comes, of which the tokens are named as they come. */
function startMarkets() {
  const verifier = polymarket.createBookVerifier()
  const assets = new Map<string, { up: string; down: string }>()
  const markets = new Map<string, ReturnType<typeof startBooks>>()
  const tokensOf = (event: FeedEvent): string[] => {
    if (event.kind === 'changes') return event.changes.map(({ assetId }) => assetId)
    return 'assetId' in event ? [event.assetId] : []
  }
  return {
    markets,
    take(line: string, receivedMs: number): void {
      for (const event of polymarket.feed.decode(line)) {
        if (!('conditionId' in event) || event.conditionId === undefined) {
          throw new Error(`${event.kind}: ${line.slice(0, 200)}`)
        }
        const { conditionId } = event
        const ids = assets.get(conditionId) ?? { up: '', down: '' }
        assets.set(conditionId, ids)
        for (const id of tokensOf(event)) {
          if (ids.up === id || ids.down === id) continue
          ids[ids.up === '' ? 'up' : 'down'] = id
        }
        const books =
          markets.get(conditionId) ??
          startBooks({
            verifier,
            market: { conditionId, coin: 'btc', timeframe: '5m', assetIds: ids },
          })
        markets.set(conditionId, books)
        books.takeEvent(event, receivedMs)
      }
    },
  }
}

type WireLevel = { price: string; size: string; side?: string }

/** Rebuilds books the plain way: a map of texts, sorted at the end of each line. */
class PlainRebuild {
  readonly #sides = { BUY: new Map<string, string>(), SELL: new Map<string, string>() }

  replace(bids: WireLevel[], asks: WireLevel[]): void {
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

describe('createMarketBooks', () => {
  test.skipIf(isAbsent)(`default: every recorded book fits its hash${reason}`, () => {
    const { markets, take } = startMarkets()
    const lines = linesOf('wire-book-frames-btc-5m.jsonl.gz')
    for (const line of lines) take(line, Number(JSON.parse(line).timestamp) + 10)
    const all = [...markets.values()]
    for (const books of all) books.settle(Date.UTC(2027, 0))
    const verified = all.map(({ counts }) => counts.verified)
    expect([lines.length, verified.reduce((sum, count) => sum + count)]).toEqual([185, 185])
  })

  const name = 'wire-deltas-btc-5m-20260416T1000-1120.jsonl.gz'
  test.skipIf(isAbsent)(
    `behavior: recorded changes make the books they are of${reason}`,
    () => {
      const { markets, take } = startMarkets()
      const plain = new Map<string, PlainRebuild>()
      const expected = new Map<string, PlainBook>()
      const lines = linesOf(name)
      for (const line of lines) {
        const wire = JSON.parse(line)
        take(line, Math.round(wire._recv * 1000))
        const ids: string[] = wire.asset_id ? [wire.asset_id] : []
        for (const change of wire.price_changes ?? []) {
          plain.get(change.asset_id)?.change(change)
          ids.push(change.asset_id)
        }
        for (const id of new Set(ids)) {
          const rebuild = plain.get(id) ?? new PlainRebuild()
          plain.set(id, rebuild)
          if (wire.event_type === 'book') rebuild.replace(wire.bids, wire.asks)
          expected.set(`${id}@${wire.timestamp}`, rebuild.book())
        }
      }
      const all = [...markets.values()]
      for (const books of all) books.settle(Date.UTC(2027, 0))
      const states = all.flatMap((books) => [...books.states('up'), ...books.states('down')])
      const wrong = states.filter(
        (state) =>
          !Bun.deepEquals(toPlain(state), expected.get(`${state.assetId}@${state.timestampMs}`)),
      )
      expect([lines.length, markets.size, expected.size, wrong.length]).toEqual([
        58_135, 16, 58_123, 0,
      ])
      const losses = all.flatMap(({ log }) => log.filter(({ said }) => said === 'lost'))
      const sum = (name: keyof (typeof all)[0]['counts']) =>
        all.reduce((total, { counts }) => total + counts[name], 0)
      expect({
        states: states.length,
        verified: sum('verified'),
        mismatched: sum('mismatched'),
        stale: sum('stale'),
        losses: losses.length,
      }).toEqual({ states: 58_123, verified: 58_123, mismatched: 0, stale: 0, losses: 0 })
    },
    60_000,
  )
})
