/** The conformance suite's part on streams of events. */
import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'

import { outcomes } from '#src/domain/market.ts'
import type { Position, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { EventStream, MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  createBookMaker,
  getMarket,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'

const decoder = new TextDecoder()
const MARKETS = 2

/** The row of a page, as the events have it. */
const before = ({ timestampMs, id }: Position) => `event:row\nid:${timestampMs}-${id}\ndata:`

type Reader = {
  stream: EventStream
  pieces: Uint8Array[]
  text: string
  places: (Position | undefined)[]
}

const newReader = (history: MarketHistory): Reader => ({
  stream: history.events(),
  pieces: [],
  text: '',
  places: [],
})

/** What was written, without the comments that fill the last bytes. */
function textOf({ stream, pieces }: Reader): string {
  const bytes = Buffer.concat([...pieces, stream.fork(stream.sum).end()])
  return decoder.decode(gunzipSync(bytes)).replace(/^:.\n\n/gm, '\n')
}

function say(reader: Reader, text: string, name?: string): void {
  reader.pieces.push(reader.stream.event(text, name))
  reader.text += `${text}\n\n`
}

/** Reads on where it stopped in a market; returns whether there may be more. */
function follow(history: MarketHistory, reader: Reader, part: { number: number; limit: number }) {
  const { number, limit } = part
  const market = getMarket(history, conditionIdOf(number))
  const after = reader.places[number]
  const page = history.page({ market, after, limit, order: 'asc' })
  const rows = Array.from(page.texts(), (text) => decoder.decode(text))
  const places: Position[] = []
  const { bytes, count, last, hasMore } = reader.stream.rows({ market, after, limit }, (place) => {
    places.push(place)
    return before(place)
  })
  expect([count, last, hasMore]).toEqual([page.count, page.last, page.hasMore])
  reader.pieces.push(bytes)
  reader.text += rows
    .map((row, at) => `${before(places[at] ?? { timestampMs: 0, id: 0 })}${row}\n\n`)
    .join('')
  reader.places[number] = last ?? after
  return hasMore
}

type Books = Record<(typeof outcomes)[number], ReturnType<typeof createBookMaker>>[]

/** Some rows of some markets, a few of them late. */
async function appendSome(
  history: MarketHistory,
  random: Random,
  state: { books: Books; ms: number },
): Promise<void> {
  const rows: Omit<StoredSnapshot, 'id'>[] = []
  for (let count = 1 + random.integer(60); count > 0; count--) {
    const number = 1 + random.integer(MARKETS)
    const outcome = random.pick(outcomes)
    state.ms += 1 + random.integer(5)
    const late = random.integer(50) === 0 ? random.integer(500) : 0
    const book = state.books[number - 1]?.[outcome]() ?? {}
    const timestampMs = START_MS + state.ms - Math.min(late, state.ms)
    rows.push(aSnapshot({ conditionId: conditionIdOf(number), outcome, timestampMs, ...book }))
  }
  await appendAll(history, rows)
}

const newState = (random: Random) => ({
  ms: 0,
  books: Array.from({ length: MARKETS }, () => ({
    up: createBookMaker(random),
    down: createBookMaker(random),
  })),
})

const firstRows = [1, 2].map((number) => aSnapshot({ conditionId: conditionIdOf(number) }))

/** Text with parts put in, taken out and moved; sometimes longer than what gzip remembers. */
function changed(text: string, random: Random): string {
  const from = random.integer(text.length + 1)
  const to = random.integer(text.length + 1)
  const made = Array.from({ length: random.integer(30) }, () => 33 + random.integer(94))
  const part = String.fromCharCode(...made).repeat(random.pick([1, 1, 1, 400]))
  return random.pick([
    text.slice(0, from) + part + text.slice(from),
    text.slice(from) + part + text.slice(0, to),
    text.slice(0, from) + text.slice(to),
    text.slice(-2000),
  ])
}

export function conformEvents(use: Use): void {
  describe('events', () => {
    test(
      'default: rows of any markets and any text between them are one stream',
      use(async (history) => {
        const random = createRandom('events')
        const state = newState(random)
        const reader = newReader(history)
        const texts: Record<string, string> = {}
        await appendAll(history, firstRows)
        say(reader, 'retry:3000')
        for (let step = 0; step < 120; step++) {
          const part = { number: 1 + random.integer(MARKETS), limit: 1 + random.integer(40) }
          if (step % 3 === 0) await appendSome(history, random, state)
          if (step % 5 === 0) say(reader, `:${'x'.repeat(random.integer(3000))}`)
          const name = String(random.integer(3))
          texts[name] = changed(texts[name] ?? '', random)
          say(reader, `data:${texts[name]}`, name)
          follow(history, reader, part)
        }
        expect(textOf(reader) === reader.text).toBe(true)
      }),
    )

    test(
      'behavior: what one stream is given may be sent on every other in the same step',
      use(async (history) => {
        const random = createRandom('steps')
        const state = newState(random)
        await appendAll(history, firstRows)
        for (let round = 0; round < 5; round++) await appendSome(history, random, state)
        const one = newReader(history)
        const other = newReader(history)
        say(one, 'retry:3000')
        say(other, `data:${'y'.repeat(1 + random.integer(9))}`)
        const readOn = (reader: Reader, limit: number) => {
          for (const number of [1, 2]) while (follow(history, reader, { number, limit }));
        }
        readOn(one, 7)
        expect(one.stream.step).not.toBe(other.stream.step)
        readOn(other, 90)
        expect(one.stream.step).toBe(other.stream.step)
        // From here on the other one is given what the first one is.
        other.stream = one.stream.fork(other.stream.sum)
        const { pieces, text } = { pieces: [...one.pieces], text: one.text }
        one.pieces = []
        one.text = ''
        await appendSome(history, random, state)
        readOn(one, 50)
        readOn(other, 50)
        const last = one.pieces
        expect(Buffer.concat(other.pieces).subarray(-Buffer.concat(last).length)).toEqual(
          Buffer.concat(last),
        )
        one.pieces = [...pieces, ...last]
        one.text = text + one.text
        for (const each of [one, other]) expect(textOf(each) === each.text).toBe(true)
      }),
    )
  })
}
