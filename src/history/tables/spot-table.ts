/** Rows of the spot table: reference prices of coins. */
import { spot } from '#db/history/schema.ts'
import { assertSealed, assertSound, checksumOf, SUM_END, SUM_MASK } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, readConsistently } from '#src/database/database.ts'
import type { Coin } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import {
  compareTicks,
  type SpotQuery,
  type SpotTick,
  type StoredTick,
  type TickPlace,
} from '#src/domain/spot.ts'

import type { MetaTable } from './meta-table.ts'

type SpotRow = typeof spot.$inferSelect
type Removal = { coin: string; beforeMs: number; limit: number }
type Range = Record<'fromMs' | 'toMs' | 'startMs' | 'startSeconds' | 'aboveId' | 'uptoId', number> &
  Record<'coin' | 'startSource', string> & { source: string | null; windowSeconds: number | null }
type Span = Range & { limit: number }
type Series = Pick<SpotRow, 'source' | 'windowSeconds'>

const IN_SPAN = `time_ms >= $fromMs AND time_ms < $toMs AND id > $aboveId AND id <= $uptoId`
const IN_RANGE = `coin = $coin AND ${IN_SPAN}
  AND ($source IS NULL OR source = $source)
  AND ($windowSeconds IS NULL OR window_seconds = $windowSeconds)`
/** The position before the first row of an order. */
const edges: Readonly<Record<SpotQuery['order'], TickPlace>> = {
  asc: { timestampMs: -1, source: '', windowSeconds: -1 },
  desc: { timestampMs: Number.MAX_SAFE_INTEGER, source: '', windowSeconds: -1 },
}

/** Reads and writes ticks. */
export function createSpotTable(db: Database, meta: MetaTable) {
  const sql = sqlOf(spot)
  const insert = db.prepare<unknown, [SpotRow]>(
    `${sql.insert()} ON CONFLICT (coin, source, window_seconds, time_ms) DO NOTHING`,
  )
  const held = db.prepare<SpotRow, [SpotRow]>(
    `SELECT ${sql.columns()} FROM spot INDEXED BY spot_series
     WHERE coin = $coin AND source = $source AND window_seconds = $windowSeconds
       AND time_ms = $timeMs`,
  )
  const update = db.prepare<unknown, [SpotRow]>(
    `UPDATE spot SET ${sql.set(['price', 'receivedMs', 'sequence', 'dropped', 'checksum'])}
     WHERE id = $id`,
  )
  // No id is reused, so the greatest row stays.
  const remove = db.prepare<Pick<SpotRow, 'checksum'>, [Removal]>(
    `DELETE FROM spot WHERE id IN (
       SELECT id FROM spot WHERE coin = $coin AND time_ms < $beforeMs
         AND id < (SELECT max(id) FROM spot) LIMIT $limit) RETURNING checksum`,
  )
  const greatestId = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM spot')
  const select = (after: '>' | '<', order: 'ASC' | 'DESC') =>
    db.prepare<SpotRow, [Range & { limit: number }]>(
      `SELECT ${sql.columns()} FROM spot INDEXED BY spot_order
       WHERE ${IN_RANGE}
         AND (time_ms <> $startMs OR (source, window_seconds) ${after} ($startSource, $startSeconds))
       ORDER BY time_ms ${order}, source ${order}, window_seconds ${order} LIMIT $limit`,
    )
  const seriesOf = db.prepare<Series, [number]>(
    `SELECT ${sql.columns(['source', 'windowSeconds'])} FROM spot WHERE id = $1`,
  )
  const all = db.prepare<SpotRow, []>(`SELECT ${sql.columns()} FROM spot`)
  const reads = { asc: select('>', 'ASC'), desc: select('<', 'DESC') }
  const assertListed = createListedCheck(db)
  const found = createCorrection(db)

  /** The position of a deleted tick, before all of its moment. */
  function placeOf({ timestampMs, id }: Position): TickPlace {
    const { source, windowSeconds } = seriesOf.get(id) ?? edges.asc
    return { timestampMs, source, windowSeconds }
  }

  /**
   * Keeps one of the ticks of the same series and time, whatever the order of imports. Returns the
   * change of the sum.
   */
  function keepOne(row: SpotRow): number {
    const known = held.get(row)
    if (known === null || !isPreferred(row, known)) return 0
    assertSealed(known, nameOf(known))
    const now = { ...row, id: known.id }
    now.checksum = checksumOf(now)
    update.run(now)
    return SUM_END + now.checksum - known.checksum
  }

  const lastId = (): number => greatestId.get()?.id ?? 0

  return {
    lastId,

    /**
     * Adds ticks; of ticks with the same source, window and time, one stays: see `isPreferred`. A
     * tick without `receivedMs` is subtracted from the loss reported by the next received tick.
     * Returns the number of new ticks.
     */
    insert(ticks: readonly SpotTick[]): number {
      if (ticks.length === 0) return 0
      let id = lastId() + 1
      let added = 0
      let sumAdded = 0
      for (const tick of ticks) {
        const row = toRow(tick, id)
        if (insert.run(row).changes === 0) {
          sumAdded += keepOne(row)
          continue
        }
        id++
        added++
        sumAdded += row.checksum + found(row)
      }
      if (sumAdded > 0) meta.putSpotSum((meta.spotSum() + sumAdded) % SUM_END)
      return added
    },

    /** Removes some of the ticks before a moment; returns their number. */
    remove(removal: Removal): number {
      const gone = remove.all(removal)
      const sum = gone.reduce((total, { checksum }) => total + checksum, 0) % SUM_END
      if (gone.length > 0) meta.putSpotSum((meta.spotSum() + SUM_END - sum) % SUM_END)
      return gone.length
    },

    /** Faults, each a sentence. */
    verify(): string[] {
      const faults: string[] = []
      let sum = 0
      for (const row of all.iterate()) {
        sum = (sum + row.checksum) % SUM_END
        if (row.checksum !== checksumOf(row)) faults.push(`${nameOf(row)} is not as it was written`)
      }
      return sum === meta.spotSum() ? faults : [...faults, 'spot table: its rows are not all there']
    },

    /** Lists ticks; throws a `damage` fault. */
    list: (query: SpotQuery): StoredTick[] =>
      readConsistently(db, () => {
        const { order, limit, after } = query
        const start = after === undefined ? edges[order] : placeOf(after)
        const ticks = reads[order].all({ ...rangeOf(query, start), limit }).map(toTick)
        assertListed(query, start, ticks)
        return ticks
      }),
  }
}

/**
 * Creates the function to call for each new tick. A tick without a time of receipt was lost before
 * the next one that was received, and is subtracted from the loss that this one reports. Returns the
 * change of the sum.
 */
function createCorrection(db: Database): (row: SpotRow) => number {
  const sql = sqlOf(spot)
  const ofSeries = 'coin = $coin AND source = $source AND window_seconds = $windowSeconds'
  // Few ticks report a loss, so most ticks end here, however many follow them.
  const nextLoss = db.prepare<SpotRow, [SpotRow]>(
    `SELECT ${sql.columns()} FROM spot INDEXED BY spot_dropped
     WHERE ${ofSeries} AND time_ms > $timeMs AND dropped > 0 ORDER BY time_ms LIMIT 1`,
  )
  const receivedBetween = db.prepare<{ id: number }, [SpotRow & { untilMs: number }]>(
    `SELECT id FROM spot INDEXED BY spot_series
     WHERE ${ofSeries} AND time_ms > $timeMs AND time_ms < $untilMs
       AND received_ms IS NOT NULL LIMIT 1`,
  )
  const setDropped = db.prepare<unknown, [Pick<SpotRow, 'id' | 'dropped' | 'checksum'>]>(
    'UPDATE spot SET dropped = $dropped, checksum = $checksum WHERE id = $id',
  )
  return (row) => {
    const next = row.receivedMs === null ? nextLoss.get(row) : undefined
    if (!next || receivedBetween.get({ ...row, untilMs: next.timeMs })) return 0
    assertSealed(next, nameOf(next))
    const { id } = next
    const dropped = (next.dropped ?? 0) - 1
    const checksum = checksumOf({ ...next, dropped })
    setDropped.run({ id, dropped, checksum })
    return SUM_END + checksum - next.checksum
  }
}

/** One bound at each end: a page enters the index at the later of position and range. */
function rangeOf(
  { coin, order, source, windowSeconds, ...range }: SpotQuery,
  start: TickPlace,
): Range {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = range
  const { aboveId = 0, uptoId = Number.MAX_SAFE_INTEGER } = range
  const { timestampMs: startMs, source: startSource, windowSeconds: startSeconds } = start
  const isAscending = order === 'asc'
  return {
    coin,
    source: source ?? null,
    windowSeconds: windowSeconds ?? null,
    startMs,
    startSource,
    startSeconds,
    aboveId,
    uptoId,
    fromMs: isAscending ? Math.max(fromMs, startMs) : fromMs,
    toMs: isAscending ? toMs : Math.min(toMs, startMs + 1),
  }
}

/**
 * Creates a check that a page is complete and in order: if another index disagrees about the rows
 * of its span, one has lost entries. Throws a `damage` fault.
 */
function createListedCheck(db: Database) {
  const fromSeries = `FROM spot INDEXED BY spot_series WHERE coin = $coin`
  const nextSeries = db.prepare<Series, [Series & { coin: string }]>(
    `SELECT source, window_seconds AS "windowSeconds" ${fromSeries}
       AND (source, window_seconds) > ($source, $windowSeconds)
     ORDER BY source, window_seconds LIMIT 1`,
  )
  const sums = db.prepare<{ count: number; sum: number }, [Span]>(
    `SELECT count(*) AS count, coalesce(sum(time_ms + id), 0) & ${SUM_MASK} AS sum FROM (
       SELECT time_ms, id ${fromSeries} AND ${IN_SPAN}
         AND source = $source AND window_seconds = $windowSeconds LIMIT $limit + 1) AS entries`,
  )
  /** Series by coin, as last read; they are few. */
  const known = new Map<string, Series[]>()

  function listSeries(coin: string): Series[] {
    const found: Series[] = []
    for (let last: Series = { source: '', windowSeconds: 0 }; ; found.push(last)) {
      const next = nextSeries.get({ ...last, coin })
      if (next === null) break
      last = next
    }
    known.set(coin, found)
    return found
  }

  return (query: SpotQuery, start: TickPlace, ticks: readonly StoredTick[]): void => {
    const { order, limit } = query
    const isAscending = order === 'asc'
    let before = start
    let sum = 0
    let isInOrder = true
    for (const tick of ticks) {
      const isLater = compareTicks(tick, before) > 0
      isInOrder &&= isLater === isAscending
      sum = (sum + tick.timestampMs + tick.id) % SUM_END
      before = tick
    }
    const { fromMs, toMs, ...range } = rangeOf(query, start)
    const edge = { ...before, timestampMs: isAscending ? toMs : fromMs - 1 }
    const end = ticks.length < limit ? edge : before
    const [first, last] = isAscending ? [start, end] : [end, start]
    /** The span of a series within the range, its start exclusive and its end inclusive. */
    const spanOf = (series: Series): Span => {
      const timeFrom = (place: TickPlace): number => {
        const { timestampMs } = place
        const apart = compareTicks({ ...series, timestampMs }, place)
        return timestampMs + ((isAscending ? apart > 0 : apart >= 0) ? 0 : 1)
      }
      return {
        ...range,
        ...series,
        limit,
        fromMs: Math.max(fromMs, timeFrom(first)),
        toMs: Math.min(toMs, timeFrom(last)),
      }
    }
    const isWholeOver = (series: readonly Series[]): boolean => {
      const parts = series
        .filter(({ source }) => (query.source ?? source) === source)
        .filter(({ windowSeconds: seconds }) => (query.windowSeconds ?? seconds) === seconds)
        .map((each) => sums.get(spanOf(each)) ?? { count: 0, sum: 0 })
      const count = parts.reduce((total, part) => total + part.count, 0)
      return (
        count === ticks.length && parts.reduce((all, part) => (all + part.sum) % SUM_END, 0) === sum
      )
    }
    // Another series may have begun since the list was made.
    const isWhole = isWholeOver(known.get(query.coin) ?? []) || isWholeOver(listSeries(query.coin))
    assertSound(isInOrder && isWhole, 'an index of prices')
  }
}

/** In dollars. Feeds round averages, so a smaller difference is not a correction. */
const ROUNDING = 1e-8

/**
 * Of different prices that were received, the last one counts: it is the feed's correction. Of equal
 * prices, the one that was received first counts.
 */
function isPreferred(row: SpotRow, known: SpotRow): boolean {
  const isCorrection = Math.abs(Number(row.price) - Number(known.price)) >= ROUNDING
  const { receivedMs: ownMs } = row
  const { receivedMs: knownMs } = known
  if (!isCorrection || ownMs === null || knownMs === null || ownMs === knownMs)
    return compareReceipts(row, known) < 0
  return ownMs > knownMs
}

/** Historical ticks were not received; of equal ticks the first by content counts. */
const compareReceipts = (a: SpotRow, b: SpotRow): number =>
  (a.receivedMs ?? Number.MAX_SAFE_INTEGER) - (b.receivedMs ?? Number.MAX_SAFE_INTEGER) ||
  Number(a.price > b.price) - Number(a.price < b.price) ||
  (a.sequence ?? Number.MAX_SAFE_INTEGER) - (b.sequence ?? Number.MAX_SAFE_INTEGER) ||
  (a.dropped ?? Number.MAX_SAFE_INTEGER) - (b.dropped ?? Number.MAX_SAFE_INTEGER)

function toRow(tick: SpotTick, id: number): SpotRow {
  const { coin, source, windowSeconds, timestampMs, price } = tick
  const { receivedMs = null, sequence = null, dropped = null } = tick
  const row = {
    id,
    coin,
    source,
    windowSeconds,
    timeMs: timestampMs,
    price,
    receivedMs,
    sequence,
    dropped,
    checksum: 0,
  }
  row.checksum = checksumOf(row)
  return row
}

const nameOf = ({ id, coin }: SpotRow): string => `price ${id} of ${coin}`

function toTick(row: SpotRow): StoredTick {
  assertSealed(row, nameOf(row))
  const { id, source, windowSeconds, timeMs, price, receivedMs, sequence, dropped } = row
  return {
    id,
    coin: row.coin as Coin,
    source,
    windowSeconds,
    timestampMs: timeMs,
    price,
    receivedMs: receivedMs ?? undefined,
    sequence: sequence ?? undefined,
    dropped: dropped ?? undefined,
  }
}
