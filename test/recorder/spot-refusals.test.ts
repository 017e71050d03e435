/** A feed of prices that refuses is said to refuse, at once, and is not asked again blindly. */
import { expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { recordSpot } from '#src/recorder/spot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { START_MS } from '../history/books.ts'
import { createWorld } from './fake-world.ts'

function start() {
  const world = createWorld(START_MS)
  const lines: string[] = []
  const history = openHistory(':memory:')
  const recorder = recordSpot({
    history,
    coins: ['btc', 'eth'],
    clock: world.clock,
    every: world.every,
    random: world.random,
    openSocket: world.openSocket,
    journal: { note() {} },
    sources: [{ name: 'live', feed: homeVenue.spotFeeds.live, url: '', key: 'a:b:c' }],
    reporter: createReporter((line) => void lines.push(line)),
  })
  const last = () => world.sockets.at(-1)
  const say = (message: object) => last()?.events.message(JSON.stringify(message))
  const price = (seq: number) => ({
    v: 1,
    channel: 'price.crypto.twap',
    seq,
    ts: START_MS + seq * 1000,
    payload: { symbol: 'btcusd', source: 'pyth', full_accuracy_value: '64000.5' },
  })
  return { ...world, lines, recorder, history, last, say, price }
}

test('error: refused credentials are reported at once, and tried again after minutes', async () => {
  const { advance, sockets, last, say, lines, recorder, price } = start()
  await advance(1000)
  last()?.events.opened()
  say({ op: 'error', code: 'auth_invalid', rid: 'auth' })
  expect(lines).toEqual(['The price feed live refuses: auth_invalid. Check BOOKFEED_SPOT_KEY.'])
  expect(last()?.isClosed).toBe(true)
  expect(recorder.status().sources).toMatchObject([{ isConnected: false, refused: 'auth_invalid' }])
  await advance(200_000)
  expect(sockets).toHaveLength(1)
  await advance(102_000)
  expect(sockets).toHaveLength(2)
  last()?.events.opened()
  say({ op: 'authed', rid: 'auth' })
  say(price(1))
  expect(recorder.status().sources).toMatchObject([{ isConnected: true, refused: undefined }])
  expect(lines).toEqual([
    'The price feed live refuses: auth_invalid. Check BOOKFEED_SPOT_KEY.',
    'The price feed live refuses nothing any more.',
  ])
})

test('error: one subscription that is refused is reported, and the others go on', async () => {
  const { advance, sockets, last, say, lines, recorder, price, history } = start()
  await advance(1000)
  last()?.events.opened()
  say({ op: 'authed', rid: 'auth' })
  say({ op: 'subscribed', channel: 'price.crypto.twap', rid: 'prices' })
  say({ op: 'error', code: 'bad_filter', channel: 'price.crypto.twap', rid: 'prices' })
  say(price(1))
  await advance(1000)
  expect(lines).toEqual(['The price feed live refuses: bad_filter. Its other prices go on.'])
  expect(sockets).toHaveLength(1)
  // Neither the answer to a subscription nor the refusal is a price that cannot be read.
  expect(recorder.status().sources).toMatchObject([{ refused: 'bad_filter', faults: 0 }])
  expect(history.spot({ coin: 'btc', order: 'asc', limit: 10 })).toHaveLength(1)
})

test('behavior: pings are those of the feed, and are no price', async () => {
  const { advance, last, say, recorder } = start()
  await advance(1000)
  last()?.events.opened()
  await advance(5000)
  expect(last()?.sent).toContain('{"op":"ping"}')
  expect(last()?.sent).not.toContain('PING')
  say({ op: 'pong' })
  say({ op: 'pong', rid: 'p1' })
  expect(recorder.status().sources).toMatchObject([{ faults: 0 }])
})

test.each([
  [4001, 'the credentials are refused (4001)', 1],
  [4008, 'what was sent is against its policy (4008)', 1],
  [4003, 'the server is shut down (4003)', 2],
  [1006, 'closed with code 1006', 2],
])('error: close code %i says why, and how long to stay away', async (code, text, opened) => {
  const { advance, sockets, last, lines } = start()
  await advance(1000)
  last()?.events.opened()
  last()?.events.closed(`closed with code ${code}`)
  expect(lines).toEqual([`No prices come of live: ${text}. The recorder keeps trying.`])
  await advance(20_000)
  expect(Math.min(2, sockets.length)).toBe(opened)
})
