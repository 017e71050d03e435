import { beforeEach, describe, expect, test } from 'bun:test'

import { startBooks } from './books-log.ts'
import { at, bid, createSender, openVenue } from './stage.ts'
import { START_MS, type VenueModel } from './venue-model.ts'

let venue: VenueModel
let books: ReturnType<typeof startBooks>
const { send, sendBooks, story } = createSender(() => ({ venue, books }))

beforeEach(() => {
  venue = openVenue()
  books = startBooks()
})

describe('createMarketBooks without hashes', () => {
  const noHash = { noHash: true }

  test('default: best prices that agree are enough', () => {
    sendBooks(0, noHash)
    send(10, [bid(51, 5)], noHash)
    send(20, [bid(51, 0), bid(50, 0), bid(49, 0), bid(10, 0)], noHash)
    books.settle(at(2100))
    const unverified = [0, 10, 20].map((ms) => `state ${ms} unverified`)
    expect(story()).toEqual(['found 0', ...unverified])
    expect(books.states('up').map((state) => state.isVerified)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(books.counts.unchecked).toBe(6)
  })

  test('behavior: a state waits no longer when the venue sets its clock back', () => {
    sendBooks(1000, noHash)
    send(1010, [bid(51, 5)], noHash)
    venue.lastTradePrice = '0.230'
    books.take(at(1020), venue.tradeFrame('up', at(700)))
    books.settle(at(1050))
    expect(story().at(-1)).toBe('state 1010 unverified')
  })

  test('behavior: best prices that disagree are a gap until the next whole book', () => {
    sendBooks(0, noHash)
    venue.apply(at(10), [bid(51, 5)])
    send(20, [bid(49, 21)], noHash)
    send(30, [bid(51, 0)], noHash)
    books.settle(at(3000))
    expect(story().slice(2)).toEqual(['lost 1 hash_mismatch'])
    sendBooks(3100, noHash)
    books.settle(at(3200))
    expect(story().slice(3)).toEqual(['found 3100', 'state 3100 unverified'])
  })

  test('behavior: a crossed book is passed on only where the venue says that it is crossed', () => {
    sendBooks(0, noHash)
    send(10, [bid(53, 5)], noHash)
    books.settle(at(3000))
    expect([story().at(-1), books.counts.crossed]).toEqual(['state 10 unverified', 2])
    books = startBooks()
    sendBooks(100, noHash)
    books.settle(at(3000))
    expect(story()).toEqual([])
    // With a hash it needs nothing else.
    sendBooks(3100)
    books.settle(at(3200))
    expect(story()).toEqual(['found 3100', 'state 3100'])
  })

  test('behavior: two books that contradict each other are both unknown', () => {
    sendBooks(0, noHash)
    books.settle(at(50))
    venue.apply(at(60), [bid(20, 5)])
    const [frame] = venue.changeFrames(at(60), [bid(20, 5)], noHash) as {
      price_changes: object[]
    }[]
    const [up, down] = frame?.price_changes ?? []
    books.take(at(65), { ...frame, price_changes: [up, { ...down, size: '6' }] })
    books.settle(at(3000))
    for (const outcome of ['up', 'down'] as const) {
      expect(books.story(outcome, START_MS).slice(2)).toEqual(['lost 1 hash_mismatch'])
    }
  })

  test('behavior: a contradiction does not hurt the one that is proved', () => {
    sendBooks(0)
    books.settle(at(50))
    venue.apply(at(60), [bid(20, 5)])
    const [frame] = venue.changeFrames(at(60), [bid(20, 5)]) as { price_changes: object[] }[]
    const [up, down] = frame?.price_changes ?? []
    books.take(at(65), { ...frame, price_changes: [up, { ...down, size: '6', hash: undefined }] })
    books.settle(at(3000))
    expect(story().slice(2)).toEqual(['state 60'])
    expect(books.story('down', START_MS).slice(2)).toEqual(['lost 1 hash_mismatch'])
  })
})
