/**
 * `bun test/bench/frames.ts`: what a frame of the venue costs from its text to a true state, on one
 * core and without a store: one change of a level in a book of 99, of both outcomes, each in its
 * own millisecond, so that each makes two states with two hashes.
 */
import { createRandom } from '#src/platform/random.ts'
import { noCounts } from '#src/recorder/book-output.ts'
import { createMarketBooks } from '#src/recorder/books.ts'
import { createRecipeWatch } from '#src/recorder/recipe-watch.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { market, START_MS, VenueModel } from '../recorder/venue-model.ts'

const FRAMES = 6000
const ROUNDS = 9

function buildFrames(said: { noHash: boolean }): string[] {
  const random = createRandom('frames')
  const venue = new VenueModel()
  venue.lastTradePrice = '0.490'
  const levels = Array.from({ length: 99 }, (_, at) => at + 1).filter((cents) => cents !== 50)
  const changes = levels.map((cents) => ({
    side: cents < 50 ? ('bids' as const) : ('asks' as const),
    price: cents * 10_000,
    size: (random.integer(2_000_000) + 1) * 10_000,
  }))
  venue.apply(START_MS, changes)
  const books = [venue.bookFrame('up', START_MS, said), venue.bookFrame('down', START_MS, said)]
  const frames = [JSON.stringify(books)]
  for (let at = 1; at < FRAMES; at++) {
    const change = { ...random.pick(changes), size: (random.integer(2_000_000) + 1) * 10_000 }
    venue.apply(START_MS + at, [change])
    frames.push(JSON.stringify(venue.changeFrames(START_MS + at, [change], said)[0]))
  }
  return frames
}

/** Median microseconds of CPU a frame. */
function measure(run: () => void): string {
  const times = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / FRAMES
  })
  const median = times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
  return `${median.toFixed(1).padStart(6)} us a frame, ${Math.round(1_000_000 / median)} a second`
}

function record(frames: readonly string[]): void {
  const counts = noCounts()
  let states = 0
  const ignore = (): void => undefined
  const books = createMarketBooks({
    market,
    verifier: polymarket.createBookVerifier(),
    watch: createRecipeWatch(ignore),
    counts,
    output: { state: () => states++, trade: ignore, lost: ignore, found: ignore, missed: ignore },
  })
  for (const [at, frame] of frames.entries()) {
    for (const event of polymarket.feed.decode(frame)) books.take(event, START_MS + at + 5)
  }
  books.settle(START_MS + FRAMES + 5000)
  const proved = counts.verified + counts.unchecked
  if (states !== 2 * FRAMES || proved !== states)
    throw new Error(`${states} states, ${proved} proved`)
}

const hashed = buildFrames({ noHash: false })
const plain = buildFrames({ noHash: true })
console.log(`${FRAMES} frames of ${hashed[1]?.length} bytes, median of ${ROUNDS} rounds`)
const decodeAll = () => hashed.forEach((frame) => void polymarket.feed.decode(frame))
console.log(`decoded               ${measure(decodeAll)}`)
console.log(`books, without hashes ${measure(() => record(plain))}`)
console.log(`books, with hashes    ${measure(() => record(hashed))}`)
