/** Late rows are merged into sealed chunks; open runs grow in writers, rebuilt when stale. */

import { withLater } from '#src/database/database.ts'
import type { Market } from '#src/domain/market.ts'
import { comparePositions, type Position, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { createCache } from '#src/platform/cache.ts'

import { ChunkWriter } from '../codec/chunk-writer.ts'
import { CHUNK_ROWS } from '../codec/chunk.ts'
import type { ChunkRef } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import { type TailRun, toTail } from '../tables/tail-table.ts'

/** A writer takes about 200 kB; a run that is dropped costs one rebuild. */
const OPEN_RUNS_MAX = 128

/** The unfinished run of a market at a revision; `savedCount` of its rows are in the tail table. */
export type Run = {
  revision: number
  writer: ChunkWriter
  savedCount: number
  /** Finds the last chunk, which comes before these rows; may find nothing if that chunk is full. */
  chunkBefore: () => ChunkRef | undefined
}

/**
 * Rows that go, rows among those held, rows after these, each in order; `refs` are the chunks of the
 * market if rows go or are among those held.
 */
type RunChange = {
  refs: readonly ChunkRef[]
  gone: readonly Position[]
  late: readonly StoredSnapshot[]
  fresh: readonly StoredSnapshot[]
  isClosed: boolean
}

/** Every verb needs a transaction around it. */
export function createRuns({ chunks, tails, snapshots }: Tables) {
  const open = createCache<number, Run>(OPEN_RUNS_MAX)
  const mergeIntoChunks = createMerge({ chunks, snapshots })

  const load = withLater((market: Market) => {
    const known = open.get(market.id)
    if (known?.revision === market.revision) return () => known
    const read = tails.read.later(market.id)
    const chunkBefore = chunks.findLast.later(market.id)
    return (): Run => {
      const writer = known?.writer ?? new ChunkWriter()
      writer.reset()
      const tail = read()
      if (tail !== undefined) for (const row of snapshots.ofTail(tail)) writer.add(row)
      const run = { revision: market.revision, writer, savedCount: writer.count, chunkBefore }
      open.set(market.id, run, { size: 1 })
      return run
    }
  })

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

  /** Takes a last chunk that is not full back as the run, so that sealing leaves no tiny chunks. */
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

    /** Changes a market whose row is written right after, at the next revision. */
    change(market: Market, run: Run, { refs, gone, late, fresh, isClosed }: RunChange): void {
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

    /** Keeps a run while something else of its market is written, which raises its revision. */
    keep({ id, revision }: Market): void {
      const run = open.get(id)
      if (run?.revision === revision) run.revision++
    },

    /** The run of a market as it was written; undefined where that is not known. */
    find({ id, revision }: Market): { tail: TailRun | undefined } | undefined {
      const run = open.get(id)
      return run?.revision === revision ? { tail: toTail(run.writer) } : undefined
    },

    /** Forgets a run whose market was changed otherwise. */
    forget(marketId: number): void {
      open.delete(marketId)
    },

    /** A transaction that changed some of them came to nothing. */
    forgetAll: (): void => open.clear(),
  }
}

export type Runs = ReturnType<typeof createRuns>

/** Returns the function that changes chunks and returns the rows that lie after the last one. */
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
