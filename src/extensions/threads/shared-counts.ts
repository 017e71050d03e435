/** What owners hold, counted in memory that threads share. */
import { type HeldCounts, LEVELS } from '#src/platform/concurrency-limit.ts'

import { makeSharedTable, openSharedTable } from './shared-table.ts'

/** Owners that hold something at a time. */
const OWNERS_MAX = 10_000

/** Each of `threads` counts in columns of its own, so that what it held can be given back. */
export const makeConcurrencyMemory = (threads: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: OWNERS_MAX, columns: threads * LEVELS, seed })

/** `own` is the thread that counts. */
export function openSharedCounts(memory: SharedArrayBuffer, own = 0): HeldCounts<number> {
  const table = openSharedTable(memory)
  const { cells, columns } = table

  function sum(at: number, fromLevel = 0): number {
    let total = 0
    for (let column = 0; column < columns; column++)
      if (column % LEVELS >= fromLevel) total += cells[at + column] ?? 0
    return total
  }
  const isEmpty = (at: number): boolean => sum(at) === 0

  return {
    all: table.common,
    rowOf: (owner) => table.claim(owner, isEmpty),
    sum,
    add(at, level, count) {
      const cell = at + own * LEVELS + level
      cells[cell] = (cells[cell] ?? 0) + count
    },
    use: table.use,
    clear(thread) {
      for (let level = 0; level < LEVELS; level++) table.fill(thread * LEVELS + level, 0)
    },
  }
}
