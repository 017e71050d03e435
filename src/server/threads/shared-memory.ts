/** Limits, and the sample market, in memory that the threads which answer share. */
import type { LimitStore } from '#src/access/limits.ts'
import type { SampleChoice } from '#src/access/sample.ts'
import { createConcurrencyLimit, type HeldCounts, LEVELS } from '#src/platform/concurrency-limit.ts'
import type { RateWindow, RateWindows } from '#src/platform/rate-windows.ts'

import { makeSharedTable, openSharedTable } from './shared-table.ts'

/** The memory of each limit, by its name. */
export type LimitMemory = Record<string, SharedArrayBuffer>

/**
 * Counts limits over all threads. Makes the memory of a limit unless it exists. `seed` is a secret:
 * a caller who could predict rows could take those of others.
 */
export const createSharedStore = (
  memory: LimitMemory,
  { seed, threads, thread }: { seed: number; threads: number; thread: number },
): LimitStore => ({
  windows(name, windowMs, capacity) {
    memory[name] ??= makeRateMemory(capacity, seed)
    return createSharedRateWindows(windowMs, memory[name])
  },
  concurrency(name, bounds) {
    memory[name] ??= makeConcurrencyMemory(threads, seed)
    return createConcurrencyLimit(bounds, openSharedCounts(memory[name], thread))
  },
})

/** Columns of a rate window: its end, and the requests in it. */
const END = 0
const USED = 1
const WINDOW_COLUMNS = 2

/** Memory for about `capacity` rate windows at a time; further keys share one. */
export const makeRateMemory = (capacity: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity, columns: WINDOW_COLUMNS, seed })

/** Rate windows that are exact over all threads. */
export function createSharedRateWindows(windowMs: number, memory: SharedArrayBuffer): RateWindows {
  const table = openSharedTable(memory)
  const { cells } = table
  const read = (at: number): number => cells[at] ?? 0
  const hasEnded = (nowMs: number) => (at: number) => read(at + END) <= nowMs

  const show = (at: number, nowMs: number): RateWindow => ({
    used: read(at + USED),
    // The clock of the thread that began the window may be ahead.
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

/** The maximum number of owners that hold something at a time. */
const OWNERS_MAX = 10_000

/** Memory for concurrent work. Each thread has its own columns, so its counts can be released. */
export const makeConcurrencyMemory = (threads: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: OWNERS_MAX, columns: threads * LEVELS, seed })

/** Counts of concurrent work; `own` is the thread that counts. */
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

/** A condition id is eight numbers of 32 bits. */
const WORDS = 8
const WORD_DIGITS = 8

/** Memory for the market of the sample. */
export const makeChoiceMemory = (seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: 1, columns: WORDS, seed })

/** The market of the sample, which all threads choose together. */
export function openSharedChoice(memory: SharedArrayBuffer): SampleChoice {
  const table = openSharedTable(memory)
  const { cells } = table
  const place = () => table.claim('sample', () => false)

  /** The chosen market; undefined if all words are zero. */
  function read(at: number): string | undefined {
    const words = cells.subarray(at, at + WORDS)
    if (words.every((word) => word === 0)) return undefined
    return `0x${[...words].map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('')}`
  }

  return {
    read: () => table.use(() => read(place())),
    replace: (before, conditionId) =>
      table.use(() => {
        const at = place()
        const known = read(at)
        if (known !== undefined && known !== before) return known
        const digits = conditionId.slice('0x'.length).padStart(WORDS * WORD_DIGITS, '0')
        for (let word = 0; word < WORDS; word++) {
          const text = digits.slice(word * WORD_DIGITS, (word + 1) * WORD_DIGITS)
          cells[at + word] = Number.parseInt(text, 16)
        }
        return conditionId
      }),
  }
}
