import { Database } from 'bun:sqlite'

import { and, asc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Elysia, t, type TSchema } from 'elysia'

/**
 * The routes as one writes them on the first day: Elysia, rows by drizzle, levels as JSON text, the
 * answer checked by TypeBox; quotes and prices open each book for its best levels. Well indexed and
 * honestly written. It does not compress and holds no trades, which both save it time.
 * Usage: bun plain-elysia.ts <plain.db> <port>
 */
const market = sqliteTable('market', {
  conditionId: text('condition_id').primaryKey(),
  symbol: text('symbol').notNull(),
})

const snapshot = sqliteTable('snapshot', {
  id: integer('id').primaryKey(),
  conditionId: text('condition_id').notNull(),
  assetId: text('asset_id').notNull(),
  symbol: text('symbol').notNull(),
  outcome: text('outcome', { enum: ['up', 'down'] }).notNull(),
  timeframe: text('timeframe').notNull(),
  timestampMs: integer('timestamp_ms').notNull(),
  bids: text('bids').notNull(),
  asks: text('asks').notNull(),
})

const Level = t.Object({ price: t.Number(), size: t.Number() })
const Outcome = t.Union([t.Literal('up'), t.Literal('down')])
const Snapshot = t.Object({
  id: t.String(),
  assetId: t.String(),
  conditionId: t.String(),
  symbol: t.String(),
  outcome: Outcome,
  timeframe: t.String(),
  timestamp: t.String(),
  bids: t.Array(Level),
  asks: t.Array(Level),
})
const SnapshotList = t.Object({
  data: t.Array(Snapshot),
  nextCursor: t.Union([t.String(), t.Null()]),
})
const SnapshotQuery = t.Object({
  from: t.Optional(t.Integer({ minimum: 0 })),
  to: t.Optional(t.Integer({ minimum: 0 })),
  limit: t.Optional(t.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  cursor: t.Optional(t.String({ minLength: 1 })),
  outcome: t.Optional(Outcome),
})
type SnapshotQuery = typeof SnapshotQuery.static

const NotFound = t.Object({ error: t.String() })

const [path = '', port = ''] = process.argv.slice(2)
const sqlite = new Database(path, { readonly: true })
sqlite.run('PRAGMA cache_size = -65536')
const db = drizzle(sqlite)

function toFilter(conditionId: string, { from, to, outcome, cursor }: SnapshotQuery) {
  const filters: SQL[] = [eq(snapshot.conditionId, conditionId)]
  if (outcome) filters.push(eq(snapshot.outcome, outcome))
  if (from !== undefined) filters.push(gte(snapshot.timestampMs, from))
  if (to !== undefined) filters.push(lt(snapshot.timestampMs, to))
  if (cursor) {
    const [timestampMs, id] = Buffer.from(cursor, 'base64url').toString().split(':').map(Number)
    filters.push(sql`(${snapshot.timestampMs}, ${snapshot.id}) > (${timestampMs}, ${id})`)
  }
  return and(...filters)
}

const hasMarket = (coin: string, conditionId: string) =>
  db.select().from(market).where(eq(market.conditionId, conditionId)).get()?.symbol === coin

function listSnapshots(conditionId: string, query: SnapshotQuery) {
  const { limit = 100 } = query
  const rows = db
    .select()
    .from(snapshot)
    .where(toFilter(conditionId, query))
    .orderBy(asc(snapshot.timestampMs), asc(snapshot.id))
    .limit(limit + 1)
    .all()
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    data: page.map(({ id, timestampMs, bids, asks, ...rest }) => ({
      ...rest,
      id: String(id),
      timestamp: new Date(timestampMs).toISOString(),
      bids: JSON.parse(bids) as (typeof Level.static)[],
      asks: JSON.parse(asks) as (typeof Level.static)[],
    })),
    nextCursor: last ? Buffer.from(`${last.timestampMs}:${last.id}`).toString('base64url') : null,
  }
}

const SeriesQuery = t.Object({
  ...SnapshotQuery.properties,
  limit: t.Optional(t.Integer({ minimum: 1, maximum: 10_000, default: 1000 })),
})
const Decimal = t.Union([t.Number(), t.Null()])
const place = { id: t.String(), outcome: Outcome, timestamp: t.String() }
const Quote = t.Object({
  ...place,
  bid: Decimal,
  bidSize: Decimal,
  ask: Decimal,
  askSize: Decimal,
  mid: Decimal,
  spread: Decimal,
  imbalance: Decimal,
})
const Price = t.Object({
  ...place,
  bid: Decimal,
  ask: Decimal,
  mid: Decimal,
  lastTrade: t.Null(),
  lastTradeTime: t.Null(),
  lastTradeOutcome: t.Null(),
})
const ListOf = <Row extends TSchema>(row: Row) =>
  t.Object({ data: t.Array(row), nextCursor: t.Union([t.String(), t.Null()]) })

/** Prices have at most six decimals; sums and halves of floats have more that say nothing. */
const round = (value: number, decimals = 7) => Number(value.toFixed(decimals))

type SnapshotRow = ReturnType<typeof listSnapshots>['data'][number]

function toQuote({ id, outcome, timestamp, bids, asks }: SnapshotRow): typeof Quote.static {
  const bid = bids[0]
  const ask = asks[0]
  const sides = {
    bid: bid?.price ?? null,
    bidSize: bid?.size ?? null,
    ask: ask?.price ?? null,
    askSize: ask?.size ?? null,
  }
  const between =
    bid && ask
      ? {
          mid: round((bid.price + ask.price) / 2),
          spread: round(ask.price - bid.price),
          imbalance: round((bid.size - ask.size) / (bid.size + ask.size), 6),
        }
      : { mid: null, spread: null, imbalance: null }
  return { id, outcome, timestamp, ...sides, ...between }
}

function toPrice({ id, outcome, timestamp, bid, ask, mid }: typeof Quote.static) {
  const noTrade = { lastTrade: null, lastTradeTime: null, lastTradeOutcome: null }
  return { id, outcome, timestamp, bid, ask, mid, ...noTrade }
}

/** Reads rows until there are enough whose fields differ from the row of their outcome before. */
function listChanges<Row extends { outcome: string }>(
  conditionId: string,
  query: SnapshotQuery,
  { toRow, fields }: { toRow: (row: SnapshotRow) => Row; fields: readonly (keyof Row)[] },
) {
  const { limit = 1000 } = query
  const before = new Map<string, Row>()
  const rows: Row[] = []
  let part = { ...query, limit: 10_000 }
  for (;;) {
    const page = listSnapshots(conditionId, part)
    for (const [index, snapshotRow] of page.data.entries()) {
      const row = toRow(snapshotRow)
      const last = before.get(row.outcome)
      before.set(row.outcome, row)
      if (last && fields.every((field) => last[field] === row[field])) continue
      if (rows.length === limit) {
        const { timestamp, id } = page.data[index - 1] ?? snapshotRow
        const text = `${Date.parse(timestamp)}:${id}`
        return { data: rows, nextCursor: Buffer.from(text).toString('base64url') }
      }
      rows.push(row)
    }
    if (page.nextCursor === null) return { data: rows, nextCursor: null }
    part = { ...part, cursor: page.nextCursor }
  }
}

const quoteChanges = {
  toRow: toQuote,
  fields: ['bid', 'bidSize', 'ask', 'askSize'],
} as const
const priceChanges = {
  toRow: (row: SnapshotRow) => toPrice(toQuote(row)),
  fields: ['mid'],
} as const

new Elysia()
  .get('/healthz', () => 'ok')
  .get(
    '/v1/:coin/markets/:conditionId/snapshots',
    ({ params: { coin, conditionId }, query, status }) => {
      if (!hasMarket(coin, conditionId)) return status(404, { error: 'unknown_market' })
      return listSnapshots(conditionId, query)
    },
    {
      query: SnapshotQuery,
      response: { 200: SnapshotList, 404: NotFound },
    },
  )
  .get(
    '/v1/:coin/markets/:conditionId/quotes',
    ({ params: { coin, conditionId }, query, status }) => {
      if (!hasMarket(coin, conditionId)) return status(404, { error: 'unknown_market' })
      return listChanges(conditionId, query, quoteChanges)
    },
    { query: SeriesQuery, response: { 200: ListOf(Quote), 404: NotFound } },
  )
  .get(
    '/v1/:coin/markets/:conditionId/prices',
    ({ params: { coin, conditionId }, query, status }) => {
      if (!hasMarket(coin, conditionId)) return status(404, { error: 'unknown_market' })
      return listChanges(conditionId, query, priceChanges)
    },
    { query: SeriesQuery, response: { 200: ListOf(Price), 404: NotFound } },
  )
  .listen({ port: Number(port), hostname: '127.0.0.1' })
