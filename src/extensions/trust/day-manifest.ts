/** Makes the manifests of ended days, and of those that have changed since. */
import {
  factsFingerprint,
  type FileDigest,
  type ManifestBody,
  type MarketDigest,
  type SeriesDigest,
  seriesText,
  sha256,
} from '#src/domain/manifest.ts'
import { type Coin, coins, type Market, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { DAY_MS, toIsoDay } from '#src/domain/time.ts'
import { toDigested, tradeText } from '#src/domain/trade.ts'
import { type MarketHistory, PIECE_ROWS, type RowRange } from '#src/history/history.ts'
import { type MarketLists, marketPages } from '#src/history/reads/market-pages.ts'
import type { StoredManifest } from '#src/history/revisions.ts'
import type { ListFiles } from '#src/server/extension.ts'

const HOUR_MS = 3_600_000
/**
 * The longest wait of a day for an unclosed market or a missing winner; no row arrives later by
 * itself.
 */
const WAIT_MS = 3 * DAY_MS
const PAGE_MARKETS = 200
const PAGE_REVISIONS = 500

type ManifestSteps = AsyncGenerator<StoredManifest | undefined, void>

const noFiles: ListFiles = () => ({ files: [], madeMs: 0 })

/**
 * Yields each manifest made, and undefined after each market, so that the caller may stop. For a
 * history whose reads block: nothing is fetched in advance.
 */
export async function* makeManifests(
  history: MarketHistory,
  nowMs: number,
  listFiles: ListFiles = noFiles,
): ManifestSteps {
  const changed = daysChanged(history)
  for (const day of history.manifests.days()) {
    const startMs = Date.parse(`${day}T00:00:00Z`)
    if (startMs + DAY_MS + HOUR_MS > nowMs) return
    const before = history.manifests.ofDay(day)
    const { files, madeMs } = listFiles(day)
    if (before !== undefined && !changed.has(day) && madeMs < before.madeMs) continue
    yield* makeDay(history, { day, startMs, nowMs, before, files })
  }
}

/** Days with changes since the newest manifest was made, with a safety margin. */
function daysChanged({ manifests, revisions }: MarketHistory): Set<string> {
  const days = new Set<string>()
  let last = revisions.lastIdBefore((manifests.newest()?.madeMs ?? HOUR_MS) - HOUR_MS)
  for (;;) {
    const page = revisions.list(last, PAGE_REVISIONS)
    for (const { orderMs } of page) days.add(toIsoDay(orderMs))
    last = page.at(-1)?.id ?? last
    if (page.length < PAGE_REVISIONS) return days
  }
}

type Day = Record<'startMs' | 'nowMs', number> & {
  day: string
  before: StoredManifest | undefined
  files: FileDigest[]
}

async function* makeDay(
  history: MarketHistory,
  { day, startMs, nowMs, before, files }: Day,
): ManifestSteps {
  const held = listMarkets(history, startMs)
  const isWaiting = nowMs < startMs + DAY_MS + WAIT_MS
  if (isWaiting && held.some(({ isClosed, winner }) => !isClosed || winner === undefined)) return
  const final = held.filter(({ isClosed, windowEndMs }) => isClosed || windowEndMs !== undefined)
  const known = before === undefined ? undefined : (JSON.parse(before.body) as ManifestBody)
  const series = yield* digestSeries(history, final, known)
  const listed = known?.files ?? []
  const all = withFiles(listed, files)
  const isSame = Bun.deepEquals([digestsOf(series), all], [digestsOf(known?.series), listed])
  if (!isSame)
    yield await history.manifests.add({
      day,
      madeMs: nowMs,
      after: before?.revision,
      series,
      files: all,
    })
}

/** Merges files by path; deleted files stay, because they never change. */
const withFiles = (listed: readonly FileDigest[], files: readonly FileDigest[]): FileDigest[] =>
  [...new Map([...listed, ...files].map((file) => [file.path, file])).values()].sort(
    (a, b) => Number(a.path > b.path) - Number(a.path < b.path),
  )

const digestsOf = (series: ManifestBody['series'] = []) =>
  series.map(({ coin, timeframe, sha256: digest }) => [coin, timeframe, digest])

function listMarkets(history: MarketHistory, fromMs: number): Market[] {
  const range = { fromMs, toMs: fromMs + DAY_MS, order: 'asc', limit: PAGE_MARKETS } as const
  return coins
    .flatMap((coin) => [...marketPages(history, { coin, ...range })].flat())
    .filter(({ firstSnapshotMs }) => firstSnapshotMs !== undefined)
}

/** Unchanged and deleted parts are copied from the previous manifest. */
function* digestSeries(
  history: MarketHistory,
  markets: Market[],
  known: ManifestBody | undefined,
): Generator<undefined, SeriesDigest[]> {
  const found: SeriesDigest[] = []
  for (const coin of coins) {
    for (const timeframe of timeframes) {
      const isOf = (each: { coin: Coin; timeframe: Timeframe }): boolean =>
        each.coin === coin && each.timeframe === timeframe
      const before = known?.series.find(isOf)
      const digests = (before?.markets ?? []).filter(
        ({ conditionId }) => history.findMarket(conditionId) === undefined,
      )
      for (const market of markets.filter(isOf)) {
        digests.push(before?.markets.find(isSame(market)) ?? digestNow(history, market))
        yield
      }
      if (digests.length === 0) continue
      digests.sort(byConditionId)
      const digest = sha256(seriesText(digests))
      const revision = (before?.revision ?? 0) + Number(digest !== before?.sha256)
      found.push({ coin, timeframe, revision, sha256: digest, markets: digests })
    }
  }
  return found
}

/**
 * True if the stored markets of a series match the digests of a manifest. Deleted markets do not
 * count.
 */
export async function isAsDigested(
  history: DigestReads,
  { coin, timeframe, markets, day }: SeriesDigest & { day: string },
): Promise<boolean> {
  const digests = new Map(markets.map((digest) => [digest.conditionId, digest]))
  const fromMs = Date.parse(`${day}T00:00:00Z`)
  const range = { fromMs, toMs: fromMs + DAY_MS, order: 'asc', limit: PAGE_MARKETS } as const
  for (const page of marketPages(history, { coin, timeframe, ...range })) {
    for (const market of page) {
      const digested = digests.get(market.conditionId)
      if (market.firstSnapshotMs === undefined || digested?.revision === market.revision) continue
      if (digested === undefined) return false
      const now = { ...(await digestWhenReady(history, market)), revision: digested.revision }
      if (!Bun.deepEquals(now, digested)) return false
    }
  }
  return true
}

type DigestReads = MarketLists & Pick<MarketHistory, 'ready' | 'lines' | 'trades'>

const byConditionId = (a: MarketDigest, b: MarketDigest): number =>
  Number(a.conditionId > b.conditionId) - Number(a.conditionId < b.conditionId)

const isSame =
  ({ conditionId, revision }: Market) =>
  (each: MarketDigest): boolean =>
    each.conditionId === conditionId && each.revision === revision

function digestNow(history: DigestReads, market: Market): MarketDigest {
  const digest = beginDigest(history, market)
  while (digest.add());
  return digest.end()
}

async function digestWhenReady(history: DigestReads, market: Market): Promise<MarketDigest> {
  const digest = beginDigest(history, market)
  do await history.ready([digest.next()])
  while (digest.add())
  return digest.end()
}

/** A digest of a market, to which its rows are added piece by piece. */
function beginDigest(history: DigestReads, market: Market) {
  const hasher = new Bun.CryptoHasher('sha256')
  const lines = history.lines('identity')
  const pieces = lines.rows({ market })
  let snapshots = 0
  let after: Position | undefined
  return {
    /** The rows of the next piece. */
    next: (): RowRange => ({ market, after, order: 'asc', limit: PIECE_ROWS }),

    /** Adds the next piece; returns whether there was one. */
    add(): boolean {
      const { done, value } = pieces.next()
      if (done) return false
      after = value.last
      hasher.update(value.bytes)
      snapshots += value.rows
      return true
    },

    end(): MarketDigest {
      hasher.update(lines.end())
      const trades = history.trades({ market, isTrade: true })
      return {
        conditionId: market.conditionId,
        slug: market.slug ?? null,
        source: market.source,
        revision: market.revision,
        snapshots,
        snapshotsSha256: hasher.digest('hex'),
        trades: trades.length,
        tradesSha256: sha256(trades.map((trade) => `${toDigested(tradeText(trade))}\n`).join('')),
        factsSha256: sha256(factsFingerprint(market)),
      }
    },
  }
}
