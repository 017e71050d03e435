import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { type Outcome, outcomes } from '#src/domain/market.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { startBooks, toPlain } from './books-log.ts'
import { ask, at, bid } from './stage.ts'
import { type Change, type Recipe, type Said, VenueModel } from './venue-model.ts'

const faults = [
  'none',
  'none',
  'none',
  'drop',
  'repeat',
  'repeat later',
  'swap',
  'corrupt',
  'wrong hash',
  'noise',
  'late rest',
  'reconnect',
] as const
type Fault = (typeof faults)[number]

/** Changes of a millisecond, in frames, and what goes wrong with them. */
type Step = {
  afterMs: number
  delayMs: number
  frames: Change[][]
  schema: 'current' | 'old'
  fault: Fault
  trade: { price: number; lateMs: number } | undefined
}

const change = fc
  .tuple(fc.boolean(), fc.integer({ min: 1, max: 30 }), fc.nat(3))
  .map(([isBid, cents, size]) => (isBid ? bid(cents, size) : ask(cents + 25, size)))

const stepsWith = (allowed: readonly Fault[]) =>
  fc.array(
    fc.record<Step>({
      afterMs: fc.integer({ min: 1, max: 60 }),
      delayMs: fc.nat(20),
      frames: fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), {
        minLength: 1,
        maxLength: 3,
      }),
      schema: fc.constantFrom('current', 'old'),
      fault: fc.constantFrom(...allowed),
      trade: fc.option(fc.record({ price: fc.integer({ min: 1, max: 999 }), lateMs: fc.nat(90) }), {
        nil: undefined,
        freq: 4,
      }),
    }),
    { minLength: 1, maxLength: 25 },
  )

type Manner = Said & { recipe?: Recipe }
type Delivery = { receivedMs: number; act: (books: Books, receivedMs: number) => void }
type Books = ReturnType<typeof startBooks>

/** Another size in the first level of a frame, of whichever schema. */
function corrupt(frame: object): object {
  const text = JSON.stringify(frame)
  return JSON.parse(text.replace(/"size":"[^"]*"/, '"size":"77"'))
}

/** What arrives when, and at which times of the venue something did not. */
class Script {
  readonly venue = new VenueModel()
  readonly deliveries: Delivery[] = []
  readonly droppedMs: number[] = []
  #timeMs = at(0)
  #receivedMs = at(0)

  readonly #said: Said

  constructor(steps: readonly Step[], { recipe = 'usual', ...said }: Manner = {}) {
    this.venue.recipe = recipe
    this.#said = said
    this.venue.apply(this.#timeMs, [bid(20, 3), ask(40, 3)])
    this.#sendBooks()
    for (const step of steps) this.#play(step)
    // The last thing that is sent, so that whatever was missed has been noticed.
    this.#receivedMs += 3000
    this.#reconnect()
    this.deliveries.sort((a, b) => a.receivedMs - b.receivedMs)
  }

  #deliver(frames: readonly object[], lateMs = 0): void {
    const receivedMs = this.#receivedMs + lateMs
    this.deliveries.push({ receivedMs, act: (books, nowMs) => books.take(nowMs, ...frames) })
  }

  #sendBooks(): void {
    const timeMs = this.#timeMs
    const said = this.#said
    this.#deliver(outcomes.map((outcome) => this.venue.bookFrame(outcome, timeMs, said)))
  }

  #reconnect(): void {
    const receivedMs = this.#receivedMs
    const act = (books: Books, nowMs: number): void => {
      books.settle(nowMs)
      books.lose('recorder_down')
    }
    this.deliveries.push({ receivedMs, act })
    this.#sendBooks()
  }

  #play({ afterMs, delayMs, frames, schema, fault, trade }: Step): void {
    this.#timeMs += afterMs
    this.#receivedMs = Math.max(this.#receivedMs, this.#timeMs + delayMs)
    if (trade) this.venue.lastTradePrice = `0.${String(trade.price).padStart(3, '0')}`
    this.venue.apply(this.#timeMs, frames.flat())
    const said = { ...this.#said, schema, wrongHash: fault === 'wrong hash' }
    const sent = frames.flatMap((each) => this.venue.changeFrames(this.#timeMs, each, said))
    this.#send(sent, fault)
    if (trade) this.#deliver([this.venue.tradeFrame('up', this.#timeMs)], trade.lateMs)
  }

  #send(sent: readonly object[], fault: Fault): void {
    const [first = {}, ...rest] = sent
    if (fault === 'drop') this.droppedMs.push(this.#timeMs)
    else if (fault !== 'swap') this.#deliver([fault === 'corrupt' ? corrupt(first) : first])
    if (fault === 'noise') this.#deliver([{ event_type: 'book' }])
    this.#deliver(rest, fault === 'late rest' ? 70 : 0)
    if (fault === 'swap' || fault === 'repeat') this.#deliver([first])
    if (fault === 'repeat later') this.#deliver([first], 45)
    if (fault === 'reconnect') this.#reconnect()
  }
}

function play(script: Script, options = {}): Books {
  const books = startBooks(options)
  let nowMs = at(0)
  for (const { receivedMs, act } of script.deliveries) {
    for (; nowMs < receivedMs; nowMs += 7) books.settle(nowMs)
    act(books, receivedMs)
  }
  books.settle(nowMs + 1000)
  return books
}

/** Whether a book is said to be known at a time. */
function isKnownAt(books: Books, outcome: Outcome, timeMs: number): boolean {
  let isKnown = false
  for (const each of books.log) {
    if (each.said === 'missed' && each.outcome === outcome) {
      if (each.fromMs <= timeMs && timeMs < each.toMs) return false
    }
    if (each.said === 'found' && each.outcome === outcome && each.atMs <= timeMs) isKnown = true
    if (each.said === 'lost' && each.outcome === outcome && each.fromMs <= timeMs) isKnown = false
  }
  return isKnown
}

function checkOutcome(script: Script, books: Books, outcome: Outcome): void {
  const truth = script.venue.truth[outcome]
  const states = books.states(outcome)
  for (const [index, state] of states.entries()) {
    const real = truth.find(({ timestampMs }) => timestampMs === state.timestampMs)
    expect<unknown>(toPlain(state)).toEqual(real?.book)
    expect(state.timestampMs).toBeGreaterThan(states[index - 1]?.timestampMs ?? 0)
  }
  for (const { timestampMs, book } of truth) {
    if (!isKnownAt(books, outcome, timestampMs)) continue
    const prevailing = states.findLast((state) => state.timestampMs <= timestampMs)
    const fromMs = prevailing?.timestampMs ?? 0
    // A level that was set again leaves no trace of a message that was lost.
    if (script.droppedMs.some((ms) => ms > fromMs && ms <= timestampMs)) continue
    expect(prevailing && toPlain(prevailing)).toEqual(book)
  }
}

describe('createMarketBooks', () => {
  test('fuzz: whatever goes wrong, nothing false is said to be known', () => {
    fc.assert(
      fc.property(stepsWith(faults), (steps) => {
        const script = new Script(steps)
        const books = play(script)
        for (const outcome of outcomes) {
          checkOutcome(script, books, outcome)
          expect(isKnownAt(books, outcome, at(1_000_000))).toBe(true)
        }
      }),
      { numRuns: 200 },
    )
  }, 300_000)

  test('fuzz: states of both books come in order of time, whatever one of them waits for', () => {
    fc.assert(
      fc.property(stepsWith(['none', 'wrong hash', 'corrupt', 'drop']), (steps) => {
        const { log } = play(new Script(steps))
        const times = log.flatMap((each) => (each.said === 'state' ? [each.state.timestampMs] : []))
        expect(times).toEqual(times.toSorted((a, b) => a - b))
      }),
      { numRuns: 200 },
    )
  }, 300_000)

  test('fuzz: where nothing goes wrong, every state is passed on and nothing is lost', () => {
    fc.assert(
      fc.property(stepsWith(['none']), (steps) => {
        const script = new Script(steps)
        const books = play(script)
        for (const outcome of outcomes) {
          const times = books.states(outcome).map(({ timestampMs }) => timestampMs)
          expect(times).toEqual(script.venue.truth[outcome].map(({ timestampMs }) => timestampMs))
          checkOutcome(script, books, outcome)
        }
        const losses = books.log.filter(({ said }) => said === 'lost')
        expect(losses.map((loss) => 'reason' in loss && loss.reason)).toEqual([
          'recorder_down',
          'recorder_down',
        ])
      }),
      { numRuns: 100 },
    )
  }, 300_000)

  test('fuzz: without hashes every state is passed on too, where the venue agrees', () => {
    fc.assert(
      fc.property(stepsWith(['none']), (steps) => {
        // The old schema does not say best prices, so that no crossed book is believed.
        const current = steps.map((step) => ({ ...step, schema: 'current' as const }))
        const script = new Script(current, { noHash: true })
        const books = play(script)
        for (const outcome of outcomes) {
          expect(books.states(outcome)).toHaveLength(script.venue.truth[outcome].length)
          checkOutcome(script, books, outcome)
        }
      }),
      { numRuns: 100 },
    )
  }, 300_000)

  test('fuzz: with another recipe nothing false is passed on, and there is one alarm', () => {
    fc.assert(
      fc.property(stepsWith(['none', 'reconnect']), (steps) => {
        const script = new Script(steps, { recipe: 'unheard' })
        const books = play(script)
        const states = outcomes.flatMap((outcome) => books.states(outcome))
        const wrong = states.filter(({ isVerified }) => isVerified !== undefined)
        expect([wrong, books.alarms.length <= 1]).toEqual([[], true])
        for (const outcome of outcomes) checkOutcome(script, books, outcome)
      }),
      { numRuns: 100 },
    )
  }, 300_000)

  test('fuzz: a pace leaves states out, and says nothing false either', () => {
    fc.assert(
      fc.property(stepsWith(faults), (steps) => {
        const script = new Script(steps)
        const all = play(script)
        const few = play(script, { maxPerSecond: 5 })
        for (const outcome of outcomes) {
          // What is said of one outcome may come before or after what is said of the other.
          const spansOf = (books: Books) =>
            books.log.filter((each) => 'outcome' in each && each.outcome === outcome)
          expect(spansOf(few)).toEqual(spansOf(all))
          const passed = few.states(outcome)
          const rest = all
            .states(outcome)
            .filter((state) => !passed.some((one) => Bun.deepEquals(one, state)))
          expect(passed.length + rest.length).toBe(all.states(outcome).length)
          expect(passed.at(-1)).toEqual(all.states(outcome).at(-1))
        }
      }),
      { numRuns: 60 },
    )
  }, 300_000)

  test('fuzz: the same frames give the same states, however often the owner looks', () => {
    fc.assert(
      fc.property(stepsWith(faults), (steps) => {
        const script = new Script(steps)
        // A bound of searches goes by who asks first.
        const often = play(script, { verifier: polymarket.createBookVerifier() })
        const rarely = startBooks({ verifier: polymarket.createBookVerifier() })
        for (const { receivedMs, act } of script.deliveries) act(rarely, receivedMs)
        rarely.settle(at(1_000_000))
        for (const outcome of outcomes) {
          expect(rarely.states(outcome)).toEqual(often.states(outcome))
          expect(rarely.story(outcome, at(0))).toEqual(often.story(outcome, at(0)))
        }
      }),
      { numRuns: 60 },
    )
  }, 300_000)
})
