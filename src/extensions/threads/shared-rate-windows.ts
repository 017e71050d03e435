/** Rate windows in memory that threads share, so that a limit is exact over all of them. */
import type { RateWindow, RateWindows } from '#src/platform/rate-windows.ts'

import { makeSharedTable, openSharedTable } from './shared-table.ts'

const END = 0
const USED = 1
const COLUMNS = 2

/**
 * About `capacity` windows are held at a time, and further keys share one. `seed` is a secret:
 * callers whose places in memory are known could be shut out by others.
 */
export const makeRateMemory = (capacity: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity, columns: COLUMNS, seed })

export function createSharedRateWindows(windowMs: number, memory: SharedArrayBuffer): RateWindows {
  const table = openSharedTable(memory)
  const { cells } = table
  const read = (at: number): number => cells[at] ?? 0
  const hasEnded = (nowMs: number) => (at: number) => read(at + END) <= nowMs

  const show = (at: number, nowMs: number): RateWindow => ({
    used: read(at + USED),
    // The clock of the thread that began it may be ahead.
    endMs: Math.min(read(at + END), nowMs + windowMs),
  })

  return {
    find: (key, nowMs) =>
      table.use(() => {
        const at = table.find(key, hasEnded(nowMs))
        return at === undefined || read(at + END) <= nowMs ? undefined : show(at, nowMs)
      }),

    take: (key, limit, nowMs) =>
      table.use(() => {
        const at = table.claim(key, hasEnded(nowMs))
        if (read(at + END) <= nowMs) {
          cells[at + END] = nowMs + windowMs
          cells[at + USED] = 0
        }
        const isTaken = read(at + USED) < limit
        if (isTaken) cells[at + USED] = read(at + USED) + 1
        const window = show(at, nowMs)
        return { used: window.used, endMs: window.endMs, isTaken }
      }),
  }
}
