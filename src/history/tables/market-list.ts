/** Lists of markets, paged by a keyset, and totals of coins, which triggers keep in a few rows. */
import { coinTotal, market } from '#db/history/schema.ts'
import { assertSound } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { MarketPosition } from '#src/domain/cursor.ts'
import {
  coins,
  type Market,
  type MarketStatus,
  type Source,
  timeframeMs,
} from '#src/domain/market.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { CoinTotals, MarketQuery } from '../history.ts'
import { marketName, naming } from '../reads/market-read.ts'
import { type MarketRow, toMarket } from './market-table.ts'

type Values = Record<string, string | number | null>

/**
 * `statusOf` of domain/market.ts in SQL. `winner IS NULL` and `is_closed = 0` stand alone, so that
 * SQLite can use the partial indexes.
 */
const notOver = 'winner IS NULL AND is_closed = 0 AND NOT coalesce(window_end_ms <= $now, FALSE)'
const statusConditions: Readonly<Record<MarketStatus, string>> = {
  resolved: 'winner IS NOT NULL',
  closed: 'winner IS NULL AND (is_closed = 1 OR coalesce(window_end_ms <= $now, FALSE))',
  upcoming: `${notOver} AND coalesce(window_start_ms, 0) > $now`,
  open: `${notOver} AND coalesce(window_start_ms, 0) <= $now`,
}

export function createMarketList(db: Database) {
  const columns = sqlOf(market).columns()
  const held = db.prepare<
    { firstMs: number | null; lastMs: number | null; markets: number },
    [Held]
  >(
    `SELECT min(first_ms) AS "firstMs", max(last_ms) AS "lastMs", count(*) AS markets FROM coin_total
     WHERE coin = $coin AND source = $source AND markets > 0`,
  )

  /** If most markets of a coin have the other source, narrows a short list to where its own are. */
  function narrow<Query extends Omit<MarketQuery, 'limit'>>(query: Query): Query | undefined {
    const { coin, source, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = query
    const found = source === undefined ? undefined : held.get({ coin, source })
    if (found === undefined || found === null) return query
    if (found.markets === 0) return undefined
    if (source !== 'simulated' || found.firstMs === null || found.lastMs === null) return query
    return {
      ...query,
      fromMs: Math.max(fromMs, found.firstMs - APART_MS),
      toMs: Math.min(toMs, found.lastMs + APART_MS),
    }
  }

  /** `indexed` are conditions served by an index; `others` require a look at each row. */
  function conditionsOf(query: Omit<MarketQuery, 'limit'>) {
    const { coin, timeframe, status, winner, source } = query
    const range = rangeOf(query)
    const indexed = ['coin = $coin', range.condition]
    const others: string[] = []
    if (timeframe !== undefined) indexed.push('timeframe = $timeframe')
    if (status !== undefined && status !== 'resolved') indexed.push('winner IS NULL')
    if (isLive(query)) indexed.push('is_closed = 0')
    if (status !== undefined) others.push(statusConditions[status])
    if (winner !== undefined) others.push('winner = $winner')
    if (source !== undefined) others.push('source = $source')
    const now = status === undefined || status === 'resolved' ? null : nowOf(query)
    const filters = { timeframe: timeframe ?? null, winner: winner ?? null, source: source ?? null }
    return { indexed, others, values: { ...range.values, ...filters, coin, now } }
  }

  const orderOf = ({ order }: Pick<MarketQuery, 'order'>): string => {
    const direction = order === 'asc' ? 'ASC' : 'DESC'
    return `ORDER BY order_ms ${direction}, condition_id ${direction}`
  }

  return {
    listMarkets(asked: MarketQuery): Market[] {
      const query = narrow(asked)
      if (query === undefined) return []
      const { coin, limit, status, winner, source } = query
      const { indexed, others, values } = conditionsOf(query)
      // Few distinct texts, so that `query` keeps them all prepared.
      const statement = db.query<MarketRow, [Values]>(
        `SELECT ${columns} FROM market ${indexOf(query)} WHERE ${[...indexed, ...others].join(' AND ')}
         ${orderOf(query)} LIMIT $limit`,
      )
      return naming(`The list of ${coin} markets`, () => {
        const rows = statement.all({ ...values, limit })
        // With filters most of the range may not match, so this would cost more than the list.
        if (status === undefined && winner === undefined && source === undefined)
          assertListed(db, query, rows)
        return rows.map((row) => naming(marketName(row.conditionId), () => toMarket(row)))
      })
    },

    skipMarkets(asked: Omit<MarketQuery, 'limit'>, count: number): MarketPosition | undefined {
      const query = narrow(asked)
      if (query === undefined) return undefined
      const { indexed, values } = conditionsOf(query)
      const statement = db.query<MarketPosition, [Values]>(
        `SELECT order_ms AS "orderMs", condition_id AS "conditionId" FROM market ${indexOf(query)}
         WHERE ${indexed.join(' AND ')} ${orderOf(query)} LIMIT 1 OFFSET $skipped`,
      )
      const { coin } = query
      return naming(
        `The list of ${coin} markets`,
        () => statement.get({ ...values, skipped: count - 1 }) ?? undefined,
      )
    },
  }
}

type Held = { coin: string; source: string }
/** The largest distance between a window and its snapshots. */
const APART_MS = 30 * DAY_MS

/**
 * Asserts that two indexes agree how many markets a page spans; otherwise one has lost entries.
 * Throws a `damage` fault.
 */
function assertListed(db: Database, query: MarketQuery, rows: readonly MarketRow[]): void {
  const end = rows.length < query.limit ? undefined : rows.at(-1)
  const { condition, values } = rangeOf(query)
  const toEnd = ` AND (order_ms, condition_id) ${query.order === 'asc' ? '<=' : '>='} ($endMs, $endId)`
  const within = end === undefined ? condition : condition + toEnd
  const countIn = (index: string, timeframes = ''): string =>
    `(SELECT count(*) FROM (SELECT 1 FROM market INDEXED BY ${index}
       WHERE coin = $coin ${timeframes} AND ${within} LIMIT ${ENTRIES_COUNTED_MAX}) AS entries)`
  const byTimeframe = countIn('market_timeframe_order', `AND timeframe IN (${TIMEFRAMES})`)
  const [counts] = db
    .query<unknown, [Values]>(`SELECT ${countIn('market_order')}, ${byTimeframe}`)
    .values({
      ...values,
      coin: query.coin,
      endMs: end?.orderMs ?? null,
      endId: end?.conditionId ?? null,
    }) as number[][]
  assertSound(counts?.[0] === counts?.[1], 'an index of markets')
}

/** Less than a millisecond of counting; only pages of a rare timeframe exceed it. */
const ENTRIES_COUNTED_MAX = 4000
const TIMEFRAMES = Object.keys(timeframeMs)
  .map((timeframe) => `'${timeframe}'`)
  .join(', ')

/** Without statistics SQLite takes any suitable index; here the partial one is far smaller. */
const indexOf = (query: Pick<MarketQuery, 'status'>): string =>
  isLive(query) ? 'INDEXED BY market_live_order' : ''

const isLive = ({ status }: Pick<MarketQuery, 'status'>): boolean =>
  status === 'open' || status === 'upcoming'

function nowOf({ status, nowMs }: Pick<MarketQuery, 'status' | 'nowMs'>): number {
  if (nowMs === undefined) throw new Error(`Markets that are ${status} are so at a time: nowMs.`)
  return nowMs
}

/** One bound at each end: a page enters the index at the later of cursor and range. */
function rangeOf({ order, fromMs, toMs, after, upTo }: Omit<MarketQuery, 'limit'>) {
  const isAscending = order === 'asc'
  const [nearMs, farMs] = isAscending ? [fromMs, toMs] : [toMs, fromMs]
  const near = nearMs === undefined ? undefined : { orderMs: nearMs, conditionId: '' }
  let start: MarketPosition = {
    orderMs: isAscending ? -1 : Number.MAX_SAFE_INTEGER,
    conditionId: '',
  }
  for (const place of [after, near])
    if (place !== undefined && isBefore(start, place) === isAscending) start = place
  const { orderMs, conditionId } = start
  const keyset = `(order_ms, condition_id) ${isAscending ? '>' : '<'} ($orderMs, $conditionId)`
  const far = farMs === undefined ? '' : ` AND order_ms ${isAscending ? '<' : '>='} $farMs`
  const end = ` AND (order_ms, condition_id) ${isAscending ? '<=' : '>='} ($upToMs, $upToId)`
  return {
    condition: keyset + (upTo === undefined ? far : end),
    values: {
      orderMs,
      conditionId,
      farMs: farMs ?? null,
      upToMs: upTo?.orderMs ?? null,
      upToId: upTo?.conditionId ?? null,
    },
  }
}

const isBefore = (a: MarketPosition, b: MarketPosition): boolean =>
  a.orderMs < b.orderMs || (a.orderMs === b.orderMs && a.conditionId < b.conditionId)

type Identity = Pick<Market, 'coin' | 'timeframe' | 'source'>
type TotalsRow = Omit<typeof coinTotal.$inferSelect, keyof Identity> &
  Identity & { isSound: number }

/** The condition of the triggers: db/history/migrations/0000_initial.sql. */
const IS_SOUND =
  '(checksum IS NOT DISTINCT FROM (markets * 1000003 + snapshots * 7919 + coalesce(first_ms, 1) * 31 + coalesce(last_ms, 1) * 17) & 281474976710655)'

/** The sources of the stored markets of a coin. Throws a `damage` fault if a total is damaged. */
export function createSources(db: Database): (coin: string) => Source[] {
  const find = db.prepare<{ source: Source; isSound: number }, [{ coin: string }]>(
    `SELECT source, min(CASE WHEN ${IS_SOUND} THEN 1 ELSE 0 END) AS "isSound" FROM coin_total
     WHERE coin = $coin AND markets > 0 GROUP BY source ORDER BY source`,
  )
  return (coin) => {
    const rows = find.all({ coin })
    assertSound(
      rows.every(({ isSound }) => isSound === 1),
      'the totals of coins',
    )
    return rows.map(({ source }) => source)
  }
}

/** Throws a `damage` fault if a row differs from its triggers' result. */
export function createCoinTotals(db: Database): (nowMs: number) => CoinTotals[] {
  const held = db.prepare<TotalsRow, []>(
    `SELECT ${sqlOf(coinTotal).columns()}, CASE WHEN ${IS_SOUND} THEN 1 ELSE 0 END AS "isSound" FROM coin_total
     ORDER BY coin, timeframe, source`,
  )
  // By itself SQLite would take an index of every market, in the order of the groups.
  const open = db.prepare<Identity & { markets: number }, [{ now: number }]>(
    `SELECT coin, timeframe, source, count(*) AS markets FROM market
     INDEXED BY market_live_order WHERE ${statusConditions.open}
     GROUP BY coin, timeframe, source`,
  )

  return (now) => {
    const counts = new Map(open.all({ now }).map((row) => [nameOf(row), row.markets]))
    const rows = held.all()
    assertSound(rows.every(({ isSound }) => isSound === 1) && areKnown(rows), 'the totals of coins')
    return rows.map(({ coin, timeframe, source, markets, snapshots, firstMs, lastMs }) => ({
      coin,
      timeframe,
      source,
      markets,
      snapshots,
      openMarkets: counts.get(nameOf({ coin, timeframe, source })) ?? 0,
      firstSnapshotMs: firstMs ?? undefined,
      lastSnapshotMs: lastMs ?? undefined,
    }))
  }
}

/** Names have no checksum: an unknown one is damage. */
const areKnown = (rows: readonly Identity[]): boolean =>
  rows.every(
    ({ coin, timeframe, source }) =>
      coins.includes(coin) && timeframe in timeframeMs && /^(recorded|simulated)$/.test(source),
  )

const nameOf = ({ coin, timeframe, source }: Identity): string => `${coin} ${timeframe} ${source}`

/** Compares totals with the markets, which also reveals a missing market. */
export function checkCoinTotals(db: Database): string[] {
  const groups = db
    .prepare<unknown, []>(
      `SELECT DISTINCT coin FROM (
         SELECT coin, timeframe, source, markets, snapshots, first_ms, last_ms FROM coin_total
         WHERE ${IS_SOUND} UNION ALL
         SELECT coin, timeframe, source, count(*), sum(up_count + down_count), min(first_ms), max(last_ms)
         FROM market GROUP BY coin, timeframe, source
       ) AS totals GROUP BY coin, timeframe, source, markets, snapshots, first_ms, last_ms HAVING count(*) <> 2`,
    )
    .values()
  return groups.map(([coin]) => `coin_total table: the totals of ${coin} differ from its markets`)
}
