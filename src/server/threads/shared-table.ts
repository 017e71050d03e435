/**
 * A hash table in memory that threads share: rows of numbers, found by a key. One thread at a time
 * uses it. Rows are never removed; the user of the table says which rows another key may take.
 */

/** The header, as 32-bit integers: the lock, the seed of the hash, rows, numbers per row. */
const LOCK = 0
const SEED = 1
const ROWS = 2
const COLUMNS = 3
const HEADER_BYTES = 16
const BYTES_PER_CELL = 8
/** The number of rows that a key is looked for in. */
const REACH = 64
/** Two of three rows may be taken, so that hardly any key finds no free row within its reach. */
const ROOM = 1.5
/** One row shared by all keys that find no free row, and one that belongs to no key. */
const EXTRA_ROWS = 2
const SPINS_MAX = 100
/** A thread that has held the lock for so many waits has died. */
const WAITS_MAX = 1_000

/**
 * Makes the memory of a table; the system allocates it as rows are used. `seed` is a secret, so that
 * no caller can choose a row.
 */
export function makeSharedTable(size: { capacity: number; columns: number; seed: number }) {
  const rows = 2 ** Math.ceil(Math.log2(size.capacity * ROOM))
  const cells = (rows + EXTRA_ROWS) * (size.columns + 1)
  const memory = new SharedArrayBuffer(HEADER_BYTES + cells * BYTES_PER_CELL)
  new Int32Array(memory, 0, HEADER_BYTES / 4).set([0, size.seed, rows, size.columns])
  return memory
}

export function openSharedTable(memory: SharedArrayBuffer) {
  const header = new Int32Array(memory, 0, HEADER_BYTES / 4)
  const cells = new Float64Array(memory, HEADER_BYTES)
  const [seed = 0, rows = 0, columns = 0] = [header[SEED], header[ROWS], header[COLUMNS]]
  const width = columns + 1
  const overflow = rows * width

  /** A hash of 53 bits; never 0, which marks a row that was never used. */
  function hashOf(key: string): number {
    const low = Bun.hash.xxHash32(key, seed)
    return (Bun.hash.xxHash32(key, ~seed) >>> 11) * 2 ** 32 + (low === 0 ? 1 : low)
  }

  function locate(hash: number, isFree: (at: number) => boolean): number {
    let free = overflow
    for (let step = 0; step < REACH; step++) {
      const at = ((hash + step) % rows) * width
      if (cells[at] === hash) return at
      if (free === overflow && (cells[at] === 0 || isFree(at + 1))) free = at
      if (cells[at] === 0) break
    }
    return free
  }

  function lock(): void {
    for (let tries = 0; Atomics.compareExchange(header, LOCK, 0, 1) !== 0; tries++) {
      if (tries > SPINS_MAX + WAITS_MAX) return
      if (tries > SPINS_MAX) Atomics.wait(header, LOCK, 1, 1)
    }
  }

  return {
    /** The numbers of all rows; the place of a row is the index of its first number. */
    cells,
    columns,
    /** The place of the row that no key has. */
    common: overflow + width + 1,

    /** Runs `body` under the lock. */
    use<T>(body: () => T): T {
      lock()
      try {
        return body()
      } finally {
        Atomics.store(header, LOCK, 0)
      }
    },

    /** The place of a key's row, or of the row that many share; undefined if the key has none. */
    find(key: string, isFree: (at: number) => boolean): number | undefined {
      const hash = hashOf(key)
      const at = locate(hash, isFree)
      return cells[at] === hash || at === overflow ? at + 1 : undefined
    },

    /** As `find`, but gives a key without a row a free one, filled with zeros. */
    claim(key: string, isFree: (at: number) => boolean): number {
      const hash = hashOf(key)
      const at = locate(hash, isFree)
      if (at !== overflow && cells[at] !== hash) {
        cells[at] = hash
        cells.fill(0, at + 1, at + width)
      }
      return at + 1
    },

    /** Writes a number to one column of every row. */
    fill(column: number, value: number): void {
      for (let at = 1 + column; at < cells.length; at += width) if (cells[at]) cells[at] = value
    },
  }
}
