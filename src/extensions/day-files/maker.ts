/** Makes the files of final days. */
import { createHash } from 'node:crypto'

import type { ManifestBody } from '#src/domain/manifest.ts'
import {
  type Coin,
  coins,
  type Market,
  type Timeframe,
  timeframeMs,
  timeframes,
} from '#src/domain/market.ts'
import { DAY_MS, toIsoDay } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { numberForms, type Numbers } from '#src/tables/column.ts'

import { dayTables } from './day-tables.ts'
import { type DayFile, type FileKind, fileKinds, type FileStore, type Place } from './store.ts'
import { faultOf } from './verify.ts'

/** A change of this number recreates every file. */
const FORMAT = 1
const PAGE_MARKETS = 500
/** The longest wait for a missing winner; most are named within hours. */
const WINNER_MS = 3 * DAY_MS

type Deps = {
  history: MarketHistory
  store: FileStore
  nowMs: number
  /** Compares existing files and recreates damaged ones. */
  isRepairing?: boolean
  /** Called before each file; throws to stop the work. */
  assertMayWrite: () => void
  onMade?: (file: DayFile) => void
}

type Wanted = {
  coins?: readonly Coin[]
  timeframes?: readonly Timeframe[]
  days?: readonly string[]
}

/** Makes the missing files of final days, of all data or of `wanted`; returns their number. */
export function makeDayFiles(deps: Deps, wanted: Wanted = {}): number {
  let made = 0
  for (const { coin, timeframe } of seriesOf(wanted)) {
    for (const [day, markets] of marketsByDay(deps.history, { coin, timeframe })) {
      if (wanted.days !== undefined && !wanted.days.includes(day)) continue
      if (!isFinal(markets, { day, timeframe, nowMs: deps.nowMs })) continue
      made += makeDay(deps, { coin, timeframe, day }, markets)
    }
  }
  return made
}

export function pruneDayFiles(store: FileStore, beforeDay: string): number {
  let removed = 0
  for (const series of seriesOf({})) {
    for (const day of store.daysOf(series).filter((each) => each < beforeDay)) {
      store.remove({ ...series, day })
      removed++
    }
  }
  return removed
}

const seriesOf = (wanted: Wanted) =>
  (wanted.coins ?? coins).flatMap((coin) =>
    (wanted.timeframes ?? timeframes).map((timeframe) => ({ coin, timeframe })),
  )

/** Markets whose windows begin on a day, as in exports of days. */
function marketsByDay(
  history: MarketHistory,
  query: { coin: Coin; timeframe: Timeframe },
): Map<string, Market[]> {
  const days = new Map<string, Market[]>()
  const pages = marketPages(history, { ...query, limit: PAGE_MARKETS, order: 'asc' })
  for (const market of [...pages].flat()) {
    if (market.lastSnapshotMs === undefined) continue
    const day = toIsoDay(market.orderMs)
    const known = days.get(day)
    if (known) known.push(market)
    else days.set(day, [market])
  }
  return days
}

/**
 * True if a day is final: every window that begins on it is over, and every stored market is sealed
 * and has a winner, or three days have passed.
 */
function isFinal(
  markets: readonly Market[],
  { day, timeframe, nowMs }: { day: string; timeframe: Timeframe; nowMs: number },
): boolean {
  const endMs = Date.parse(`${day}T00:00:00Z`) + DAY_MS + timeframeMs[timeframe]
  if (nowMs < endMs) return false
  return markets.every(
    ({ isClosed, winner }) => isClosed && (winner !== undefined || nowMs >= endMs + WINNER_MS),
  )
}

function makeDay(deps: Deps, place: Place, markets: readonly Market[]): number {
  const { store, onMade } = deps
  const known = store.find(place)
  const source = sourceOf(markets)
  if (known?.source === source && !known.isDamaged) {
    const repaired = deps.isRepairing === true ? repairDay(deps, place, markets) : 0
    if (repaired !== undefined) return repaired
  }
  const revision = 1 + Math.max(0, ...usedRevisions(deps, place))
  const made: DayFile[] = []
  for (const kind of fileKinds) {
    for (const numbers of numberForms) {
      deps.assertMayWrite()
      made.push(makeFile(deps, { ...place, kind, numbers, revision }, markets))
    }
  }
  // The list is written last: a day is listed completely or not at all.
  store.putList(place, { source, files: [...(known?.files ?? []), ...made] })
  for (const file of made) onMade?.(file)
  return made.length
}

/**
 * Recreates the damaged files of the newest revision under their names. Returns their number, or
 * undefined if a file differs from the listed one, so that the day needs another revision.
 */
function repairDay(deps: Deps, place: Place, markets: readonly Market[]): number | undefined {
  const { store } = deps
  const files = store.find(place)?.files ?? []
  const newest = Math.max(0, ...files.map(({ revision }) => revision))
  let repaired = 0
  for (const listed of files.filter(({ revision }) => revision === newest)) {
    const file = store.findFile(listed.name)
    if (file === undefined || faultOf(file) === undefined) continue
    deps.assertMayWrite()
    const { kind, numbers, revision } = listed
    const again = makeFile(deps, { ...place, kind, numbers, revision }, markets)
    if (again.sha256 !== listed.sha256) return undefined
    deps.onMade?.(listed)
    repaired++
  }
  return repaired
}

/** Revisions that are listed, may have been listed, or were signed: no name is used twice. */
function usedRevisions({ store, history }: Deps, place: Place): number[] {
  const list = store.find(place)
  if (list === undefined) return signedRevisions(history, place)
  const listed = list.files.map(({ revision }) => revision)
  if (!list.isDamaged) return listed
  const onDisk = store.namesOf(place).map((name) => Number(/-r(\d+)\.parquet/.exec(name)?.[1] ?? 0))
  return [...onDisk, ...listed, ...signedRevisions(history, place)]
}

/** Revisions in the manifest of the day: even if the files were lost, no name is used twice. */
function signedRevisions({ manifests }: MarketHistory, place: Place): number[] {
  const body = manifests.ofDay(place.day)?.body
  const { files } = body === undefined ? { files: [] } : (JSON.parse(body) as ManifestBody)
  const name = new RegExp(`/${place.coin}-${place.timeframe}-${place.day}-.*-r(\\d+)\\.parquet$`)
  return files.flatMap(({ path }) => Number(name.exec(path)?.[1] ?? []))
}

/** A fingerprint of everything that determines the files of a day. */
function sourceOf(markets: readonly Market[]): string {
  const revisions = markets.map(({ conditionId, revision }) => [conditionId, revision])
  return createHash('sha256')
    .update(JSON.stringify([FORMAT, revisions]))
    .digest('hex')
}

function makeFile(
  { history, store, nowMs }: Deps,
  draft: Place & { kind: FileKind; numbers: Numbers; revision: number },
  markets: readonly Market[],
): DayFile {
  const { coin, timeframe, day, kind, numbers, revision } = draft
  const name = `${coin}-${timeframe}-${day}-${kind}-${numbers}-r${revision}.parquet`
  let rows = 0
  function* pieces(): Generator<Uint8Array> {
    rows = yield* dayTables[kind].make(history, markets, nowMs, numbers)
  }
  const written = store.write({ coin, timeframe, day }, name, pieces())
  return { name, ...draft, markets: markets.length, rows, ...written, madeMs: nowMs }
}
