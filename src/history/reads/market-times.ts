/** Reads when a market's snapshots were and what their hashes say, from columns of its chunks and its unfinished run. */
import { silenceMs, type Span } from '#src/core/coverage.ts'
import { type Market, outcomes } from '#src/core/market.ts'

import type { Chunk } from '../codec/chunk.ts'
import type { ReadBeside } from '../tables/chunk-table.ts'
import type { GapOwner } from '../tables/gap-table.ts'
import type { Tables } from '../tables/tables.ts'
import { newOutcomeTallies } from '../writes/tallies.ts'

export function createMarketTimes({ chunks, tails }: Pick<Tables, 'chunks' | 'tails'>) {
  return {
    /** Runs that hold an outcome's rows of a span, its end included, and the ones before and after these. */
    around({ marketId, outcome }: GapOwner, { fromMs, toMs }: Span): Chunk[] {
      const refs = chunks.listRefs(marketId).filter(({ counts }) => (counts[outcome] ?? 0) > 0)
      const first = refs.findIndex(({ lastMs }) => lastMs >= fromMs)
      const next = refs.findIndex(({ firstMs }) => firstMs > toMs)
      const start = Math.max(0, (first < 0 ? refs.length : first) - 1)
      const near = refs.slice(start, next < 0 ? refs.length : next + 1)
      const runs = near.map(chunks.load)
      const tail = next < 0 ? tails.read(marketId) : undefined
      return tail === undefined ? runs : [...runs, tail.chunk]
    },

    /** Looks at a whole market. A run that cannot be read is left out; `verify` reports it. */
    scan({ id, timeframe }: Market) {
      const tallies = newOutcomeTallies(silenceMs(timeframe))
      const add = (run: Chunk, besideOf: ReadBeside): void => {
        for (let row = 0; row < run.count; row++) {
          const { times, verdicts } = tallies[outcomes[run.outcome(row)] ?? 'up']
          const timeMs = run.timeMs(row)
          times.add(timeMs)
          verdicts.add(timeMs, besideOf(row, timeMs).isVerified)
        }
      }
      for (const ref of chunks.listRefs(id)) {
        skipUnreadable(() => {
          const run = chunks.read(ref)
          add(run, chunks.loadBeside(ref, run))
        })
      }
      skipUnreadable(() => {
        const tail = tails.read(id)
        if (tail !== undefined) add(tail.chunk, tail.beside)
      })
      return tallies
    },
  }
}

export type MarketTimes = ReturnType<typeof createMarketTimes>

function skipUnreadable(read: () => void): void {
  try {
    read()
  } catch {
    // What was read before it counts.
  }
}
