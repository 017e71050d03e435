/**
 * A limit on concurrent work, for each owner and in total. Owners have a level from 0 to 2. The
 * capacities of the levels are nested: level 0 may use everything, and each higher level a part of
 * the capacity of the level before it. So some capacity is always reserved for lower levels.
 */

/** Number of levels. */
export const LEVELS = 3

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** The units that owners hold, by level. A row holds the counts of one owner. */
export type HeldCounts<Row> = {
  /** The row of the total. */
  readonly all: Row
  /** The row of an owner; a row whose counts are all 0 may be given to another owner. */
  rowOf(owner: string): Row
  /** The units of a row at this level and all higher ones. */
  sum(row: Row, fromLevel?: number): number
  add(row: Row, level: number, count: number): void
  /** Runs `body` under the lock. */
  use<T>(body: () => T): T
  /** Releases everything that a thread holds. */
  clear(thread: number): void
}

type OwnRow = { owner: string; counts: number[] }

/** Counts for a single thread. */
export function createCounts(): HeldCounts<OwnRow> {
  const rows = new Map<string, OwnRow>()
  const createRow = (owner: string): OwnRow => ({ owner, counts: new Array(LEVELS).fill(0) })
  const all = createRow('')
  const sum = ({ counts }: OwnRow, fromLevel = 0): number => {
    let total = 0
    for (let level = fromLevel; level < LEVELS; level++) total += counts[level] ?? 0
    return total
  }
  return {
    all,
    rowOf: (owner) => rows.get(owner) ?? createRow(owner),
    sum,
    add(row, level, count) {
      row.counts[level] = (row.counts[level] ?? 0) + count
      if (row === all) return
      if (sum(row) === 0) rows.delete(row.owner)
      else rows.set(row.owner, row)
    },
    use: (body) => body(),
    clear() {
      all.counts.fill(0)
      rows.clear()
    },
  }
}

/** The capacity for a level together with all higher ones. */
export type Room = {
  max: number
  /**
   * Capacity for owners that hold nothing yet, so that a few owners cannot shut out all others;
   * `max` by default.
   */
  firstMax?: number
}

export type Bounds = {
  /** By level; the capacity of a level is at most that of the level before. */
  rooms: readonly [Room, ...Room[]]
  /** The limit of all owners of a group together. */
  groupMax?: number
}

type Wanted = {
  owner: string
  /** The owner's limit. An owner that holds nothing is admitted whatever the size. */
  ownMax: number
  level?: number
  /** Owners of a group share a limit. */
  group?: string | undefined
  /** Number of units; 1 by default. */
  size?: number
}

/** The limit that was reached: the owner's, its group's, or the total. */
export type Refused = 'account' | 'group' | 'all'

export function createConcurrencyLimit<Row>(
  { rooms, groupMax = Number.POSITIVE_INFINITY }: Bounds,
  { all, rowOf, sum, add, use, clear }: HeldCounts<Row>,
) {
  const boundMin = Math.min(groupMax, ...rooms.map(({ max }) => max))

  function hasRoom(level: number, size: number, isFirst: boolean): boolean {
    return rooms.every(({ max, firstMax = max }, roomLevel) => {
      return roomLevel > level || sum(all, roomLevel) + size <= (isFirst ? firstMax : max)
    })
  }

  /** The rows of an owner and its group, and the limit that would be exceeded, if any. */
  function weigh({ owner, ownMax, level = 0, group, size = 1 }: Wanted) {
    const at = rowOf(owner)
    const held = sum(at)
    const rows = [at, all]
    let heldByGroup = held
    if (group !== undefined) {
      // An empty row may be given away: count the owner's before looking up the group's.
      add(at, level, size)
      const groupAt = rowOf(`group ${group}`)
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

  /** Counts units in rows; returns a function that releases them. */
  function fill(rows: readonly Row[], level: number, size: number): () => void {
    for (const row of rows) add(row, level, size)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      use(() => {
        for (const row of rows) add(row, level, -size)
      })
    }
  }

  return {
    /** Takes units; returns a function that releases them, or the limit that was reached. */
    open: (wanted: Wanted): Refused | (() => void) =>
      use(() => {
        const { rows, refused } = weigh(wanted)
        return refused ?? fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /**
     * Takes units regardless of limits, for work that has already begun; returns a function that
     * releases them.
     */
    force: (wanted: Omit<Wanted, 'ownMax'>): (() => void) =>
      use(() => {
        const { rows } = weigh({ ...wanted, ownMax: Number.POSITIVE_INFINITY })
        return fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /** The limit that would be reached; undefined if there is capacity. */
    wouldRefuse(wanted: Wanted): Refused | undefined {
      // While the total is below every limit, neither rows nor the lock are needed.
      const total = sum(all) + (wanted.size ?? 1)
      if (total <= boundMin && total <= wanted.ownMax) return undefined
      return use(() => weigh(wanted).refused)
    },

    /** True if an owner that holds nothing would be refused. */
    isFull: (level = 0): boolean => !hasRoom(level, 1, true),

    /** Units that all owners hold. */
    total: (): number => sum(all),

    /** Releases everything that a thread held when it ended. */
    clear: (thread: number): void => use(() => clear(thread)),
  }
}
