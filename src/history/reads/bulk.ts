/** Reads very many rows, of which nothing is kept: as lines, and as snapshots. */
import { comparePositions, type Position, type StoredSnapshot } from '#src/core/snapshot.ts'
import { assertSound } from '#src/sqlite/checksum.ts'

import { ChunkDecoder } from '../codec/chunk-decoder.ts'
import type { Chunk } from '../codec/chunk.ts'
import { LineEncoder } from '../codec/line-encoder.ts'
import type { LinePiece, MarketHistory, StreamQuery } from '../history.ts'
import type { ChunkRef, ChunkTable, PassingChunk } from '../tables/chunk-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { MarketView, ReadMarket } from './market-read.ts'
import { type PageSlice, runsOf, sliceOf, toBounds } from './selection.ts'

/**
 * A walk through all rows of a query. Each slice is searched after the last row used, in the market
 * as it is then: rows written meanwhile show, and none is skipped or repeated, as a row's place is
 * final.
 */
function createWalk(chunks: ChunkTable, query: StreamQuery) {
  const bounds = toBounds({ ...query, order: 'asc', limit: 0 })
  // The next slice is often of the chunk that was read last.
  let held: { id: number; passing: PassingChunk } | undefined
  const load = (ref: ChunkRef): Chunk => {
    if (held?.id === ref.id) return held.passing.chunk
    held?.passing.release()
    held = undefined
    held = { id: ref.id, passing: chunks.pass(ref) }
    return held.passing.chunk
  }

  return {
    /** Continues after a row. Positions never fall, whatever the file says. Throws `Damage`. */
    goAfter({ timestampMs, id }: Position): void {
      const next = { timestampMs, id: id + 1 }
      assertSound(comparePositions(next, bounds.start) >= 0, 'the order of its chunks')
      bounds.start = next
    },

    /** The next rows in one chunk; undefined when there are none right now. Throws `ChunkGone`. */
    find(view: MarketView): PageSlice | undefined {
      for (const run of runsOf(view, { chunks: { load } }, bounds)) {
        const slice = sliceOf(run, bounds)
        const { chunk, from, to, outcome } = slice
        if ((outcome === undefined ? from : chunk.nextRowOf(outcome, from)) < to) return slice
      }
      return undefined
    },
  }
}

type Walk = ReturnType<typeof createWalk>

export function createBulkReads(
  { chunks, snapshots }: Tables,
  read: ReadMarket,
): Pick<MarketHistory, 'lines' | 'runs'> {
  // Shared by all streams: no text outlives the step that reads it.
  const rows = new ChunkDecoder()

  function* pieces(encoder: LineEncoder, query: StreamQuery): Generator<LinePiece> {
    const walk = createWalk(chunks, query)
    for (let isMore = true; isMore;) {
      encoder.begin()
      read(query.market, (view) => fill(encoder, walk, view))
      isMore = encoder.isFull
      const { rowCount, last } = encoder
      if (last !== undefined) yield { bytes: encoder.take(), rows: rowCount, last }
    }
  }

  function toSnapshots(
    { chunk, ref, from, to, outcome }: PageSlice,
    { tail }: MarketView,
  ): StoredSnapshot[] {
    const besideOf = ref === undefined ? tail?.beside : chunks.loadBeside(ref, chunk)
    const found: StoredSnapshot[] = []
    rows.forEach(chunk, (text, row) => {
      if (row < from || row >= to || (outcome ?? chunk.outcome(row)) !== chunk.outcome(row)) return
      found.push(snapshots.scan(text, besideOf?.(row, chunk.timeMs(row)) ?? {}))
    })
    return found
  }

  function* runs(query: StreamQuery): Generator<readonly StoredSnapshot[]> {
    const walk = createWalk(chunks, query)
    for (;;) {
      const run = read(query.market, (view) => {
        const slice = walk.find(view)
        return slice && toSnapshots(slice, view)
      })
      const last = run?.at(-1)
      if (run === undefined || last === undefined) return
      walk.goAfter(last)
      yield run
    }
  }

  return {
    runs,

    lines(encoding) {
      const encoder = new LineEncoder(encoding, rows)
      return {
        rows: (query) => pieces(encoder, query),
        end: () => encoder.end(),
        get textBytes() {
          return encoder.textBytes
        },
        get textCrc() {
          return encoder.textCrc
        },
      }
    },
  }
}

function fill(encoder: LineEncoder, walk: Walk, view: MarketView): void {
  while (!encoder.isFull) {
    const slice = walk.find(view)
    if (slice === undefined) return
    encoder.add(slice)
    if (encoder.last !== undefined) walk.goAfter(encoder.last)
  }
}
