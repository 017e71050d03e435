/** Counted places, of each owner and of all, in memory that threads share. */
import { makeSharedTable, openSharedTable } from './shared-table.ts'

/** Owners who have places at a time. */
const OWNERS_MAX = 10_000

export type Places = ReturnType<typeof createPlaces>

/** Each of `threads` counts in a column of its own, so that what it held can be given back. */
export const makePlaceMemory = (threads: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: OWNERS_MAX, columns: threads, seed })

type Bounds = {
  max: number
  /** For owners that have none yet, so that no few can shut out the others; `max` by default. */
  firstMax?: number
}

export function createPlaces({ max, firstMax = max }: Bounds, memory: SharedArrayBuffer, own = 0) {
  const table = openSharedTable(memory)
  const { cells, columns, common } = table

  function sum(at: number): number {
    let total = 0
    for (let column = 0; column < columns; column++) total += cells[at + column] ?? 0
    return total
  }

  const add = (at: number, count: number): void => {
    cells[at + own] = (cells[at + own] ?? 0) + count
  }
  const isEmpty = (at: number): boolean => sum(at) === 0

  return {
    /** Takes a place; returns what gives it back, or which bound is reached. */
    open: (owner: string, ownMax: number): 'account' | 'all' | (() => void) =>
      table.use(() => {
        const at = table.claim(owner, isEmpty)
        if (sum(at) >= ownMax) return 'account'
        if (sum(common) >= (isEmpty(at) ? firstMax : max)) return 'all'
        for (const place of [at, common]) add(place, 1)
        let isOpen = true
        return () => {
          if (!isOpen) return
          isOpen = false
          table.use(() => {
            for (const place of [at, common]) add(place, -1)
          })
        }
      }),

    /** Places that are taken, by all. */
    total: (): number => sum(common),

    /** Gives back all places of a thread that has ended. */
    clear: (thread: number): void => table.use(() => table.fill(thread, 0)),
  }
}
