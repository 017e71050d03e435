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

describe('createRecipeWatch', () => {
  test('default: another recipe is one alarm and no gap, where books show it', () => {
    venue.recipe = 'unheard'
    sendBooks(0)
    for (const ms of [10, 20, 30, 40, 50, 60]) send(ms, [bid(51, ms)])
    books.settle(at(2100))
    expect(books.alarms).toEqual([true])
    const unverified = [0, 10, 20, 30, 40, 50, 60].map((ms) => `state ${ms} unverified`)
    expect(story()).toEqual(['found 0', ...unverified])
    expect(books.states('up').every(({ isVerified }) => isVerified === undefined)).toBe(true)
  })

  test('behavior: when it changes in between, the next books end the gap', () => {
    sendBooks(0)
    venue.recipe = 'unheard'
    for (let ms = 10; ms < 200; ms += 10) send(ms, [bid(51, ms)])
    books.settle(at(300))
    expect([books.alarms, story().at(-1)]).toEqual([[], 'lost 1 hash_mismatch'])
    sendBooks(400)
    for (const ms of [410, 420, 430, 440, 450]) send(ms, [bid(51, ms)])
    expect(books.alarms).toEqual([true])
    expect(story().slice(3, 5)).toEqual(['found 400', 'state 400 unverified'])
  })

  test('behavior: what best prices or the other book disprove is a gap all the same', () => {
    venue.recipe = 'unheard'
    sendBooks(0)
    for (const ms of [10, 20, 30, 40, 50, 60]) send(ms, [bid(51, ms)])
    venue.apply(at(70), [bid(51, 0)])
    send(80, [bid(20, 5)])
    books.settle(at(3000))
    expect(story().at(-1)).toBe('lost 61 hash_mismatch')
  })

  test('behavior: hashes count again once they fit again', () => {
    venue.recipe = 'unheard'
    sendBooks(0)
    for (const ms of [10, 20, 30, 40, 50, 60]) send(ms, [bid(51, ms)])
    venue.recipe = 'usual'
    for (const ms of [70, 80, 90, 100, 110, 120]) send(ms, [bid(51, ms)])
    books.settle(at(160))
    expect(books.alarms).toEqual([true, false])
    expect(story().at(-1)).toBe('state 120')
    send(200, [bid(51, 200)], { wrongHash: true })
    books.settle(at(3000))
    expect(story().at(-1)).toBe('lost 121 hash_mismatch')
  })

  test('behavior: lost messages and single wrong hashes are no other recipe', () => {
    sendBooks(0)
    venue.apply(at(5), [bid(10, 8)])
    for (let ms = 10; ms < 200; ms += 10) send(ms, [bid(51, ms)])
    books.take(at(300), venue.bookFrame('up', at(295), { wrongHash: true }))
    for (let ms = 300; ms < 500; ms += 10) send(ms, [bid(51, ms)])
    books.settle(at(700))
    expect(books.alarms).toEqual([])
    expect(story().at(-1)).not.toContain('unverified')
  })
})
