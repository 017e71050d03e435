/**
 * A playbook of recorded books: full-depth states of one token of each market, with the venue's own
 * hash, converted to changes. Trades and ticks are inferred from the hashes; the size and side of a
 * trade are invented.
 */
import { createHash } from 'node:crypto'

import {
  type Change,
  emptySides,
  hashedHead,
  hashedTail,
  type Level,
  mirror,
  printTradePrice,
  readPrice,
  type Sides,
  type TokenIndex,
} from './book.ts'
import type { Playbook, Step, Trade, VenueMarket } from './playbook.ts'

export type RecordedOptions = {
  /** Gzipped JSON lines, as in ../shared/data. */
  files: readonly string[]
  /** Slugs, tokens and winners of their markets. */
  marketsFile: string
  /** The number of markets to play, from the first; all by default. */
  marketsMax?: number
  /**
   * The time at which the first window opens: times and names move by whole windows, and hashes are
   * recomputed. By default everything is as recorded.
   */
  shiftToMs?: number
}

const WINDOW_MS = 300_000
const LISTED_AHEAD_MS = 3 * WINDOW_MS
const FIRST_STRIKE = 70_000

type RecordedLevel = { price: string; size: string }
type Row = {
  id: string
  assetId: string
  conditionId: string
  outcome: 'up' | 'down'
  timestamp: string
  bids: RecordedLevel[]
  asks: RecordedLevel[]
}
type RecordedMarket = {
  slug: string
  conditionId: string
  assetId: string
  outcome: 'up' | 'down'
  rows: number
  winner: 'up' | 'down' | null
}

/** The state of reading a market's rows. */
type Reading = {
  market: VenueMarket
  token: TokenIndex
  sides: Sides | undefined
  tick: string
  lastTradePrice: string
  /** All prices, the latest first. */
  tradePrices: string[]
  steps: Step[]
}

export async function recordedPlaybook(options: RecordedOptions): Promise<Playbook> {
  const { files, marketsMax = Number.POSITIVE_INFINITY, shiftToMs } = options
  const known = (await Bun.file(options.marketsFile).json()) as RecordedMarket[]
  const readings = new Map<string, Reading>()
  const readingFor = (conditionId: string): Reading | undefined => {
    if (readings.has(conditionId) || readings.size >= marketsMax) return readings.get(conditionId)
    const tokens = known.filter((each) => each.conditionId === conditionId)
    const reading = tokens.length === 0 ? undefined : readingOf(tokens)
    if (reading !== undefined) readings.set(conditionId, reading)
    return reading
  }
  for await (const line of linesOf(files)) {
    const reading = readingFor(/"conditionId":"(\w+)"/.exec(line)?.[1] ?? '')
    if (reading !== undefined) read(reading, line)
  }
  const [{ market: { startMs } } = { market: { startMs: 0 } }] = readings.values()
  const shiftMs = Math.floor(((shiftToMs ?? startMs) - startMs) / WINDOW_MS) * WINDOW_MS
  return playbookOf([...readings.values()], shiftMs)
}

async function* linesOf(files: readonly string[]): AsyncGenerator<string> {
  for (const file of files) {
    const decoder = new TextDecoder()
    let rest = ''
    const bytes = Bun.file(file).stream().pipeThrough(new DecompressionStream('gzip'))
    for await (const piece of bytes) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  }
}

/** The token with the most rows is played; the other one mirrors it. */
function readingOf(tokens: readonly RecordedMarket[]): Reading {
  const most = tokens.reduce((a, b) => (b.rows > a.rows ? b : a))
  const { slug, conditionId } = most
  const startMs = Number(slug.split('-').at(-1)) * 1000
  const idOf = (outcome: string): string =>
    tokens.find((each) => each.outcome === outcome)?.assetId ??
    BigInt(`0x${createHash('sha256').update(`${slug}/${outcome}`).digest('hex')}`).toString()
  const market: VenueMarket = {
    conditionId,
    slug,
    coin: 'btc',
    timeframe: '5m',
    startMs,
    endMs: startMs + WINDOW_MS,
    assetIds: [idOf('up'), idOf('down')],
    listedMs: startMs - LISTED_AHEAD_MS,
    tick: '0.01',
    strike: '',
    finalPrice: '',
    winner: most.winner === 'down' ? 1 : 0,
  }
  const token = most.outcome === 'up' ? 0 : 1
  const thousandths = Array.from({ length: 999 }, (_, at) => printTradePrice((at + 1) * 1000))
  // Whole cents first, which most trades have: sorting keeps the order of the others.
  const tradePrices = ['', ...thousandths].sort((a, b) => isFine(a) - isFine(b))
  return {
    market,
    token,
    sides: undefined,
    tick: '0.01',
    lastTradePrice: '',
    tradePrices,
    steps: [],
  }
}

const isFine = (price: string): number => (price.endsWith('0') ? 0 : 1)

function read(reading: Reading, line: string): void {
  const { market, token, tick, lastTradePrice } = reading
  if (!line.includes(market.assetIds[token])) return
  const row = JSON.parse(line) as Row
  const atMs = Date.parse(row.timestamp)
  const sides: Sides = { bids: row.bids.map(levelOf), asks: row.asks.map(levelOf) }
  const changed = changesBetween(reading.sides ?? emptySides, sides)
  // A state equal to the previous one was sent as a whole book.
  const isWhole = reading.sides === undefined || changed.length === 0
  const own = isWhole ? changesBetween(emptySides, sides) : changed
  const terms = findTerms(reading, { ...row, timestampMs: atMs, sides })
  const isTraded = terms !== undefined && terms.lastTradePrice !== lastTradePrice
  const trade: Trade | undefined =
    isTraded && terms.lastTradePrice !== ''
      ? { token, price: readPrice(terms.lastTradePrice), size: '5', side: 'BUY' }
      : undefined
  reading.steps.push({
    atMs,
    conditionId: market.conditionId,
    changes: token === 0 ? own : own.map(mirror),
    ...(trade === undefined ? {} : { trade }),
    ...(terms === undefined || terms.tick === tick ? {} : { tick: terms.tick }),
    ...(isWhole ? { isWhole } : {}),
    recorded: { token, hash: row.id, atMs },
  })
  Object.assign(reading, { sides, ...terms })
}

const levelOf = ({ price, size }: RecordedLevel): Level => ({
  price: readPrice(price),
  size,
  text: `{"price":"${price}","size":"${size}"}`,
})

/** Removals come first, so that no message leaves a crossed book. */
function changesBetween(before: Sides, after: Sides): Change[] {
  const gone: Change[] = []
  const rest: Change[] = []
  for (const side of ['bids', 'asks'] as const) {
    const left = new Map(before[side].map(({ price, size }) => [price, size]))
    for (const { price, size } of after[side]) {
      if (left.get(price) !== size) rest.push({ side, price, size })
      left.delete(price)
    }
    for (const price of left.keys()) gone.push({ side, price, size: '0' })
  }
  return [...gone, ...rest]
}

type Terms = { tick: string; lastTradePrice: string }
type HashedRow = Row & { timestampMs: number; sides: Sides }

/** The tick and last trade price that reproduce a row's hash; undefined if none does. */
function findTerms(reading: Reading, row: HashedRow): Terms | undefined {
  const head = createHash('sha1').update(hashedHead(row))
  const isIt = (terms: Terms): boolean =>
    head.copy().update(hashedTail(terms, 'documented')).digest('hex') === row.id
  const { tick, tradePrices } = reading
  for (const each of tick === '0.001' ? ['0.001', '0.01'] : ['0.01', '0.001']) {
    const at = tradePrices.findIndex((price) => isIt({ tick: each, lastTradePrice: price }))
    if (at < 0) continue
    // Trades alternate between few prices: the last ones are tried first.
    const [found = ''] = tradePrices.splice(at, 1)
    tradePrices.unshift(found)
    return { tick: each, lastTradePrice: found }
  }
  return undefined
}

function playbookOf(readings: readonly Reading[], shiftMs: number): Playbook {
  const markets = priced(readings.map((reading) => moved(reading.market, shiftMs)))
  const steps = readings
    .flatMap((reading) => reading.steps)
    .sort((a, b) => a.atMs - b.atMs)
    .map((step) => (shiftMs === 0 ? step : { ...step, atMs: step.atMs + shiftMs }))
  let at = 0
  return {
    startMs: Math.min(markets[0]?.startMs ?? 0, steps[0]?.atMs ?? 0),
    markets: (nowMs) => markets.filter(({ listedMs }) => listedMs <= nowMs),
    isOver: () => at === steps.length,
    next(nowMs) {
      const step = steps[at]
      if (step === undefined || step.atMs > nowMs) return undefined
      at++
      return step
    },
    // A straight line from strike to final price, because no prices were recorded.
    spot(_, atMs) {
      const market = markets.findLast(({ startMs }) => startMs <= atMs) ?? markets[0]
      if (market === undefined) return '0'
      const share = Math.min(1, Math.max(0, (atMs - market.startMs) / WINDOW_MS))
      const [strike, end] = [Number(market.strike), Number(market.finalPrice)]
      return (strike + (end - strike) * share).toFixed(8)
    },
  }
}

function moved(market: VenueMarket, shiftMs: number): VenueMarket {
  const startMs = market.startMs + shiftMs
  return {
    ...market,
    slug: `btc-updown-5m-${startMs / 1000}`,
    startMs,
    endMs: startMs + WINDOW_MS,
    listedMs: market.listedMs + shiftMs,
  }
}

/** Invented prices of the coin that fit the winners; each strike is the previous final price. */
function priced(markets: readonly VenueMarket[]): VenueMarket[] {
  let price = FIRST_STRIKE
  return markets
    .toSorted((a, b) => a.startMs - b.startMs)
    .map((market) => {
      const strike = price
      price += market.winner === 0 ? 25.5 : -25.5
      return { ...market, strike: strike.toFixed(8), finalPrice: price.toFixed(8) }
    })
}
