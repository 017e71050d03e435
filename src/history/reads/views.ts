/**
 * What readers need of a market besides its books, kept in memory. Our own commits show at once;
 * for those of other connections SQLite is asked for a number that changes with them, at each use
 * or as rarely as the caller allows, because asking costs as much as a fifth of a page.
 */
import type { Gap } from '#src/core/coverage.ts'
import { comparePositions, type Position } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { assertSound } from '#src/sqlite/checksum.ts'
import { createCommitCount, readConsistently } from '#src/sqlite/database.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { ChunkRef } from '../tables/chunk-table.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { Tables } from '../tables/tables.ts'
import type { TailRun } from '../tables/tail-table.ts'

/**
 * A market with its chunks in order, its unfinished run and its gaps,
 * read in one state of the file.
 */
export type MarketView = {
  market: StoredMarket
  refs: readonly ChunkRef[]
  tail: TailRun | undefined
  /** The same list as long as nothing in it changed. */
  gaps: readonly Gap[]
}

const NO_GAPS: readonly Gap[] = []

/** Chunk refs and gaps of all views together; one takes about 150 bytes. */
const REFS_MAX = 200_000

/** Makes the views of a file, which show commits of other connections within `lagMs`. */
export function createViews(tables: Tables, lagMs: number) {
  const { db, markets, chunks, tails } = tables
  const commitCount = createCommitCount(db)
  const cache = createCache<string, { generation: number; view: MarketView }>(REFS_MAX)
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
    if (market === undefined || market.revision === before?.market.revision) return before
    const isSameLayout = market.layout === before?.market.layout
    const view = {
      market,
      refs: isSameLayout ? before.refs : chunks.listRefs(market.id),
      tail: tails.read(market.id),
      gaps: loadGaps(market, before),
    }
    assertWhole(view)
    return view
  }

  function loadGaps(market: StoredMarket, before: MarketView | undefined): readonly Gap[] {
    if (market.gapRevision === 0) return NO_GAPS
    const isSame = market.gapRevision === before?.market.gapRevision
    return isSame ? before.gaps : tables.gaps.list(market)
  }

  return {
    /** Throws `Damage`. */
    find(conditionId: string): MarketView | undefined {
      const now = currentGeneration()
      const kept = cache.get(conditionId)
      if (kept?.generation === now) return kept.view
      const view = readConsistently(db, () => load(conditionId, kept?.view))
      if (view === undefined) return undefined
      // What was committed since the number was read shows at the next use.
      cache.set(
        conditionId,
        { generation: now, view },
        { size: view.refs.length + view.gaps.length + 1 },
      )
      return view
    },

    /** To be called after every commit of our own, which SQLite does not count. */
    invalidate(): void {
      generation++
    },
  }
}

export type Views = ReturnType<typeof createViews>

/** No row is missing, and positions rise: so every walk over a view ends. Throws `Damage`. */
function assertWhole({ market, refs, tail }: MarketView): void {
  let [ups, downs] = [0, 0]
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
