/**
 * What every parameter of the history routes that leaves out rows must do: lists are as of a history
 * in which only the rows that are left were recorded.
 */
import { expect } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createHarness } from './harness.ts'
import { type Params, readPage, readProblem, walk, withParams } from './page-client.ts'

type Row = Record<string, unknown>

type LeftRows = {
  /** Such as `{ minuteOf: 7 }`; without any, `open` leaves rows out. */
  params?: Params
  isState: (state: Snapshot) => boolean
  isTrade: (trade: Trade) => boolean
  /** Values of the parameter that are refused, such as `[60, 'x']`. */
  refused?: readonly (string | number)[]
  /** Opens the history that a server reads. */
  open?: (history: MarketHistory) => MarketHistory
}

const END_MS = START_MS + 4 * 3_600_000
const NOW_MS = END_MS + 600_000
const conditionId = conditionIdOf(1)
const market = `/v1/btc/markets/${conditionId}`

/** Four hours of states of both outcomes, some of them at one moment. */
const states: readonly Snapshot[] = (() => {
  const random = createRandom('left out')
  const times = Array.from({ length: 1000 }, () => START_MS + random.integer(END_MS - START_MS))
  const twice = times.filter((_, index) => index % 10 === 0)
  return [...times, ...twice]
    .toSorted((a, b) => a - b)
    .map((timestampMs) => {
      const outcome: Outcome = random.integer(2) === 0 ? 'up' : 'down'
      const bids = { prices: [300_000 + random.integer(3) * 10_000], sizes: [5_000_000] }
      const size = (1 + random.integer(2)) * 1_000_000
      return aSnapshot({ timeframe: '4h', outcome, timestampMs, bids }, size)
    })
})()

/** At 25 to more than 32 cents: a bound between best bids leaves some states and some trades. */
const trades: readonly Trade[] = states.map(({ timestampMs, outcome }, index) => ({
  timestampMs: timestampMs + (index % 3),
  price: 250_000 + index * 100,
  size: 1_000_000 + index,
  outcome,
  side: 'buy',
}))

const lists: [path: string, params: Params][] = [
  ['snapshots', {}],
  ['snapshots', { outcome: 'up', depth: 1, fields: 'timestamp,outcome,bids' }],
  ['snapshots', { interval: '1m' }],
  ['snapshots', { view: 'consolidated' }],
  ['snapshots', { view: 'consolidated', outcome: 'down' }],
  ['snapshots', { view: 'consolidated', interval: '5m', outcome: 'up' }],
  ['quotes', {}],
  ['quotes', { outcome: 'down' }],
  ['prices', {}],
  ['prices', { interval: '15m' }],
  ['trades', {}],
  ['trades', { outcome: 'up' }],
]

/** A server with one market of some of the rows. */
function serve(
  { isState, isTrade }: Pick<LeftRows, 'isState' | 'isTrade'>,
  open = (history: MarketHistory) => history,
) {
  const history = openHistory(':memory:', { clock: () => END_MS + 1000 })
  const facts = { conditionId, coin: 'btc', timeframe: '4h', source: 'simulated' } as const
  history.putMarket({ ...facts, windowStartMs: START_MS, windowEndMs: END_MS })
  appendAll(history, states.filter(isState))
  history.putTrades({ id: 'trades', conditionId, trades: trades.filter(isTrade) })
  history.close(conditionId)
  const { send } = createHarness({ history: open(history), clock: () => NOW_MS })
  const rowsOf = async (path: string, params: Params, limits = [1000]): Promise<Row[]> =>
    (await walk(send, `${market}/${path}`, { params, limits })).flatMap(
      ({ body }) => body.data as unknown as Row[],
    )
  return { send, rowsOf }
}

/** Ids are given in the order of acceptance, and the share that is recorded is of the whole. */
const comparable = (rows: readonly Row[]): unknown =>
  JSON.parse(JSON.stringify(rows), (name, value: unknown) =>
    name === 'id' || name === 'covered' ? undefined : value,
  )

/**
 * Walks snapshots, quotes, prices and trades in small pages, in both orders, with steps and as
 * ladders, and compares them with a history that holds no other rows. At least ten states and ten
 * trades must be left, and ten rows left out.
 */
export async function expectLeftOut(rows: LeftRows): Promise<void> {
  const { params = {}, isState, isTrade, refused = [], open } = rows
  const whole = { isState: () => true, isTrade: () => true }
  const all = serve(whole, open)
  const alone = serve({ isState, isTrade })
  const left = { states: states.filter(isState).length, trades: trades.filter(isTrade).length }
  const leftOut = states.length - left.states + trades.length - left.trades
  const isEnough = Math.min(left.states, left.trades, leftOut) >= 10
  expect({ ...left, leftOut, isEnough }).toEqual({ ...left, leftOut, isEnough: true })

  for (const [path, own] of lists) {
    for (const order of ['asc', 'desc']) {
      const asked = { ...own, order }
      const expected = comparable(await alone.rowsOf(path, asked))
      const compare = async (more: Params, limits: number[]) => {
        const found = await all.rowsOf(path, { ...asked, ...params, ...more }, limits)
        expect({ path, asked, more, rows: comparable(found) }).toEqual({
          path,
          asked,
          more,
          rows: expected,
        })
      }
      await compare({}, [3, 7])
      await compare({}, [1000])
      await compare({ knownAt: NOW_MS - 1000 }, [11])
    }
  }

  // Where quotes with a step have a row, the whole recording decides.
  const steps = await serve(whole).rowsOf('quotes', { interval: '1m' })
  const prevailing = steps.flatMap(({ time, outcome }) => {
    const timeMs = Date.parse(String(time))
    const state = states.findLast(
      (each) => each.outcome === outcome && each.timestampMs <= timeMs && isState(each),
    )
    return state ? [{ time, outcome, timestamp: new Date(state.timestampMs).toISOString() }] : []
  })
  for (const order of ['asc', 'desc']) {
    const quotes = await all.rowsOf('quotes', { interval: '1m', order, ...params }, [5, 11])
    const seen = quotes.map(({ time, outcome, timestamp }) => ({ time, outcome, timestamp }))
    expect(seen).toEqual(order === 'asc' ? prevailing : prevailing.toReversed())
  }

  for (const path of ['snapshots', 'quotes', 'prices', 'trades']) {
    for (const param of Object.keys(params)) {
      await expectBound(all.send, `${market}/${path}?limit=2`, params)
      for (const value of refused) {
        const problem = await readProblem(
          await all.send(withParams(`${market}/${path}`, { [param]: value })),
        )
        expect(problem).toMatchObject({ status: 400, code: 'invalid_parameter', param })
      }
    }
  }
}

/** Neither a tag nor a cursor of a list without the parameters is one with them. */
async function expectBound(
  send: ReturnType<typeof serve>['send'],
  path: string,
  params: Params,
): Promise<void> {
  const { headers, body } = await readPage(send, path)
  const same = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
  expect((await send(path, same)).status).toBe(304)
  expect((await send(withParams(path, params), same)).status).toBe(200)
  const further = withParams(path, { ...params, cursor: body.nextCursor ?? '' })
  expect((await readProblem(await send(further))).code).toBe('cursor_mismatch')
}
