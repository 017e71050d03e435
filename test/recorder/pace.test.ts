import { beforeEach, describe, expect, test } from 'bun:test'

import { startBooks } from './books-log.ts'
import { at, bid, createSender, openVenue } from './stage.ts'
import type { VenueModel } from './venue-model.ts'

let venue: VenueModel
let books: ReturnType<typeof startBooks>
const { send, sendBooks, story } = createSender(() => ({ venue, books }))

beforeEach(() => {
  venue = openVenue()
  books = startBooks()
})

describe('createMarketBooks with a pace', () => {
  test('default: passes on the last state of each step, and counts the others', () => {
    books = startBooks({ maxPerSecond: 10 })
    sendBooks(0)
    for (const ms of [10, 20, 90, 110, 120, 350]) send(ms, [bid(51, ms)])
    expect(story()).toEqual(['found 0', 'state 0', 'state 90', 'state 120'])
    books.settle(at(430))
    expect(story()).toHaveLength(4)
    books.settle(at(431))
    expect(story().slice(4)).toEqual(['state 350'])
    expect(books.counts).toMatchObject({ verified: 14, leftOut: 6 })
  })

  test('behavior: before a gap comes the last true state, and after it the first', () => {
    books = startBooks({ maxPerSecond: 1 })
    sendBooks(0)
    send(10, [bid(51, 1)])
    send(20, [bid(51, 2)])
    books.lose('recorder_down')
    sendBooks(30)
    send(40, [bid(51, 3)])
    expect(story()).toEqual([
      'found 0',
      'state 0',
      'state 20',
      'lost 21 recorder_down',
      'found 30',
      'state 30',
    ])
  })
})
