/**
 * Open runs: the writers of markets that grow, rebuilt from the file when it changed without us.
 */
import type { Market } from '#src/core/market.ts'
import { comparePositions, type StoredSnapshot } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'

import { ChunkWriter } from '../codec/chunk-writer.ts'
import { CHUNK_ROWS } from '../codec/chunk.ts'
import type { Tables } from '../tables/tables.ts'

/** A writer takes about 200 kB; a run that is dropped costs one rebuild. */
const OPEN_RUNS_MAX = 128

/** The unfinished run of a market at a revision; `savedCount` of its rows are in the tail table. */
type Run = { revision: number; writer: ChunkWriter; savedCount: number }

/**
 * What becomes of a market's end: ids that go, rows among the unfinished run, rows
 * after it, and whether it is sealed.
 */
export type RunChange = {
  gone: ReadonlySet<number>
  late: readonly StoredSnapshot[]
  fresh: readonly StoredSnapshot[]
  isClosed: boolean
}

/**
 * Adds rows to the ends of markets and seals what is full. Every verb
 * needs a transaction around it.
 */
export function createRuns({ chunks, tails, snapshots }: Tables) {
  const open = createCache<number, Run>(OPEN_RUNS_MAX)

  function load(market: Market): Run {
    const known = open.get(market.id)
    if (known?.revision === market.revision) return known
    const writer = known?.writer ?? new ChunkWriter()
    writer.reset()
    const tail = tails.read(market.id)
    if (tail !== undefined) for (const row of snapshots.ofTail(tail)) writer.add(row)
    const run = { revision: market.revision, writer, savedCount: writer.count }
    open.set(market.id, run, { size: 1 })
    return run
  }

  function seal(market: Market, run: Run): void {
    if (run.writer.count > 0) chunks.insert(market.id, run.writer)
    clear(market, run)
  }

  function clear(market: Market, run: Run): void {
    if (run.savedCount > 0) tails.removeAll(market.id)
    run.savedCount = 0
    run.writer.reset()
  }

  /**
   * Takes the last chunk back as the run when it is not full, so that frequent
   * sealing leaves no tiny chunks.
   */
  function reopen(market: Market, run: Run): void {
    const last = chunks.findLast(market.id)
    if (last === undefined || last.counts[0] + last.counts[1] >= CHUNK_ROWS) return
    for (const row of snapshots.ofChunk(last)) run.writer.add(row)
    chunks.remove(last)
  }

  function add(market: Market, run: Run, rows: readonly StoredSnapshot[]): void {
    for (const row of rows) {
      if (run.writer.isFullFor(row)) seal(market, run)
      run.writer.add(row)
      if (run.writer.count >= CHUNK_ROWS) seal(market, run)
    }
  }

  return {
    /** Changes the end of a market whose row is written right after, at the next revision. */
    change(market: Market, { gone, late, fresh, isClosed }: RunChange): void {
      const run = load(market)
      const kept = run.writer.snapshots.filter(({ id }) => !gone.has(id))
      if (late.length > 0 || kept.length < run.writer.count) {
        const merged = [...kept, ...late].sort(comparePositions)
        clear(market, run)
        add(market, run, merged)
      }
      if (fresh.length > 0 && run.writer.count === 0) reopen(market, run)
      add(market, run, fresh)
      if (isClosed) seal(market, run)
      if (run.savedCount < run.writer.count) tails.insert(market.id, run.writer, run.savedCount)
      run.savedCount = run.writer.count
      run.revision = market.revision + 1
    },

    /**
     * Keeps a run as it is while something else of its market is written,
     * which raises the revision by one.
     */
    keep({ id, revision }: Market): void {
      const run = open.get(id)
      if (run?.revision === revision) run.revision++
    },

    /** Forgets a run whose market was changed otherwise; it is read again when needed. */
    forget(marketId: number): void {
      open.delete(marketId)
    },

    /** Forgets all runs: a transaction that changed some of them came to nothing. */
    forgetAll: (): void => open.clear(),
  }
}

export type Runs = ReturnType<typeof createRuns>
