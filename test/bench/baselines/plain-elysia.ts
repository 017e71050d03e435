import { Database } from 'bun:sqlite'

import { and, asc, eq, gte, lt, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { Elysia, t } from 'elysia'

/**
 * The snapshots route as one writes it on the first day: Elysia, rows by drizzle, levels as JSON
 * text, the answer checked by TypeBox. Well indexed and honestly written; it does not compress, which
 * saves it time. Usage: bun plain-elysia.ts <plain.db> <port>
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

new Elysia()
  .get('/healthz', () => 'ok')
  .get(
    '/v1/:coin/markets/:conditionId/snapshots',
    ({ params: { coin, conditionId }, query, status }) => {
      const found = db.select().from(market).where(eq(market.conditionId, conditionId)).get()
      if (found?.symbol !== coin) return status(404, { error: 'unknown_market' })
      return listSnapshots(conditionId, query)
    },
    {
      query: SnapshotQuery,
      response: { 200: SnapshotList, 404: t.Object({ error: t.String() }) },
    },
  )
  .listen({ port: Number(port), hostname: '127.0.0.1' })
