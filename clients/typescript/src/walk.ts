/** The pages of a list as one sequence, which can be left and continued. */
import { BookfeedError } from './errors.ts'

export type Page<R> = {
  data: R[]
  /** Cursor of the next page; null after the last one. */
  nextCursor: string | null
  /** For histories: the cursor from which rows recorded later can be read. */
  resumeCursor: string | null
  /** For histories: the share of the time that is recorded (`X-Coverage`). */
  coverage: string | null
}
type Turn = { cursor?: string | undefined; limit?: number | undefined }
type Source<R> = {
  read: (turn: Turn) => Promise<Page<R>>
  /** The cursor of an earlier walk; null if that walk was over. */
  cursor: string | null | undefined
  /** For lists whose `limit` does not count rows: the unit that a row belongs to. */
  unitOf?: ((row: R) => unknown) | undefined
}

/** Pages that are read to find a row that moved; only a flood of new rows moves it further. */
const SEARCH_PAGES_MAX = 20

export class Walk<R> implements AsyncIterable<R> {
  readonly #source: Source<R>
  #asked: string | undefined
  #page: Page<R> | undefined
  #taken = 0
  /** Number of rows at the start that an earlier walk has taken. */
  #skip: number

  constructor(source: Source<R>) {
    this.#source = source
    // Set only if no cursor of the server names the row: see `#unitPlace`.
    const [cursor, skip = '0'] = (source.cursor ?? '').split('~')
    this.#asked = cursor || undefined
    this.#skip = Number(skip)
  }

  /** Yields every row once; a second loop continues after the last row taken. */
  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, void> {
    for (;;) {
      const row = this.#page?.data[this.#taken]
      if (this.#page && this.#taken < this.#page.data.length) {
        this.#taken++
        yield row as R
      } else if (!(await this.#turn())) return
    }
  }

  /** Yields whole pages; the rest of a page that a loop over rows left comes first. */
  async *pages(): AsyncGenerator<Page<R>, void, void> {
    for (;;) {
      const page = this.#page
      if (page && this.#taken < page.data.length) {
        const data = page.data.slice(this.#taken)
        this.#taken = page.data.length
        yield { ...page, data }
      } else if (!(await this.#turn())) return
    }
  }

  /** Returns at most `count` rows. */
  async take(count: number): Promise<R[]> {
    const rows: R[] = []
    if (count <= 0) return rows
    for await (const row of this) if (rows.push(row) >= count) break
    return rows
  }

  /**
   * The cursor after the last row taken, for a later walk with the same parameters; inside a page
   * it takes a request. Null if nothing follows, undefined before the first row.
   */
  async cursor(): Promise<string | null | undefined> {
    const page = this.#page
    if (page === undefined || (this.#taken === 0 && page.data.length > 0))
      return this.#source.cursor
    if (this.#taken === page.data.length) return page.nextCursor ?? page.resumeCursor
    const { unitOf } = this.#source
    return await (unitOf ? this.#unitPlace(page.data, unitOf) : this.#exactPlace(page.data))
  }

  async #turn(): Promise<boolean> {
    const cursor = this.#page ? this.#page.nextCursor : this.#source.cursor
    if (cursor === null) return false
    this.#asked = this.#page ? (cursor ?? undefined) : this.#asked
    this.#page = await this.#source.read({ cursor: this.#asked })
    this.#taken = Math.min(this.#skip, this.#page.data.length)
    this.#skip = 0
    return true
  }

  /** The cursor after the last whole unit, and the number of rows taken of the next one. */
  async #unitPlace(rows: R[], unitOf: (row: R) => unknown): Promise<string> {
    const units = rows.slice(0, this.#taken).map(unitOf)
    const last = units.at(-1)
    const isCut = unitOf(rows[this.#taken] as R) === last
    const limit = new Set(units).size - (isCut ? 1 : 0)
    const page = limit && (await this.#source.read({ cursor: this.#asked, limit }))
    const rest = isCut ? units.length - units.indexOf(last) : 0
    return `${page ? page.nextCursor : (this.#asked ?? '')}~${rest}`
  }

  /** Reads a page that ends with the last row taken, and returns its cursor. */
  async #exactPlace(rows: R[]): Promise<string | null> {
    const { read } = this.#source
    const taken = rows.slice(0, this.#taken)
    const wanted = nameOf(taken.at(-1))
    let cursor = this.#asked
    let limit = taken.length
    // New rows may have been inserted before it, which moves it back in the list.
    for (let pages = 0; pages < SEARCH_PAGES_MAX; pages++) {
      const page = await read({ cursor, limit })
      const at = page.data.findLastIndex((row) => nameOf(row) === wanted)
      if (at >= 0 && at === page.data.length - 1) return page.nextCursor ?? page.resumeCursor
      if (at >= 0) limit = at + 1
      else if (page.nextCursor === null) break
      else cursor = page.nextCursor
    }
    throw new BookfeedError('unexpected_answer', 'The last row taken is no longer in the list.')
  }
}

const nameParts = [
  'id',
  'paymentId',
  'conditionId',
  'outcome',
  'timestamp',
  'time',
  'start',
  'source',
  'windowSeconds',
]
/** The immutable members of a row; a growing bar and a trading market keep theirs. */
const nameOf = (row: unknown): string => JSON.stringify(row, nameParts)
