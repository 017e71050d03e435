/** Books rebuilt from changes, as the documents say. */

type Level = { price: number; size: number }
export type Row = {
  id: string
  prevId: string | null
  outcome: 'up' | 'down'
  timestamp: string
  receivedAt: string | null
  verified: boolean | null
  snapshot: boolean
  bids: Level[]
  asks: Level[]
}
type Book = { id: string; bids: Map<number, number>; asks: Map<number, number> }
export type Stored = Pick<Row, 'id' | 'outcome' | 'timestamp' | 'bids' | 'asks'>

/** Applies rows as the documents say, and returns the book after each of them. */
export function rebuild(rows: readonly Row[], books: { up?: Book; down?: Book } = {}): Stored[] {
  return rows.map((row) => {
    const { id, prevId, outcome, timestamp, snapshot } = row
    if (snapshot) books[outcome] = { id, bids: new Map(), asks: new Map() }
    const book = books[outcome]
    if (book === undefined) throw new Error(`${id} changes a book that was never sent.`)
    if (!snapshot && book.id !== prevId) throw new Error(`${id} changes ${prevId}, not ${book.id}.`)
    for (const side of ['bids', 'asks'] as const) {
      for (const { price, size } of row[side]) {
        if (!snapshot && book[side].get(price) === size) throw new Error(`${price} did not change.`)
        if (size === 0 && !book[side].delete(price)) throw new Error(`${price} was not there.`)
        if (size > 0) book[side].set(price, size)
      }
    }
    book.id = id
    const sorted = (levels: Map<number, number>, worse: number) =>
      [...levels].sort(([a], [b]) => (a - b) * worse).map(([price, size]) => ({ price, size }))
    return { id, outcome, timestamp, bids: sorted(book.bids, -1), asks: sorted(book.asks, 1) }
  })
}

export const stored = ({ id, outcome, timestamp, bids, asks }: Row): Stored => ({
  id,
  outcome,
  timestamp,
  bids,
  asks,
})
