/**
 * A limit on what runs at the same time, for each owner and for all, counted in memory that threads
 * share. Owners have a level, and the rooms of the levels are nested: an owner of level 0 may use
 * all of the first room, one of level 1 the part of it that is the second room, one of level 2 the
 * third. So a part is out of reach for owners of a higher level number.
 */
import { makeSharedTable, openSharedTable } from './shared-table.ts'

/** Owners that hold something at a time. */
const OWNERS_MAX = 10_000
/** Levels of owners. */
const LEVELS = 3

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** Each of `threads` counts in columns of its own, so that what it held can be given back. */
export const makeConcurrencyMemory = (threads: number, seed: number): SharedArrayBuffer =>
  makeSharedTable({ capacity: OWNERS_MAX, columns: threads * LEVELS, seed })

/** What a level and those of higher numbers may have together. */
export type Room = {
  max: number
  /** For owners that have none yet, so that no few can shut out the others; `max` by default. */
  firstMax?: number
}

export type Bounds = {
  /** By level; the room of a level is at most that of the level before. */
  rooms: readonly [Room, ...Room[]]
  /** The bound of the owners of one group together. */
  groupMax?: number
}

type Wanted = {
  owner: string
  /** The bound of the owner. An owner that holds nothing gets one of any size. */
  ownMax: number
  level?: number
  /** Owners of one group share a bound. */
  group?: string | undefined
  /** How much is taken: 1 by default. */
  size?: number
}

/** Which bound is reached: that of the owner, of its group, or of all. */
export type Refused = 'account' | 'group' | 'all'

export function createConcurrencyLimit(
  { rooms, groupMax = Number.POSITIVE_INFINITY }: Bounds,
  memory: SharedArrayBuffer,
  own = 0,
) {
  const table = openSharedTable(memory)
  const { cells, columns, common } = table

  /** What a row counts of a level and of those of higher numbers. */
  function sum(at: number, fromLevel = 0): number {
    let total = 0
    for (let column = 0; column < columns; column++)
      if (column % LEVELS >= fromLevel) total += cells[at + column] ?? 0
    return total
  }

  const add = (at: number, level: number, count: number): void => {
    const cell = at + own * LEVELS + level
    cells[cell] = (cells[cell] ?? 0) + count
  }
  const isEmpty = (at: number): boolean => sum(at) === 0
  const boundMin = Math.min(groupMax, ...rooms.map(({ max }) => max))

  function hasRoom(level: number, size: number, isFirst: boolean): boolean {
    return rooms.every(({ max, firstMax = max }, roomLevel) => {
      return roomLevel > level || sum(common, roomLevel) + size <= (isFirst ? firstMax : max)
    })
  }

  /** Rows of an owner and its group, and which bound is reached, if any. */
  function weigh({ owner, ownMax, level = 0, group, size = 1 }: Wanted) {
    const at = table.claim(owner, isEmpty)
    const held = sum(at)
    const rows = [at, common]
    let heldByGroup = held
    if (group !== undefined) {
      // A row that is empty may be given away, and the owner's may be.
      add(at, level, size)
      const groupAt = table.claim(`group ${group}`, isEmpty)
      add(at, level, -size)
      heldByGroup = sum(groupAt)
      rows.push(groupAt)
    }
    let refused: Refused | undefined
    if (held > 0 && held + size > ownMax) refused = 'account'
    else if (group !== undefined && heldByGroup > 0 && heldByGroup + size > groupMax)
      refused = 'group'
    else if (!hasRoom(level, size, heldByGroup === 0)) refused = 'all'
    return { rows, refused }
  }

  /** Counts in rows; returns what takes it back. */
  function fill(rows: readonly number[], level: number, size: number): () => void {
    for (const row of rows) add(row, level, size)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      table.use(() => {
        for (const row of rows) add(row, level, -size)
      })
    }
  }

  return {
    /** Takes some; returns what gives it back, or which bound is reached. */
    open: (wanted: Wanted): Refused | (() => void) =>
      table.use(() => {
        const { rows, refused } = weigh(wanted)
        return refused ?? fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /** Takes some over every bound, for what is there already; returns what gives it back. */
    force: (wanted: Omit<Wanted, 'ownMax'>): (() => void) =>
      table.use(() => {
        const { rows } = weigh({ ...wanted, ownMax: Number.POSITIVE_INFINITY })
        return fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /** Which bound would be reached; undefined where there is room. */
    wouldRefuse(wanted: Wanted): Refused | undefined {
      // Where all owners together have less than any bound, neither rows nor the lock are needed.
      const total = sum(common) + (wanted.size ?? 1)
      if (total <= boundMin && total <= wanted.ownMax) return undefined
      return table.use(() => weigh(wanted).refused)
    },

    /** Whether an owner that holds nothing would be refused. */
    isFull: (level = 0): boolean => !hasRoom(level, 1, true),

    /** What all owners hold. */
    total: (): number => sum(common),

    /** Gives back all that a thread held that has ended. */
    clear: (thread: number): void =>
      table.use(() => {
        for (let level = 0; level < LEVELS; level++) table.fill(thread * LEVELS + level, 0)
      }),
  }
}
