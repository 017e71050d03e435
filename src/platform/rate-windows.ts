/**
 * Fixed windows that count up to a limit; each begins with its key's first request in it. They are
 * in memory that threads share, so a limit is exact over all of them.
 */
import type { Eventually } from './eventually.ts'
import { makeSharedTable, openSharedTable } from './shared-table.ts'

export type RateWindow = {
  readonly used: number
  /** Exclusive, on the clock of `nowMs`. */
  readonly endMs: number
}

export type TakenWindow = RateWindow & { readonly isTaken: boolean }

/** `nowMs` of calls must come from a monotonic clock, of several threads the same to some ms. */
export type RateWindows = {
  /** The window that a key is in; undefined if its next request begins one. */
  find(key: string, nowMs: number): Eventually<RateWindow | undefined>
  /** Takes one from a key's window, if any is left; the window then. */
  take(key: string, limit: number, nowMs: number): Eventually<TakenWindow>
}

export type OwnRateWindows = ReturnType<typeof createRateWindows>

const [END, USED, COLUMNS] = [0, 1, 2]

/** About `capacity` windows are held at a time, and further keys share one. */
export const makeRateMemory = (capacity: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity, columns: COLUMNS, seed })

export function createRateWindows(windowMs: number, memory: SharedArrayBuffer) {
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
    find: (key: string, nowMs: number): RateWindow | undefined =>
      table.use(() => {
        const at = table.find(key, hasEnded(nowMs))
        return at === undefined || read(at + END) <= nowMs ? undefined : show(at, nowMs)
      }),

    take: (key: string, limit: number, nowMs: number): TakenWindow =>
      table.use(() => {
        const at = table.claim(key, hasEnded(nowMs))
        if (read(at + END) <= nowMs) {
          cells[at + END] = nowMs + windowMs
          cells[at + USED] = 0
        }
        const isTaken = read(at + USED) < limit
        if (isTaken) cells[at + USED] = read(at + USED) + 1
        const { used, endMs } = show(at, nowMs)
        return { used, endMs, isTaken }
      }),
  }
}
