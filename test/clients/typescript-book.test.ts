/** The book of the client, which applies changes and checks itself. */
import { expect, test } from 'bun:test'

import { Book, Bookfeed, type Change } from '../../clients/typescript/src/bookfeed.ts'
import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { history, both } = await createMarketHistory()
const { send } = createHarness({ history })
const bookfeed = new Bookfeed({
  server: 'http://localhost',
  fetch: (url, init) => send(url.replace('http://localhost', ''), init),
})
const place = { coin: both.coin, conditionId: both.conditionId }

test('default: after each row, a book is the snapshot of its id', async () => {
  const snapshots = await bookfeed.snapshots({ ...place, limit: 1000 }).take(10_000)
  const books = { up: new Book(), down: new Book() }
  let count = 0
  for await (const row of bookfeed.changes({ ...place, limit: 70 })) {
    const book = books[row.outcome]
    book.apply(row)
    const { id, timestamp, outcome, bids, asks } = snapshots[count++] ?? {}
    expect({ ...book }).toEqual({ id, timestamp, outcome, bids, asks } as never)
  }
  expect(count).toBe(snapshots.length)
})

test('error: a row that is lost breaks a book until the next whole one', () => {
  const row = (id: string, prevId: string | null, more: Partial<Change> = {}): Change => ({
    id,
    prevId,
    outcome: 'up',
    timestamp: '2026-04-14T08:00:10.672Z',
    receivedAt: null,
    verified: null,
    snapshot: prevId === null,
    bids: [{ price: 0.5, size: 10 }],
    asks: [],
    ...more,
  })
  const broken = expect.objectContaining({ code: 'book_broken' })
  const book = new Book()
  expect(() => book.apply(row('2', '1'))).toThrow(broken)
  book.apply(row('3', null))
  book.apply(
    row('4', '3', {
      bids: [
        { price: 0.6, size: 1 },
        { price: 0.5, size: 0 },
      ],
    }),
  )
  expect(book.bids).toEqual([{ price: 0.6, size: 1 }])
  for (const lost of [row('6', '5'), row('7', '6')]) {
    expect(() => book.apply(lost)).toThrow(broken)
    expect(book.id).toBeUndefined()
  }
  book.apply(row('8', null))
  expect(book).toMatchObject({ id: '8', bids: [{ price: 0.5, size: 10 }] })
  expect(() => book.apply(row('9', '8', { outcome: 'down' }))).toThrow(broken)
  expect(() => book.apply(row('9', '8', { bids: [{ price: 0.1, size: 0 }] }))).toThrow(broken)
})
