import { beforeEach, describe, expect, test } from 'bun:test'

import { startBooks, toPlain } from './books-log.ts'
import { ask, at, bid, createSender, openVenue } from './stage.ts'
import { market, START_MS, type VenueModel } from './venue-model.ts'

let venue: VenueModel
let books: ReturnType<typeof startBooks>
const { send, sendBooks, story } = createSender(() => ({ venue, books }))

beforeEach(() => {
  venue = openVenue()
  books = startBooks()
})

describe('createMarketBooks', () => {
  test('default: passes on each state once its millisecond is over, verified', () => {
    sendBooks(0)
    expect(story()).toEqual([])
    send(10, [bid(51, 5)])
    expect(story()).toEqual(['found 0', 'state 0'])
    books.settle(at(15 + 26))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
    const [first, second] = books.states('up')
    expect(first).toMatchObject({ coin: 'btc', timeframe: '5m', receivedMs: at(5), outcome: 'up' })
    expect(first?.sourceHash).toMatch(/^[0-9a-f]{40}$/)
    expect(second && toPlain(second)).toEqual(venue.book('up'))
    expect(books.counts).toMatchObject({ books: 2, changes: 2, verified: 4, mismatched: 0 })
  })

  test('behavior: nothing is passed on before a whole book came', () => {
    send(5, [bid(51, 5)])
    books.settle(at(200))
    expect([story(), books.counts.stale]).toEqual([[], 2])
  })

  test.each(['current', 'old'] as const)(
    'behavior: changes of a millisecond are one state, over any frames: %s schema',
    (schema) => {
      sendBooks(0)
      const first = bid(51, 5)
      const second = bid(51, 0)
      const third = ask(52, 0)
      venue.apply(at(10), [first, second, third])
      books.take(at(15), ...venue.changeFrames(at(10), [first], { schema }))
      books.take(at(16), ...venue.changeFrames(at(10), [second], { schema }))
      books.take(at(17), ...venue.changeFrames(at(10), [third], { schema }))
      send(20, [bid(48, 1)], { schema })
      expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
      expect(books.states('up')[1]?.receivedMs).toBe(at(17))
      expect(books.states('down').map(toPlain)[1]).toEqual(venue.truth.down[1]?.book)
    },
  )

  test('behavior: the rest of a batch may come after it seemed to be over', () => {
    sendBooks(0)
    const changes = [bid(51, 5), ask(53, 4)]
    venue.apply(at(10), changes)
    books.take(at(15), ...venue.changeFrames(at(10), changes.slice(0, 1)))
    books.settle(at(50))
    books.take(at(60), ...venue.changeFrames(at(10), changes.slice(1)))
    books.settle(at(90))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
  })

  test.each([true, false])(
    'behavior: a batch waits for its rest while messages are held up; without hashes: %p',
    (noHash) => {
      const said = { noHash }
      sendBooks(0, said)
      const changes = [bid(51, 5), bid(51, 6)]
      venue.apply(at(10), changes)
      books.take(at(15), ...venue.changeFrames(at(10), changes.slice(0, 1), said))
      // Who stood still looks at the clock before he reads what has come.
      books.settle(at(1500))
      books.take(at(1501), ...venue.changeFrames(at(10), changes.slice(1), said))
      send(1600, [bid(48, 1)], said)
      const states = books.states('up')
      expect(states.map(toPlain)).toEqual(venue.truth.up.slice(0, 2).map(({ book }) => book))
      expect(story()).toHaveLength(3)
    },
  )

  test('behavior: a trade is waited for while messages are held up', () => {
    sendBooks(0)
    venue.lastTradePrice = '0.230'
    send(10, [bid(51, 5)])
    books.settle(at(1500))
    expect(story()).toEqual(['found 0', 'state 0'])
    books.take(at(1501), venue.tradeFrame('down', at(12)))
    expect(story().slice(2)).toEqual(['state 10'])
  })

  test('behavior: a state never changes once it was passed on', () => {
    sendBooks(0)
    send(10, [bid(51, 5), ask(52, 31)])
    const [first] = books.states('up')
    send(20, [bid(50, 0), ask(52, 0), ask(60, 2)])
    send(30, [bid(1, 1)])
    expect(first && toPlain(first)).toEqual(venue.truth.up[0]?.book)
  })

  test('behavior: what is older than the book is dropped and counted', () => {
    sendBooks(0)
    send(20, [bid(51, 5)])
    books.take(at(30), ...venue.changeFrames(at(19), [bid(51, 9)]), venue.bookFrame('up', at(5)))
    books.settle(at(60))
    expect(story()).toEqual(['found 0', 'state 0', 'state 20', 'missed 1 to 20'])
    expect(books.counts.stale).toBe(3)
  })

  test('behavior: what comes too late says that a state was missed', () => {
    sendBooks(0)
    send(10, [bid(51, 5)])
    send(20, [bid(51, 6)])
    books.take(at(26), ...venue.changeFrames(at(15), [bid(51, 9)]))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
    send(30, [bid(51, 7)])
    expect(story().slice(3)).toEqual(['missed 11 to 20', 'state 20'])
    books.settle(at(70))
    books.take(at(80), ...venue.changeFrames(at(25), [bid(51, 9)]))
    books.take(at(80), ...venue.changeFrames(at(25), [bid(51, 9)]))
    expect(story().slice(5)).toEqual(['state 30', 'missed 21 to 30'])
    // What was said in time is only repeated.
    books.take(at(90), ...venue.changeFrames(at(20), [bid(51, 6)]))
    expect(story()).toHaveLength(7)
  })

  test('behavior: when the venue sets its clock back, the times that run twice are a gap, once', () => {
    sendBooks(100)
    for (const ms of [110, 120, 130]) send(ms, [bid(51, ms)])
    for (const ms of [50, 70, 115]) {
      books.take(at(ms + 100), ...venue.changeFrames(at(ms), [bid(51, ms)]))
    }
    books.settle(at(220))
    expect(story().slice(-2)).toEqual(['state 130', 'missed 50 to 130'])
  })

  test('behavior: what is repeated is no second state', () => {
    sendBooks(0)
    sendBooks(0)
    send(10, [bid(51, 5)])
    books.settle(at(41))
    books.take(at(45), ...venue.changeFrames(at(10), [bid(51, 5)]))
    books.settle(at(80))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
  })

  test('behavior: a missed message is a gap from the last true state to the next proved one', () => {
    sendBooks(0)
    send(10, [bid(51, 5)])
    venue.apply(at(20), [bid(10, 8)])
    send(30, [bid(49, 21)])
    send(40, [bid(49, 22)])
    books.settle(at(3000))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10', 'lost 11 hash_mismatch'])
    // What was missed is set again, so that the levels are right again, as their hash proves.
    send(4000, [bid(10, 9)])
    send(5000, [bid(10, 10)])
    expect(story().slice(4)).toEqual(['found 4000', 'state 4000'])
    expect(books.counts.mismatched).toBe(4)
  })

  test('behavior: the next whole book ends a gap, unless it does not fit its hash', () => {
    sendBooks(0)
    send(10, [bid(51, 5)], { wrongHash: true })
    send(20, [bid(50, 1)], { wrongHash: true })
    books.settle(at(3000))
    expect(story().slice(2)).toEqual(['lost 1 hash_mismatch'])
    sendBooks(3100, { wrongHash: true })
    books.settle(at(6000))
    sendBooks(6100)
    books.settle(at(6200))
    expect(story().slice(3)).toEqual(['found 6100', 'state 6100'])
  })

  test('behavior: a book that was resent and is the last true state means that nothing was missed', () => {
    sendBooks(0)
    send(10, [bid(51, 5)])
    books.settle(at(100))
    books.lose('recorder_down')
    expect(story().slice(3)).toEqual(['lost 11 recorder_down'])
    sendBooks(10)
    expect(story().slice(4)).toEqual(['found 11'])
    send(200, [bid(50, 99)])
    books.settle(at(300))
    expect(story().slice(5)).toEqual(['state 200'])
  })

  test('behavior: that is not so when something is known to have come since', () => {
    sendBooks(0)
    books.settle(at(50))
    venue.apply(at(60), [bid(10, 8)])
    send(70, [bid(49, 21)])
    books.settle(at(3000))
    books.take(at(3010), openVenue().bookFrame('up', at(0)))
    books.settle(at(6000))
    expect(story().slice(2)).toEqual(['lost 1 hash_mismatch'])
    sendBooks(70)
    books.settle(at(6100))
    expect(story().slice(3)).toEqual(['found 70', 'state 70'])
  })

  test('behavior: when the connection is lost, only what a hash proves is still passed on', () => {
    sendBooks(0)
    send(10, [bid(51, 5)])
    books.lose('recorder_down')
    expect(story().slice(2)).toEqual(['state 10', 'lost 11 recorder_down'])
    const changes = [bid(51, 6), bid(51, 7)]
    sendBooks(20)
    venue.apply(at(30), changes)
    books.take(at(35), ...venue.changeFrames(at(30), changes.slice(0, 1)))
    books.lose('venue_silent')
    expect(story().slice(4)).toEqual(['found 20', 'state 20', 'lost 21 venue_silent'])
    books.lose('recorder_down')
    expect(story()).toHaveLength(7)
  })

  test('behavior: a hash may hold a trade price that comes later', () => {
    sendBooks(0)
    venue.lastTradePrice = '0.230'
    send(10, [bid(51, 5)])
    send(20, [bid(51, 6)])
    expect(story()).toEqual(['found 0', 'state 0'])
    books.take(at(98), venue.tradeFrame('down', at(12)))
    expect(story().slice(2)).toEqual(['state 10', 'state 20'])
    expect(books.log).toContainEqual({
      said: 'trade',
      trade: {
        timestampMs: at(12),
        price: 230_000,
        outcome: 'down',
        size: 10_000_000,
        side: 'buy',
      },
    })
  })

  test('behavior: one that never comes is found after a while', () => {
    sendBooks(0)
    venue.lastTradePrice = '0.230'
    send(10, [bid(51, 5)])
    send(20, [bid(51, 6)])
    send(110, [bid(51, 7)])
    books.settle(at(114))
    expect(story()).toEqual(['found 0', 'state 0'])
    books.settle(at(116))
    expect(story().slice(2)).toEqual(['state 10', 'state 20'])
    expect(books.counts.mismatched).toBe(0)
  })

  test('behavior: after another tick the next hash decides', () => {
    const change = (tick: string) => ({
      event_type: 'tick_size_change',
      market: market.conditionId,
      asset_id: market.assetIds.up,
      new_tick_size: tick,
      timestamp: String(at(9)),
    })
    sendBooks(0)
    books.take(at(9), change('0.0025'))
    venue.tick = '0.0025'
    send(10, [{ side: 'bids', price: 512_500, size: 1_000_000 }])
    books.settle(at(50))
    expect(story()).toEqual(['found 0', 'state 0', 'state 10'])
    books = startBooks()
    sendBooks(100, { noHash: true })
    books.settle(at(150))
    books.take(at(160), change('0.001'))
    send(170, [bid(9, 1)], { noHash: true })
    books.settle(at(3000))
    expect(story()).toEqual(['found 100', 'state 100 unverified', 'lost 101 hash_mismatch'])
  })

  test('error: a message that cannot be read puts both books in doubt', () => {
    sendBooks(0)
    books.settle(at(50))
    books.take(at(60), { event_type: 'price_change', market: market.conditionId })
    expect(story().slice(2)).toEqual(['lost 1 recorder_down'])
    expect(books.story('down', START_MS).slice(2)).toEqual(['lost 1 recorder_down'])
    send(70, [bid(51, 5)])
    books.settle(at(120))
    expect(story().slice(3)).toEqual(['found 70', 'state 70'])
    expect(books.counts.faults).toBe(1)
  })

  test.each([
    ['a token of another market', { asset_id: '3333' }],
    ['a time that is to come', { timestamp: String(at(3_600_000)) }],
  ])('error: %s puts both books in doubt', (_, twist) => {
    sendBooks(0)
    books.settle(at(50))
    books.take(at(60), { ...venue.bookFrame('up', at(55)), ...twist })
    expect(story().slice(2)).toEqual(['lost 1 recorder_down'])
  })
})
