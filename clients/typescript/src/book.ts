/** A book that is kept up to date by its changes. */
import type { components } from './api.ts'
import { BookfeedError } from './errors.ts'
import type { Exact } from './numbers.ts'

/** A row of `changes`, or of the channel of this name. */
export type Change<N = number> = Exact<components['schemas']['Change'], N>
type Level<N> = { price: N; size: N }

/**
 * The book of one outcome, from rows of `changes`. After each it equals the snapshot with the same
 * id, best level first. A row that does not fit throws `book_broken`, and so does every later one
 * until the next whole book.
 */
export class Book<N = number> {
  readonly bids: Level<N>[] = []
  readonly asks: Level<N>[] = []
  /** The state that this is; undefined before the first whole book, and while it is broken. */
  id: string | undefined
  /** The venue's time of the state. */
  timestamp: string | undefined
  outcome: 'up' | 'down' | undefined

  /** Applies a row. Throws `book_broken`. */
  apply(row: Change<N>): void {
    const { id, prevId, outcome, timestamp, snapshot } = row
    if (this.outcome !== undefined && this.outcome !== outcome)
      throw new BookfeedError(
        'book_broken',
        `A book of ${this.outcome} takes no row of ${outcome}.`,
      )
    if (!snapshot && (this.id === undefined || this.id !== prevId)) {
      const has = this.id === undefined ? 'nothing' : `state ${this.id}`
      this.id = undefined
      throw new BookfeedError(
        'book_broken',
        `Row ${id} changes state ${prevId}, but this is ${has}.`,
      )
    }
    this.id = undefined
    if (snapshot) {
      this.bids.length = 0
      this.asks.length = 0
    }
    for (const level of row.bids) put(this.bids, level, -1)
    for (const level of row.asks) put(this.asks, level, 1)
    Object.assign(this, { id, timestamp, outcome })
  }
}

/** Sets a level, or removes it; `worse` is 1 if prices get worse by rising. */
function put<N>(levels: Level<N>[], level: Level<N>, worse: 1 | -1): void {
  const price = Number(level.price)
  let low = 0
  let high = levels.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((Number(levels[middle]?.price) - price) * worse < 0) low = middle + 1
    else high = middle
  }
  const isThere = low < levels.length && Number(levels[low]?.price) === price
  if (Number(level.size) !== 0) levels.splice(low, isThere ? 1 : 0, level)
  else if (isThere) levels.splice(low, 1)
  else throw new BookfeedError('book_broken', `The level ${price} is gone, but was not there.`)
}
