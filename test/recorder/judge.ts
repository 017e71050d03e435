/** Compares what routes serve of a market with what was true at the venue. */
import type { GapReason } from '#src/domain/coverage.ts'

import {
  hashOf,
  type Level,
  type MarketState,
  printPrice,
  readPrice,
} from '../support/venue/book.ts'
import type { VenueMarket } from '../support/venue/playbook.ts'

/** Gets the body of a route. */
export type Ask = (path: string) => Promise<unknown>

export type Truth = {
  market: VenueMarket
  /** In the order in which they came to be. */
  states: readonly MarketState[]
  /** Messages of changes, of any market, that the venue never sent. */
  lost?: readonly string[]
}

export type ServedGap = { outcome: string; fromMs: number; toMs: number; reason: GapReason }

/** Everything that is wrong is listed; a sound recording has none of it. */
export type Judgement = {
  /** Rows outside of gaps that were never true. */
  untrue: string[]
  /** True states outside of gaps that are not served. */
  missing: string[]
  /** Rows of one outcome and millisecond, where the venue had one state. */
  twice: string[]
  /** Outcomes whose last true book is not the last row, or lies in a gap. */
  unwell: string[]
  rows: number
  /** States of the venue that were compared. */
  states: number
  /** Of both outcomes, in the time of the market. */
  gaps: ServedGap[]
}

/** The first few of everything that is wrong; none of a sound recording. */
export const faultsOf = (judgements: readonly Judgement[]): string[] =>
  judgements
    .flatMap(({ untrue, missing, twice, unwell }) => [
      ...untrue.map((each) => `untrue ${each}`),
      ...missing.map((each) => `missing ${each}`),
      ...twice.map((each) => `twice ${each}`),
      ...unwell.map((each) => `unwell ${each}`),
    ])
    .slice(0, 8)

type Row = { timestamp: string; outcome: string; bids: Priced[]; asks: Priced[] }
type Priced = { price: number; size: number }
type Page<T> = { data: T[]; nextCursor: string | null }
type CoverageBody = {
  outcomes: { outcome: string; gaps: { from: string; to: string; reason: GapReason }[] }[]
}

const outcomes = ['up', 'down'] as const

export async function judge(ask: Ask, { market, states, lost = [] }: Truth): Promise<Judgement> {
  const base = `/v1/${market.coin}/markets/${market.conditionId}`
  const rows = await rowsOf(ask, base)
  const times = states.map(({ timestampMs }) => timestampMs)
  const span = { from: String(Math.min(...times)), to: String(Math.max(...times) + 1) }
  const coverage = await ask(`${base}/coverage?${new URLSearchParams(span)}`)
  const gaps = (coverage as CoverageBody).outcomes.flatMap(({ outcome, gaps: found }) =>
    found.map(({ from, to, reason }) => ({
      outcome,
      reason,
      fromMs: Date.parse(from),
      toMs: Date.parse(to),
    })),
  )
  const ownLost = lost.filter((text) => text.includes(market.conditionId))
  const lostMs = new Set(ownLost.map((text) => Number(/"timestamp":"(\d+)"/.exec(text)?.[1])))
  const parts = outcomes.map((outcome, token) =>
    judgeOutcome({
      name: `${market.slug} ${outcome}`,
      rows: rows.filter((row) => row.outcome === outcome),
      states: states.map((state) => ({ state, book: state.books[token] ?? state.books[0] })),
      lostMs,
      isInGap: (ms) =>
        gaps.some((gap) => gap.outcome === outcome && gap.fromMs <= ms && ms < gap.toMs),
    }),
  )
  const all = <Name extends keyof (typeof parts)[number]>(name: Name) =>
    parts.flatMap((part) => part[name])
  return {
    untrue: all('untrue'),
    missing: all('missing'),
    twice: all('twice'),
    unwell: all('unwell'),
    rows: rows.length,
    states: 2 * states.length,
    gaps,
  }
}

async function rowsOf(ask: Ask, base: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = new URLSearchParams({ limit: '1000', ...(cursor === '' ? {} : { cursor }) })
    const page = (await ask(`${base}/snapshots?${query}`)) as Page<Row>
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}

type TrueBook = { state: MarketState; book: MarketState['books'][number] }
type Side = {
  name: string
  rows: readonly Row[]
  states: readonly TrueBook[]
  /** Times of which a message was lost. */
  lostMs: ReadonlySet<number>
  isInGap(ms: number): boolean
}

function judgeOutcome({ name, rows, states: all, lostMs, isInGap }: Side) {
  // A trade that leaves the book as it was is no message about the book.
  const states = all.filter(({ book }, at) => {
    const before = all[at - 1]?.book
    return before === undefined || before.bids !== book.bids || before.asks !== book.asks
  })
  // A whole book that is sent later may say it.
  const trueAt = Map.groupBy(all, ({ state }) => state.timestampMs)
  const saidAt = Map.groupBy(states, ({ state }) => state.timestampMs)
  const servedAt = Map.groupBy(rows, ({ timestamp }) => Date.parse(timestamp))
  const say = (ms: number): string => `${name} ${new Date(ms).toISOString()}`
  const isServed = (ms: number, { book }: TrueBook): boolean =>
    (servedAt.get(ms) ?? []).some((row) => textOf(row) === textOfBook(book))

  const untrue = rows
    .map((row) => ({ row, ms: Date.parse(row.timestamp) }))
    .filter(({ ms }) => !isInGap(ms))
    .filter(({ row, ms }) => !(trueAt.get(ms) ?? []).some((each) => isTrue(row, each)))
    .map(({ ms }) => say(ms))
  // Of one millisecond the last state counts; a clock that jumped back may have had several.
  const missing = [...saidAt]
    .filter(([ms]) => !isInGap(ms))
    .filter(([ms, books]) => !books.some((each) => isServed(ms, each)))
    .filter(([ms]) => {
      const next = untoldBefore(states, lostMs, ms)
      return next === undefined || !isServed(next.state.timestampMs, next)
    })
    .map(([ms]) => say(ms))
  const twice = [...servedAt]
    .filter(([ms, found]) => found.length > (trueAt.get(ms)?.length ?? 1))
    .map(([ms]) => say(ms))
  const last = states.at(-1)
  if (last === undefined) return { untrue, missing, twice, unwell: [] }
  // A whole book that is sent later has the time of the last state, which may have changed nothing.
  const isWell = all
    .slice(all.indexOf(last))
    .some((each) => !isInGap(each.state.timestampMs) && isServed(each.state.timestampMs, each))
  return { untrue, missing, twice, unwell: isWell ? [] : [say(last.state.timestampMs)] }
}

/**
 * The state that leaves no trace of the one at `ms`, whose message was lost: whatever the lost
 * messages changed, it changes again. Undefined where there is none, so that the loss must show.
 */
function untoldBefore(states: readonly TrueBook[], lostMs: ReadonlySet<number>, ms: number) {
  if (!lostMs.has(ms)) return undefined
  const isLost = ({ state }: TrueBook) => lostMs.has(state.timestampMs)
  const at = states.findIndex(({ state }) => state.timestampMs === ms)
  const nextAt = states.findIndex((each, index) => index > at && !isLost(each))
  const before = states.findLast((each, index) => index < at && !isLost(each))
  const last = states[nextAt - 1]
  const next = states[nextAt]
  if (!before || !last || !next) return undefined
  const again = changed(last.book, next.book)
  return changed(before.book, last.book).isSubsetOf(again) ? next : undefined
}

/** Levels that are not the same in both. */
function changed(a: TrueBook['book'], b: TrueBook['book']): Set<string> {
  const textsOf = ({ bids, asks }: TrueBook['book']) =>
    new Map([
      ...bids.map(({ price, size }) => [`bid ${price}`, size] as const),
      ...asks.map(({ price, size }) => [`ask ${price}`, size] as const),
    ])
  const before = textsOf(a)
  const after = textsOf(b)
  const names = [...before.keys(), ...after.keys()]
  return new Set(names.filter((name) => before.get(name) !== after.get(name)))
}

/** Its levels are those of the state, and make the hash that the venue gave it. */
function isTrue(row: Row, { state, book }: TrueBook): boolean {
  if (textOf(row) !== textOfBook(book)) return false
  const { assetId } = book
  const sides = { bids: levelsOf(row.bids), asks: levelsOf(row.asks) }
  const recipes = ['documented', 'other', 'unheard'] as const
  return recipes.some((recipe) => hashOf({ ...state, assetId, sides }, recipe) === book.hash)
}

type Printed = Pick<Row, 'bids' | 'asks'>

/** Best level first, as routes print it. */
const printed = ({ bids, asks }: { bids: readonly Level[]; asks: readonly Level[] }): Printed => ({
  bids: bids.toReversed().map(pricedOf),
  asks: asks.toReversed().map(pricedOf),
})

const pricedOf = ({ price, size }: Level): Priced => ({
  price: Number(printPrice(price)),
  size: Number(size),
})

const textOf = ({ bids, asks }: Printed): string => JSON.stringify([bids, asks])

/** Texts of true books, which are compared with several rows and in several judgements. */
const textsOfBooks = new WeakMap<TrueBook['book'], string>()
function textOfBook(book: TrueBook['book']): string {
  const known = textsOfBooks.get(book)
  if (known !== undefined) return known
  const text = textOf(printed(book))
  textsOfBooks.set(book, text)
  return text
}

/** Best level last, as the venue prints it. */
const levelsOf = (levels: readonly Priced[]): Level[] =>
  levels.toReversed().map(({ price, size }) => {
    const text = `{"price":"${price}","size":"${size}"}`
    return { price: readPrice(String(price)), size: String(size), text }
  })

type MarketBody = { winner: unknown; strike: unknown; finalPrice: unknown }

/** What the market's own route says of its outcome, beside what is true of it. */
export async function judgeFacts(ask: Ask, market: VenueMarket) {
  const body = await ask(`/v1/${market.coin}/markets/${market.conditionId}`)
  const { winner, strike, finalPrice } = body as MarketBody
  return {
    served: { winner, strike, finalPrice },
    truth: {
      winner: outcomes[market.winner],
      strike: Number(market.strike),
      finalPrice: Number(market.finalPrice),
    },
  }
}
