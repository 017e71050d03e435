/**
 * Cached views of markets without their books, and reads of them. Our own commits appear at once;
 * commits of other connections are detected through a number from SQLite, read as rarely as the
 * caller permits, because reading it costs a fifth of a page.
 */

import { assertSound } from '#src/database/checksum.ts'
import { codeOf, type Database, readConsistently } from '#src/database/database.ts'
import { createCommitCount } from '#src/database/sqlite/database.ts'
import type { Gap } from '#src/domain/coverage.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import { createCache } from '#src/platform/cache.ts'
import { isFault } from '#src/platform/fault.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { ChunkRef } from '../tables/chunk-table.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { TailRun } from '../tables/tail-table.ts'
import type { Runs } from '../writes/runs.ts'

/** A market with its chunks in order, unfinished run and gaps, from one state of the file. */
export type MarketView = {
  market: StoredMarket
  refs: readonly ChunkRef[]
  tail: TailRun | undefined
  /** The same list until an entry changes. */
  gaps: readonly Gap[]
}

const NO_GAPS: readonly Gap[] = []

/**
 * Upper bounds of memory: a chunk reference; a gap, including gaps derived by coverage; everything
 * else.
 */
const REF_BYTES = 150
const GAP_BYTES = 150
const MARKET_BYTES = 2000

const bytesOf = ({ refs, gaps, tail }: MarketView): number =>
  MARKET_BYTES +
  refs.length * REF_BYTES +
  gaps.length * GAP_BYTES +
  (tail === undefined ? 0 : tail.chunk.size + tail.tops.byteLength)

type ViewOptions = {
  /** The maximum delay with which commits of other connections appear. */
  lagMs: number
  /** The maximum total size of all views. */
  bytesMax: number
}

/** The generation of a view that must be read again at its next use. */
const STALE = -1

/** Creates the views of a file. */
export function createViews(
  { db, markets, chunks, tails, gaps, runs }: Tables & { runs: Pick<Runs, 'find'> },
  { lagMs, bytesMax }: ViewOptions,
) {
  const commitCount = createCommitCount(db)
  type Kept = { generation: number; view: MarketView }
  const cache = createCache<string, Kept>(bytesMax)
  let generation = 0
  let seenCommits: unknown
  let askedMs = Number.NEGATIVE_INFINITY

  function currentGeneration(): number {
    const nowMs = performance.now()
    if (nowMs - askedMs < lagMs) return generation
    askedMs = nowMs
    const now = commitCount()
    if (now !== seenCommits) generation++
    seenCommits = now
    return generation
  }

  function load(conditionId: string, before: MarketView | undefined): MarketView | undefined {
    const market = markets.find(conditionId)
    if (market === undefined) return undefined
    const isSame = market.id === before?.market.id && market.revision === before.market.revision
    if (isSame) return before
    const isSameLayout = market.layout === before?.market.layout
    const listGaps = () => (market.gapRevision === 0 ? NO_GAPS : gaps.list(market))
    const refs = isSameLayout ? before.refs : chunks.listRefs(market.id)
    const { tail } = runs.find(market) ?? { tail: tails.read(market.id) }
    const hasSameGaps = market.gapRevision === before?.market.gapRevision
    const view = { market, refs, tail, gaps: hasSameGaps ? before.gaps : listGaps() }
    assertWhole(view)
    return view
  }

  return {
    /** Finds a view; throws a `damage` fault. */
    find(conditionId: string): MarketView | undefined {
      const now = currentGeneration()
      const kept = cache.get(conditionId)
      if (kept?.generation === now) return kept.view
      const view = readConsistently(db, () => load(conditionId, kept?.view))
      if (view === undefined) return undefined
      // Commits since the number was read appear at the next use.
      cache.set(conditionId, { generation: now, view }, { size: bytesOf(view) })
      return view
    },

    /**
     * Call it after every commit of this connection, which SQLite does not count. `conditionIds`
     * names the changed markets; without it, every view is read again.
     */
    invalidate(conditionIds?: Iterable<string>): void {
      if (conditionIds === undefined) {
        generation++
        return
      }
      for (const conditionId of conditionIds) {
        const kept = cache.get(conditionId)
        if (kept !== undefined) kept.generation = STALE
      }
    },
  }
}

export type Views = ReturnType<typeof createViews>

/**
 * Asserts that no row is missing and that positions increase, so that every walk over a view ends.
 * Throws a `damage` fault.
 */
function assertWhole({ market, refs, tail }: MarketView): void {
  let ups = 0
  let downs = 0
  let last = { timestampMs: -1, id: 0 }
  let isRising = true
  const goTo = (next: Position, least: number): void => {
    isRising &&= comparePositions(next, last) >= least
    last = next
  }
  for (const { firstMs, firstId, lastMs, lastId, counts } of refs) {
    goTo({ timestampMs: firstMs, id: firstId }, 1)
    goTo({ timestampMs: lastMs, id: lastId }, 0)
    ups += counts[0]
    downs += counts[1]
  }
  for (let row = 0; tail !== undefined && row < tail.chunk.count; row++) {
    goTo({ timestampMs: tail.chunk.timeMs(row), id: tail.chunk.id(row) }, 1)
    if (tail.chunk.outcome(row) === outcomeCodes.up) ups++
    else downs++
  }
  const { up, down } = market.snapshotCounts
  assertSound(isRising && ups === up && downs === down, `the list of chunks of market ${market.id}`)
}

/**
 * Runs `body` on the current state of a market. A view is of one state of the file and chunks never
 * change, so no transaction is needed. Only if another process rewrites the market meanwhile is a
 * chunk missing; then `body` runs again, in a transaction. So `body` may run twice.
 */
export type ReadMarket = <T>(
  market: Pick<Market, 'conditionId'>,
  body: (view: MarketView) => T,
) => T

export function createMarketRead(db: Database, views: Views): ReadMarket {
  function getView(conditionId: string): MarketView {
    const view = views.find(conditionId)
    if (view !== undefined) return view
    throw new AppError(
      'unknown_market',
      `${marketName(conditionId)} was deleted because of its age.`,
    )
  }

  return ({ conditionId }, body) =>
    naming(marketName(conditionId), () => {
      try {
        return body(getView(conditionId))
      } catch (error) {
        if (!isFault(error, 'chunk_gone')) throw error
        // The cached view may be as old as the caller of `createViews` permits.
        views.invalidate()
        return readConsistently(db, () => body(getView(conditionId)))
      }
    })
}

export const marketName = (conditionId: string): string => `Market ${conditionId}`

/** Runs a read or a change. Throws `damaged` with `name` if it encounters damage. */
export function naming<T>(name: string, work: () => T, isMet = isDamage): T {
  try {
    return work()
  } catch (cause) {
    throw isMet(cause) ? damagedError(name, cause) : cause
  }
}

/**
 * Runs a change: a fault reported by SQLite concerns the whole file, so nothing more is written to
 * it.
 */
export const changing = <T>(conditionId: string, change: () => T): T =>
  naming(marketName(conditionId), change, (cause) => isFault(cause, 'damage', 'chunk_gone'))

const damagedError = (name: string, cause: unknown): AppError =>
  new AppError(
    'damaged',
    `${name} is damaged on the disk of this server, and not served. All other markets are served as before.`,
    { cause },
  )

const isDamage = (error: unknown): boolean =>
  isFault(error, 'damage', 'chunk_gone') || /^SQLITE_(CORRUPT|IOERR|NOTADB)$/.test(codeOf(error))
