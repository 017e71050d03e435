/**
 * Merges late rows into sealed chunks; open runs grow in writers, which are rebuilt if outdated.
 */

import type { Market } from '#src/domain/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { createCache } from '#src/platform/cache.ts'

import { ChunkWriter } from '../codec/chunk-writer.ts'
import { CHUNK_ROWS } from '../codec/chunk.ts'
import type { ChunkRef } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import { type TailRun, toTail } from '../tables/tail-table.ts'

/** A writer takes about 200 kB; a dropped run costs one rebuild. */
const OPEN_RUNS_MAX = 128

/** The unfinished run of a market at a revision; `savedCount` of its rows are in the tail table. */
export type Run = {
  revision: number
  writer: ChunkWriter
  savedCount: number
  /** Finds the last chunk, which precedes these rows; may find none if that chunk is full. */
  chunkBefore: () => ChunkRef | undefined
}

/**
 * Removed rows, rows among the stored ones, and rows after them, each in order; `refs` are the
 * chunks of the market if rows are removed or inserted among the stored ones.
 */
type RunChange = {
  refs: readonly ChunkRef[]
  gone: readonly Position[]
  late: readonly StoredSnapshot[]
  fresh: readonly StoredSnapshot[]
  isClosed: boolean
}

/** Creates the runs; every verb needs a transaction. */
export function createRuns({ chunks, tails, snapshots }: Tables) {
  const open = createCache<number, Run>(OPEN_RUNS_MAX)
  const mergeIntoChunks = createMerge({ chunks, snapshots })

  /** Runs changed in this transaction, which no other caller gets before the commit. */
  const changed = new Map<number, Run>()

  const current = (marketId: number): Run | undefined => changed.get(marketId) ?? open.get(marketId)

  function take(marketId: number, run: Run): void {
    open.delete(marketId)
    changed.set(marketId, run)
  }

  function load(market: Market): Run {
    const known = current(market.id)
    if (known?.revision === market.revision) return known
    open.delete(market.id)
    const writer = known?.writer ?? new ChunkWriter()
    writer.reset()
    const tail = tails.read(market.id)
    if (tail !== undefined) for (const row of snapshots.ofTail(tail)) writer.add(row)
    const chunkBefore = () => chunks.findLast(market.id)
    const run = { revision: market.revision, writer, savedCount: writer.count, chunkBefore }
    take(market.id, run)
    return run
  }

  function seal(market: Market, run: Run): void {
    if (run.writer.count > 0) chunks.insert(market.id, run.writer)
    const isFull = run.writer.count >= CHUNK_ROWS
    run.chunkBefore = isFull ? () => undefined : () => chunks.findLast(market.id)
    clear(market, run)
  }

  function clear(market: Market, run: Run): void {
    if (run.savedCount > 0) tails.removeAll(market.id)
    run.savedCount = 0
    run.writer.reset()
  }

  /** Reopens a last chunk that is not full as the run, so that sealing leaves no tiny chunks. */
  function reopen(run: Run): void {
    const last = run.chunkBefore()
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
    /** Reads the run of a market that is to be changed. */
    load,

    /**
     * Changes the chunks and the run of a market at its next revision; the caller writes the
     * market's row right afterwards.
     */
    change(market: Market, run: Run, { refs, gone, late, fresh, isClosed }: RunChange): void {
      take(market.id, run)
      const afterChunks = mergeIntoChunks(market, refs, late, gone)
      if (late.length + gone.length > 0) run.chunkBefore = () => chunks.findLast(market.id)
      const goneIds = new Set(gone.map(({ id }) => id))
      const kept = run.writer.snapshots.filter(({ id }) => !goneIds.has(id))
      if (afterChunks.length > 0 || kept.length < run.writer.count) {
        const merged = [...kept, ...afterChunks].sort(comparePositions)
        clear(market, run)
        add(market, run, merged)
      }
      if (fresh.length > 0 && run.writer.count === 0) reopen(run)
      add(market, run, fresh)
      if (isClosed) seal(market, run)
      if (run.savedCount < run.writer.count) tails.insert(market.id, run.writer, run.savedCount)
      run.savedCount = run.writer.count
      run.revision = market.revision + 1
    },

    /** Keeps a run while other data of its market is written, which raises its revision. */
    keep({ id, revision }: Market): void {
      const run = current(id)
      if (run?.revision !== revision) return
      run.revision++
      take(id, run)
    },

    /** The written run of a market; undefined if it is not cached. */
    find({ id, revision }: Market): { tail: TailRun | undefined } | undefined {
      const run = open.get(id)
      return run?.revision === revision ? { tail: toTail(run.writer) } : undefined
    },

    /** Forgets a run whose market was changed in another way. */
    forget(marketId: number): void {
      open.delete(marketId)
      changed.delete(marketId)
    },

    /** The changed runs at the end of a transaction. After a rollback they are not put back. */
    takeChanged(): ReadonlyMap<number, Run> {
      const taken = new Map(changed)
      changed.clear()
      return taken
    },

    /** Puts runs back after their transaction was committed. */
    putBack(runs: ReadonlyMap<number, Run>): void {
      for (const [marketId, run] of runs) open.set(marketId, run, { size: 1 })
    },
  }
}

export type Runs = ReturnType<typeof createRuns>

/** Creates the function that changes chunks and returns the rows after the last one. */
function createMerge({ chunks, snapshots }: Pick<Tables, 'chunks' | 'snapshots'>) {
  const writer = new ChunkWriter()

  /** Writes rows as chunks of about equal size, none of which is tiny. */
  function rewrite(market: Market, rows: readonly StoredSnapshot[]): void {
    writer.reset()
    const size = Math.ceil(rows.length / Math.ceil(rows.length / CHUNK_ROWS))
    for (const row of rows) {
      if (writer.count >= size || writer.isFullFor(row)) flush(market)
      writer.add(row)
    }
    flush(market)
  }

  function flush(market: Market): void {
    if (writer.count > 0) chunks.insert(market.id, writer)
    writer.reset()
  }

  return (
    market: Market,
    refs: readonly ChunkRef[],
    late: readonly StoredSnapshot[],
    goneRows: readonly Position[],
  ): readonly StoredSnapshot[] => {
    let rows = late
    let gone = goneRows
    for (const ref of refs) {
      const [next] = [...rows.slice(0, 1), ...gone.slice(0, 1)].sort(comparePositions)
      const end = { timestampMs: ref.lastMs, id: ref.lastId }
      if (next === undefined || comparePositions(next, end) > 0) continue
      const within = rows.filter((row) => comparePositions(row, end) <= 0)
      const goneIds = new Set(gone.map(({ id }) => id))
      const kept = snapshots.ofChunk(ref).filter(({ id }) => !goneIds.has(id))
      chunks.remove(ref)
      rewrite(market, [...kept, ...within].sort(comparePositions))
      rows = rows.slice(within.length)
      gone = gone.filter((position) => comparePositions(position, end) > 0)
    }
    return rows
  }
}
