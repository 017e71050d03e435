/** Each documented parameter of each method, sent once in each type that the client takes. */
import { describe, expect, test } from 'bun:test'

import { Bookfeed } from '../../clients/typescript/src/bookfeed.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { type Parameter, readDocument } from '../support/openapi-document.ts'
import { requiredParameters } from '../support/operation-requests.ts'

const { history, both } = await createMarketHistory()
const harness = createHarness({ history, billing: fakeBilling() })
const { entries } = await readDocument(harness.send)
const bookfeed = new Bookfeed({
  server: 'http://localhost',
  fetch: (url, init) => harness.send(url.replace('http://localhost', ''), init),
})
const place = { coin: both.coin, conditionId: both.conditionId }
const slug = history.findMarket(both.conditionId)?.slug ?? ''
const DAY = '2026-01-01'
const dayMs = Date.parse(DAY)

type Input = Record<string, unknown>
/** Takes what the types refuse, too: the parameters are those of the document. */
type Call = (input: Input) => Promise<unknown>
const first =
  (walk: (input: never) => { take: (count: number) => Promise<unknown> }): Call =>
  (input) =>
    walk({ ...input, limit: input.limit ?? 20 } as never).take(20)

/** The methods that have a route of their own, by its operation. */
const methods: Record<string, Call> = {
  listMarkets: first((input) => bookfeed.markets(input)),
  getMarket: (input) => bookfeed.market(input as never),
  listSnapshots: first((input) => bookfeed.snapshots(input)),
  listChanges: first((input) => bookfeed.changes(input)),
  listQuotes: first((input) => bookfeed.quotes(input)),
  listPrices: first((input) => bookfeed.prices(input)),
  listTrades: first((input) => bookfeed.trades(input)),
  listSpot: first((input) => bookfeed.spot(input)),
  getSettlement: (input) => bookfeed.settlement(input as never),
  listSettlements: first((input) => bookfeed.settlements(input)),
  listDays: (input) => bookfeed.days(input as never),
  listIncidents: (input) => bookfeed.incidents(input),
  getPanel: first((input) => bookfeed.panel(input)),
  listPayments: first((input) => bookfeed.payments(input)),
  getSnapshotsAt: (input) => bookfeed.bookAt(input as never),
  exportMarket: (input) => exported(input),
  exportDay: ({ conditionId: _, ...input }) => exported(input),
}
async function exported(input: Input): Promise<string> {
  const { body } = await bookfeed.export(input as never)
  return new Bun.CryptoHasher('sha256').update(await new Response(body).arrayBuffer()).digest('hex')
}

/** Keeps exports short. */
const short: Record<string, Input> = {
  exportDay: { depth: 1, format: 'csv' },
  exportMarket: { depth: 1, format: 'csv' },
}
/** What does not go with a parameter. */
const without: Record<string, string> = { usdc: 'size', shape: 'depth' }

/** Texts that no schema lists. */
const texts: Record<string, readonly (readonly unknown[])[]> = {
  slug: [[slug]],
  source: [['simulated']],
  cursor: [[undefined]],
  id: [[`bookfeed:btc/5m/${DAY}`]],
  offsets: [
    ['-60s', ['-60s']],
    ['-60s,-5s', ['-60s', '-5s'], Object.freeze(['-60s', '-5s'])],
  ],
  fields: [
    ['id', ['id']],
    ['id,outcome', ['id', 'outcome']],
  ],
}
const moments: Record<string, number> = {
  to: dayMs + 86_400_000,
  until: dayMs + 86_400_000,
}
const integers: Record<string, number> = { maxAgeMs: 1e9, timeBins: 20, window: 60, sequence: 1 }

/** Forms of values: those of one list mean the same, so their answers are equal. */
function formsOf(
  operationId: string,
  { name, schema }: Parameter,
): readonly (readonly unknown[])[] {
  if (name === 'after') {
    return [[operationId === 'exportDay' ? `${both.conditionId}:${rowId}` : rowId]]
  }
  const known = texts[name]
  if (known !== undefined && schema.enum === undefined) return known
  if (schema.enum) {
    return schema.enum.map((each) => (/^\d+$/.test(String(each)) ? [each, Number(each)] : [each]))
  }
  if (schema.anyOf?.some(({ format }) => format === 'date-time')) {
    const ms = moments[name] ?? dayMs
    const iso = new Date(ms).toISOString()
    return [[ms, ms / 1000, iso, iso.slice(0, 10), new Date(ms)]]
  }
  if (schema.format === 'decimal') {
    return name === 'limitPrice' || name === 'price'
      ? [['0.5', 0.5]]
      : [
          ['0.5', 0.5],
          ['1', 1],
        ]
  }
  if (schema.type === 'boolean') return [[true], [false]]
  if (schema.type === 'integer') return [[integers[name] ?? 3]]
  throw new Error(`No values of ${operationId} ${name}.`)
}
const rowId = ((await bookfeed.snapshots({ ...place, limit: 1 }).take(1))[0] as { id: string }).id

const answerOf = async (call: Call, input: Input): Promise<unknown> =>
  Bun.hash(JSON.stringify(await call(input)) ?? '')

const reads = entries.filter(
  ({ method, path, responses }) =>
    method === 'GET' &&
    path.startsWith('/v1/') &&
    !path.includes('{id}') &&
    !path.endsWith('/live') &&
    !path.startsWith('/v1/admin') &&
    (responses[200]?.content?.['application/json'] !== undefined || path.endsWith('/export')),
)

describe('parameters of the client', () => {
  test('default: types take arrays of names, dates and numbers, also such as never change', async () => {
    const from = new Date(dayMs)
    const quotes = bookfeed.quotes({ ...place, fields: ['id', 'outcome'], from, to: '2026-01-02' })
    const fields = ['id', 'outcome'] as const
    expect(await bookfeed.quotes({ ...place, fields, from }).take(5)).toEqual(await quotes.take(5))
    const offsets = ['-60s', '-5s'] as const
    const panel = { coin: 'btc', timeframe: '5m', from, offsets } as const
    const rows = await bookfeed.panel(panel).take(2)
    expect(rows.map(({ offset }) => offset)).toEqual([...offsets])
    const fill = { ...place, ts: from, outcome: 'up', side: 'buy', size: 1, feeBps: 0.5 } as const
    await expect(
      bookfeed.get('/v1/{coin}/markets/{conditionId}/fill', { ...fill, ts: NOW_MS }),
    ).resolves.toMatchObject({ outcome: 'up' })
    expect(await bookfeed.markets({ coin: 'btc', withBooks: true }).take(9)).not.toBeEmpty()
  })

  test('default: moments of many books are taken in each type', async () => {
    const { conditionId } = both
    const ts = [dayMs + 86_400_000, '2026-01-02T00:00:00Z', '2026-01-02', new Date('2026-01-02')]
    const requests = ts.map((each) => ({ conditionId, outcome: 'up', ts: each }) as const)
    for (const fields of ['id', ['id'], Object.freeze(['id'])]) {
      const { data } = await bookfeed.booksAt({ coin: 'btc', requests, fields })
      expect(data.map(({ snapshot }) => snapshot)).toEqual(ts.map(() => data[0]?.snapshot ?? null))
      expect(data[0]?.snapshot).toEqual({ id: expect.any(String) })
    }
  })

  test('behavior: every method has its operation', () => {
    const ids = new Set(reads.map(({ operationId }) => operationId))
    expect(Object.keys(methods).filter((id) => !ids.has(id))).toEqual([])
  })

  test.each(reads.map((entry) => [entry.operationId, entry] as const))(
    'default: %s takes each of them in each type',
    async (operationId, { path, parameters = [] }) => {
      const get: Call = (input) => bookfeed.get(path as never, input as never)
      const call = methods[operationId] ?? get
      const names = parameters.filter(({ in: where }) => where === 'path').map(({ name }) => name)
      const where = Object.fromEntries(
        Object.entries(place).filter(([name]) => names.includes(name)),
      )
      for (const parameter of parameters.filter((each) => each.in === 'query')) {
        const { name } = parameter
        if (name === 'format' || name === 'numbers') continue
        // It needs a format of its own.
        if (name === 'kind' && operationId === 'exportMarket') continue
        for (const forms of formsOf(operationId, parameter)) {
          const others: Input = { ...requiredParameters[operationId], ...short[operationId] }
          delete others[without[name] ?? '']
          const answers: unknown[] = []
          for (const form of forms)
            answers.push(await answerOf(call, { ...where, ...others, [name]: form }))
          expect([name, forms, answers]).toEqual([name, forms, forms.map(() => answers[0])])
        }
      }
    },
  )
})
