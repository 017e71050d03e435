/** A venue, books that listen to it, and what is sent between them in tests of a few steps. */

import type { startBooks } from './books-log.ts'
import { type Change, type Said, START_MS, VenueModel } from './venue-model.ts'

type Books = ReturnType<typeof startBooks>

/** Changes of round prices and sizes, of the book of "up". */
export const bid = (cents: number, size: number): Change => ({
  side: 'bids',
  price: cents * 10_000,
  size: size * 1_000_000,
})
export const ask = (cents: number, size: number): Change => ({ ...bid(cents, size), side: 'asks' })
export const at = (ms: number): number => START_MS + ms

/** A venue with a small book since the start. */
export function openVenue(): VenueModel {
  const venue = new VenueModel()
  venue.apply(at(0), [bid(50, 100), bid(49, 20), bid(10, 7), ask(52, 30), ask(60, 1)])
  return venue
}

/** Sends to the books of the moment what the venue of the moment says, 5 ms later. */
export const createSender = (now: () => { venue: VenueModel; books: Books }) => ({
  sendBooks(ms: number, said: Said = {}): void {
    const { venue, books } = now()
    const frames = (['up', 'down'] as const).map((each) => venue.bookFrame(each, at(ms), said))
    books.take(at(ms + 5), ...frames)
  },
  send(ms: number, changes: Change[], said: Said = {}): void {
    const { venue, books } = now()
    venue.apply(at(ms), changes)
    books.take(at(ms + 5), ...venue.changeFrames(at(ms), changes, said))
  },
  /** What was said of "up". */
  story: (): string[] => now().books.story('up', START_MS),
})
