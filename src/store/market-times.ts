/** Reads when a market's snapshots were, from the columns of its chunks and its unfinished run. */
import { silenceMs, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'

import type { ChunkTable } from './chunk-table.ts'
import type { Chunk } from './codec/chunk.ts'
import type { GapOwner } from './gap-table.ts'
import { SilenceTally } from './silence-tally.ts'
import type { TailTable } from './tail-table.ts'

type Tables = { chunks: ChunkTable; tails: TailTable }

export function createMarketTimes({ chunks, tails }: Tables) {
  return {
    /** Runs that hold an outcome's rows of a span, its end included, and the ones before and after these. */
    around({ marketId, outcome }: GapOwner, { fromMs, toMs }: Span): Chunk[] {
      const refs = chunks.listRefs(marketId).filter(({ counts }) => (counts[outcome] ?? 0) > 0)
      const first = refs.findIndex(({ lastMs }) => lastMs >= fromMs)
      const behind = refs.findIndex(({ firstMs }) => firstMs > toMs)
      const start = Math.max(0, (first < 0 ? refs.length : first) - 1)
      const near = refs.slice(start, behind < 0 ? refs.length : behind + 1)
      const runs = near.map(chunks.load)
      const tail = behind < 0 ? tails.read(marketId) : undefined
      return tail === undefined ? runs : [...runs, tail.chunk]
    },

    /** Looks at a whole market. A run that cannot be read is left out; `verify` reports it. */
    scan({ id, timeframe }: Market): Record<Outcome, SilenceTally> {
      const quietMs = silenceMs(timeframe)
      const tallies = { up: new SilenceTally(quietMs), down: new SilenceTally(quietMs) }
      const add = (run: Chunk | undefined): void => {
        if (run === undefined) return
        for (let row = 0; row < run.count; row++)
          tallies[outcomes[run.outcome(row)] ?? 'up'].add(run.timeMs(row))
      }
      for (const ref of chunks.listRefs(id)) add(readIfSound(() => chunks.read(ref)))
      add(readIfSound(() => tails.read(id)?.chunk))
      return tallies
    },
  }
}

export type MarketTimes = ReturnType<typeof createMarketTimes>

function readIfSound<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
