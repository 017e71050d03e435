/**
 * A limit on what runs at the same time, for each owner and for all. Owners have a level, and the
 * rooms of the levels are nested: an owner of level 0 may use all of the first room, one of level 1
 * the part of it that is the second room, one of level 2 the third. So a part is out of reach for
 * owners of a higher level number.
 */

/** Levels of owners. */
export const LEVELS = 3

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>

/** What owners hold, by level; a row is where the counts of one of them are. */
export type HeldCounts<Row> = {
  /** The row of all owners. */
  readonly all: Row
  /** The row of an owner; a row that counts nothing may be given to another owner. */
  rowOf(owner: string): Row
  /** What a row counts of a level and of those of higher numbers. */
  sum(row: Row, fromLevel?: number): number
  add(row: Row, level: number, count: number): void
  /** Runs `body` while no other thread counts. */
  use<T>(body: () => T): T
  /** Takes all back that a thread counted. */
  clear(thread: number): void
}

type OwnRow = { owner: string; counts: number[] }

/** Counts of this thread alone. */
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

  /** Rows of an owner and its group, and which bound is reached, if any. */
  function weigh({ owner, ownMax, level = 0, group, size = 1 }: Wanted) {
    const at = rowOf(owner)
    const held = sum(at)
    const rows = [at, all]
    let heldByGroup = held
    if (group !== undefined) {
      // A row that is empty may be given away, and the owner's may be.
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

  /** Counts in rows; returns what takes it back. */
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
    /** Takes some; returns what gives it back, or which bound is reached. */
    open: (wanted: Wanted): Refused | (() => void) =>
      use(() => {
        const { rows, refused } = weigh(wanted)
        return refused ?? fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /** Takes some over every bound, for what is there already; returns what gives it back. */
    force: (wanted: Omit<Wanted, 'ownMax'>): (() => void) =>
      use(() => {
        const { rows } = weigh({ ...wanted, ownMax: Number.POSITIVE_INFINITY })
        return fill(rows, wanted.level ?? 0, wanted.size ?? 1)
      }),

    /** Which bound would be reached; undefined where there is room. */
    wouldRefuse(wanted: Wanted): Refused | undefined {
      // Where all owners together have less than any bound, neither rows nor the lock are needed.
      const total = sum(all) + (wanted.size ?? 1)
      if (total <= boundMin && total <= wanted.ownMax) return undefined
      return use(() => weigh(wanted).refused)
    },

    /** Whether an owner that holds nothing would be refused. */
    isFull: (level = 0): boolean => !hasRoom(level, 1, true),

    /** What all owners hold. */
    total: (): number => sum(all),

    /** Gives back all that a thread held that has ended. */
    clear: (thread: number): void => use(() => clear(thread)),
  }
}
