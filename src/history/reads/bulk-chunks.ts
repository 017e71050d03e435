/** Walks through all rows of a query, which may be very many: nothing that is read for it is kept. */
import { comparePositions, type Position } from '#src/core/snapshot.ts'
import { assertSound } from '#src/sqlite/checksum.ts'

import type { StreamQuery } from '../history.ts'
import type { ChunkTable, PassingChunk } from '../tables/chunk-table.ts'
import { type Bounds, runsOf, toBounds } from './page-bounds.ts'
import type { PageSlice } from './page.ts'
import type { MarketView } from './views.ts'

/**
 * Where a walk stands. Each slice is looked for anew behind the last row that was used, in the market as it
 * is then: rows that are written meanwhile show if they belong behind it, and none is skipped or repeated,
 * because a row's place never changes.
 */
export class BulkWalk {
  readonly #bounds: Bounds
  readonly #chunks: Pick<ChunkTable, 'load'>

  constructor(chunks: ChunkTable, query: StreamQuery) {
    this.#bounds = toBounds({ ...query, order: 'asc', limit: 0 })
    // The chunk that was read last: the next slice is often of the same one.
    let held: { id: number; passing: PassingChunk } | undefined
    this.#chunks = {
      load(ref) {
        if (held?.id === ref.id) return held.passing.chunk
        held?.passing.release()
        held = undefined
        held = { id: ref.id, passing: chunks.pass(ref) }
        return held.passing.chunk
      },
    }
  }

  /** Goes on behind a row. Positions never fall, whatever the file says. Throws `Damage`. */
  goBehind({ timestampMs, id }: Position): void {
    const next = { timestampMs, id: id + 1 }
    assertSound(comparePositions(next, this.#bounds.start) >= 0, 'the order of its chunks')
    this.#bounds.start = next
  }

  /** The next rows that lie in one chunk; undefined when there are none right now. Throws `ChunkGone`. */
  find(view: MarketView): PageSlice | undefined {
    const { start, end, outcome } = this.#bounds
    for (const { chunk, ref } of runsOf(view, { chunks: this.#chunks }, this.#bounds)) {
      const from = chunk.seek(start.timestampMs, start.id)
      const to = chunk.seek(end.timestampMs, end.id)
      const first = outcome === undefined ? from : chunk.nextRowOf(outcome, from)
      if (first < to) return { chunk, ref, from, to, outcome }
    }
    return undefined
  }
}
