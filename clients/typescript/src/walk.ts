/** A list of pages as one sequence, which can be left and continued. */
import { BookfeedError } from './errors.ts'

export type Page<R> = {
  data: R[]
  /** Of the next page; null after the last one. */
  nextCursor: string | null
  /** Of histories: where what is recorded later will be found. */
  resumeCursor: string | null
  /** Of histories: how much of the time is recorded (`X-Coverage`). */
  coverage: string | null
}
type Turn = { cursor?: string | undefined; limit?: number | undefined }
type Source<R> = {
  read: (turn: Turn) => Promise<Page<R>>
  /** That of an earlier walk; null where that one was over. */
  cursor: string | null | undefined
  /** Of lists whose `limit` counts other things than rows: what a row belongs to. */
  unitOf?: ((row: R) => unknown) | undefined
}

/** Pages that are read again to find a row that moved; more can only be new by a flood of rows. */
const SEARCH_PAGES_MAX = 20

export class Walk<R> implements AsyncIterable<R> {
  readonly #source: Source<R>
  #asked: string | undefined
  #page: Page<R> | undefined
  #taken = 0
  /** Rows at the start that an earlier walk has taken. */
  #skip: number

  constructor(source: Source<R>) {
    this.#source = source
    // Only where a cursor of the server cannot name the row: see `#unitPlace`.
    const [cursor, skip = '0'] = (source.cursor ?? '').split('~')
    this.#asked = cursor || undefined
    this.#skip = Number(skip)
  }

  /** Every row once; a second loop continues after the last row that was taken. */
  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, void> {
    for (;;) {
      const row = this.#page?.data[this.#taken]
      if (this.#page && this.#taken < this.#page.data.length) {
        this.#taken++
        yield row as R
      } else if (!(await this.#turn())) return
    }
  }

  /** Whole pages; what a loop over rows has left of one comes first. */
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

  /** At most so many rows. */
  async take(count: number): Promise<R[]> {
    const rows: R[] = []
    if (count <= 0) return rows
    for await (const row of this) if (rows.push(row) >= count) break
    return rows
  }

  /**
   * Where a later walk with the same parameters continues, after the last row that was taken;
   * within a page it costs a request. Null where nothing follows, undefined before the first row.
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

  /** The cursor after the last whole unit, and how many rows of the next one were taken. */
  async #unitPlace(rows: R[], unitOf: (row: R) => unknown): Promise<string> {
    const units = rows.slice(0, this.#taken).map(unitOf)
    const last = units.at(-1)
    const isCut = unitOf(rows[this.#taken] as R) === last
    const limit = new Set(units).size - (isCut ? 1 : 0)
    const page = limit && (await this.#source.read({ cursor: this.#asked, limit }))
    const rest = isCut ? units.length - units.indexOf(last) : 0
    return `${page ? page.nextCursor : (this.#asked ?? '')}~${rest}`
  }

  /** A page that ends with the last row that was taken has the cursor after it. */
  async #exactPlace(rows: R[]): Promise<string | null> {
    const { read } = this.#source
    const taken = rows.slice(0, this.#taken)
    const wanted = nameOf(taken.at(-1))
    let cursor = this.#asked
    let limit = taken.length
    // Rows may have come before it since: then it is further on.
    for (let pages = 0; pages < SEARCH_PAGES_MAX; pages++) {
      const page = await read({ cursor, limit })
      const at = page.data.findLastIndex((row) => nameOf(row) === wanted)
      if (at >= 0 && at === page.data.length - 1) return page.nextCursor ?? page.resumeCursor
      if (at >= 0) limit = at + 1
      else if (page.nextCursor === null) break
      else cursor = page.nextCursor
    }
    throw new BookfeedError('unexpected_answer', 'The last row that was taken is not there.')
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
/** What never changes of a row; a bar that grows and a market that trades keep theirs. */
const nameOf = (row: unknown): string => JSON.stringify(row, nameParts)
