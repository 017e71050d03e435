/** Books and batches for tests of the store, made from a seed. */

import type { Market, Outcome } from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import type { Trade, TradeQuery } from '#src/domain/trade.ts'
import type { Batch, MarketHistory } from '#src/history/history.ts'
import type { Random } from '#src/platform/random.ts'
import { simulate } from '#src/simulator/simulator.ts'

export const START_MS = Date.UTC(2026, 3, 14, 8)
export const NO_LEVELS: Ladder = { prices: [], sizes: [] }

/** `0x` and 64 hex digits that end in `number`. */
export const conditionIdOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

/** Digits as long as the venue's, other for each market and outcome. */
export const assetIdOf = (conditionId: string, outcome: Outcome): string =>
  `${outcome === 'up' ? 1 : 2}${conditionId.slice(-76).replace(/\D/g, '7').padStart(76, '3')}`

/** A small book of market 1; every `size` makes another one. */
export function aSnapshot(changes: Partial<Snapshot> = {}, size = 1_000_000): Snapshot {
  const conditionId = changes.conditionId ?? conditionIdOf(1)
  const outcome = changes.outcome ?? 'up'
  return {
    coin: 'btc',
    conditionId,
    timeframe: '5m',
    assetId: assetIdOf(conditionId, outcome),
    outcome,
    timestampMs: START_MS,
    bids: { prices: [500_000, 490_000], sizes: [size, 12_340_000] },
    asks: { prices: [520_000], sizes: [size + 10] },
    ...changes,
  }
}

/** `count` different books of market 1, one a second, up and down in turn. */
export const someSnapshots = (count: number, changes: Partial<Snapshot> = {}): Snapshot[] =>
  Array.from({ length: count }, (_, index) =>
    aSnapshot(
      {
        outcome: index % 2 === 0 ? 'up' : 'down',
        timestampMs: START_MS + index * 1000,
        ...changes,
      },
      (index + 1) * 10_000,
    ),
  )

/** Books of one market as the simulator makes them, both outcomes. */
export const simulatedSnapshots = (seed: string, count: number): Snapshot[] => {
  const options = { seed, coins: ['btc'], timeframes: ['5m'], markets: 1 } as const
  const batches = simulate({ ...options, startMs: START_MS, maxSnapshotsPerMarket: count })
  return [...batches].flatMap(({ snapshots }) => snapshots)
}

let batches = 0

/** Appends under an id of its own. */
export const appendAll = (history: MarketHistory, snapshots: readonly Snapshot[]) =>
  history.append({ id: `batch-${++batches}`, source: 'simulated', snapshots })

/** The market as stored; throws when it is not. */
export function getMarket(history: MarketHistory, conditionId = conditionIdOf(1)): Market {
  const market = history.findMarket(conditionId)
  if (market === undefined) throw new Error(`No market ${conditionId}.`)
  return market
}

/**
 * Twice the difference of two sizes must be a safe integer too: see
 * codec/tops.test.ts for the rest.
 */
const SIZE_MAX = 2 ** 51

/** Makes books: most are the last one with a few levels changed, some are extreme. */
export function createBookMaker(random: Random) {
  let book = { bids: NO_LEVELS, asks: NO_LEVELS }

  const size = (): number => {
    const kind = random.integer(20)
    if (kind < 10) return (1 + random.integer(5000)) * 1_000_000
    if (kind < 16) return (1 + random.integer(500_000)) * 10_000
    if (kind < 19) return 1 + random.integer(2 ** 31)
    return random.integer(2) === 0 ? 1 : SIZE_MAX - random.integer(1000)
  }

  function fresh(isBids: boolean): Ladder {
    const kind = random.integer(40)
    const count = kind === 0 ? 400 : [0, 1, 2, 5, 12, 30][kind % 6]
    const tick = [1, 1000, 1000, 10_000][random.integer(4)] ?? 1000
    const ticks = new Set<number>()
    for (let tries = 0; tries < 4000 && ticks.size < (count ?? 0); tries++)
      ticks.add(1 + random.integer(1_000_000 / tick - 1))
    const prices = [...ticks].map((at) => at * tick).sort((a, b) => (isBids ? b - a : a - b))
    return { prices, sizes: prices.map(size) }
  }

  function changed({ prices, sizes }: Ladder): Ladder {
    const levels = prices.map((price, at) => ({ price, size: sizes[at] ?? 1 }))
    for (let changes = random.integer(4); changes > 0 && levels.length > 0; changes--) {
      const at = random.integer(levels.length)
      const level = levels[at]
      if (level === undefined || random.integer(4) === 0) levels.splice(at, 1)
      else levels[at] = { price: level.price, size: size() }
    }
    return { prices: levels.map(({ price }) => price), sizes: levels.map((level) => level.size) }
  }

  return (): { bids: Ladder; asks: Ladder } => {
    const isFresh = random.integer(8) === 0
    const bids = isFresh ? fresh(true) : changed(book.bids)
    const asks = isFresh ? fresh(false) : changed(book.asks)
    book = { bids, asks }
    return book
  }
}

const HEX = '0123456789abcdef'

export const randomHash = (random: Random): string =>
  Array.from({ length: 40 }, () => HEX[random.integer(16)]).join('')

/** Batch `number` of a long recording of two markets, some rows late, so that chunks are merged. */
export function batchOf(number: number): Batch {
  const rows = Array.from({ length: 30 }, (_, at) => {
    const second = at % 10 === 0 ? number * 20 - 150 : number * 30 + at
    const outcome: Outcome = at % 4 < 2 ? 'up' : 'down'
    const timestampMs = START_MS + second * 1000
    return aSnapshot(
      { conditionId: conditionIdOf(1 + (at % 2)), outcome, timestampMs },
      number * 1000 + at + 1,
    )
  })
  return { id: `numbered-${number}`, source: 'simulated', snapshots: rows }
}

/** Trades as they were told, without the numbers that the store gave them. */
export const toldTrades = (history: MarketHistory, query: TradeQuery): Trade[] =>
  history.trades(query).map(({ id: _, ...trade }) => trade)
