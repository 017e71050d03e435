/**
 * Deletes the oldest data in steps of some milliseconds. The first step removes the market, and the
 * next ones its remaining data, even if a process was killed in between.
 */

import type { Database } from '#src/database/database.ts'
import { type Coin, coins, type Market } from '#src/domain/market.ts'
import type { MarketChange } from '#src/domain/revision.ts'

import type { OldMarket } from '../history.ts'
import type { Tables } from '../tables/tables.ts'
import type { Runs } from './runs.ts'

/** A chunk has some 20 kB, any other row some 100 bytes. */
const CHUNKS_MAX = 8
const ROWS_MAX = 400

type Oldest = { id: number; orderMs: number }
/** A market as counted by the totals of its coin. */
type Counted = Pick<Market, 'conditionId' | 'coin' | 'timeframe' | 'revision'> & {
  source: string
  snapshots: number
  firstMs: number | null
  lastMs: number | null
}
/** The largest distance of states from their window, in milliseconds: five days for both ends. */
const REACH_MS = 432_000_000

/** A market without a book is never closed. */
const isOver =
  'order_ms < $beforeMs AND (is_closed = 1 OR (first_ms IS NULL AND window_end_ms < $beforeMs))'

/** Creates the function that lists what a deletion would delete first. */
export function createOldestList(db: Database) {
  type Row = Omit<OldMarket, 'bytes'> & { id: number }
  const list = db.prepare<Row, [{ beforeMs: number }]>(
    `SELECT id, condition_id AS "conditionId", order_ms AS "orderMs",
       up_count + down_count AS snapshots
     FROM market WHERE ${isOver} ORDER BY order_ms, condition_id`,
  )
  const bytesOf = db.prepare<{ bytes: number }, [number]>(
    `SELECT coalesce(sum(length(tops) + length(rows) + length(hashes) + length(notes)), 0) AS bytes
     FROM chunk WHERE market_id = $1`,
  )
  return function* (beforeMs: number): Generator<OldMarket> {
    for (const { id, ...market } of list.all({ beforeMs }))
      yield { ...market, bytes: bytesOf.get(id)?.bytes ?? 0 }
  }
}

/**
 * Creates the function that performs a step in a transaction; it returns false when nothing is
 * left.
 */
export function createDelete({
  db,
  meta,
  spot,
  runs,
  revisions,
  evidence,
  segments,
  windowOutcomes,
}: Tables & { runs: Runs }) {
  const parts = prepareParts(db)
  const oldestOf = db.prepare<Oldest, [{ coin: Coin; beforeMs: number }]>(
    `SELECT id, order_ms AS "orderMs" FROM market
     WHERE coin = $coin AND ${isOver}
     ORDER BY order_ms, condition_id LIMIT 1`,
  )
  const deleteMarket = db.prepare<Counted, [number]>(
    `DELETE FROM market WHERE id = $1 RETURNING coin, timeframe, source, revision,
       condition_id AS "conditionId",
       up_count + down_count AS snapshots, first_ms AS "firstMs", last_ms AS "lastMs"`,
  )
  const discount = prepareDiscount(db)
  function deleteRest(id: number): void {
    for (const part of parts) if (part.run(id).changes > 0) return
    if (evidence.remove(id)) return
    meta.settleDeletion()
  }

  return (beforeMs: number): boolean => {
    const unfinished = meta.deletionDue()
    if (unfinished !== undefined) {
      deleteRest(unfinished)
      return true
    }
    const found = coins.flatMap((coin) => oldestOf.get({ coin, beforeMs }) ?? [])
    const [oldest] = found.sort((a, b) => a.orderMs - b.orderMs)
    const range = { beforeMs: oldest?.orderMs ?? beforeMs, limit: ROWS_MAX }
    if (coins.some((coin) => spot.remove({ coin, ...range }) > 0)) return true
    if (windowOutcomes.remove(range) > 0) return true
    if (oldest === undefined) return false
    const counted = deleteMarket.get(oldest.id)
    if (counted !== null) {
      discount(counted)
      revisions.note({ ...counted, orderMs: oldest.orderMs }, deletionOf(counted))
    }
    segments.release(oldest.id)
    runs.forget(oldest.id)
    meta.noteMarketId(oldest.id)
    meta.putDeletion(oldest.id)
    return true
  }
}

const deletionOf = ({ snapshots, firstMs, lastMs }: Counted): MarketChange => ({
  why: 'deleted',
  removed: snapshots,
  fromMs: firstMs ?? undefined,
  toMs: lastMs === null ? undefined : lastMs + 1,
})

/**
 * Removes a deleted market from the totals of its coin. This is not a trigger, because `verify`
 * must report a market that something else deletes.
 */
function prepareDiscount(db: Database): (counted: Counted) => void {
  const group = 'coin = $coin AND timeframe = $timeframe AND source = $source'
  const edge = (order: 'ASC' | 'DESC') =>
    `(SELECT order_ms FROM market WHERE ${group} AND first_ms IS NOT NULL
      ORDER BY order_ms ${order} LIMIT 1)`
  const update = db.prepare<unknown, [Counted]>(
    `UPDATE coin_total SET markets = markets - 1, snapshots = snapshots - $snapshots,
       first_ms = CASE WHEN $firstMs > first_ms THEN first_ms ELSE (SELECT min(first_ms) FROM market
         WHERE ${group} AND order_ms <= ${edge('ASC')} + ${REACH_MS}) END,
       last_ms = CASE WHEN $lastMs < last_ms THEN last_ms ELSE (SELECT max(last_ms) FROM market
         WHERE ${group} AND order_ms >= ${edge('DESC')} - ${REACH_MS}) END
     WHERE ${group}`,
  )
  const remove = db.prepare<unknown, [Counted]>(
    `DELETE FROM coin_total WHERE ${group} AND markets = 0`,
  )
  return (counted) => {
    update.run(counted)
    remove.run(counted)
  }
}

const prepareParts = (db: Database) =>
  (
    [
      ['chunk', 'id', CHUNKS_MAX],
      ['tail', 'market_id, time_ms, id', ROWS_MAX],
      // Before the trades that name its rows.
      ['trade_chain', 'trade_id', ROWS_MAX, 'trade_chain JOIN trade ON trade.id = trade_id'],
      ['trade', 'id', ROWS_MAX],
      ['gap', 'market_id, outcome, is_derived, from_ms, to_ms, reason', ROWS_MAX],
    ] as const
  ).map(([table, key, limit, from = table]) =>
    db.prepare<unknown, [number]>(
      `DELETE FROM ${table} WHERE (${key}) IN (
         SELECT ${key} FROM ${from} WHERE market_id = $1 LIMIT ${limit})`,
    ),
  )
