import type { GapReason, Span } from '#src/domain/coverage.ts'
import type { Millionths } from '#src/domain/decimal.ts'
import type { Outcome } from '#src/domain/market.ts'
import { compareLevels, type Snapshot } from '#src/domain/snapshot.ts'
import type { BookEvent, LevelChange, TickEvent } from '#src/venue/feed.ts'
import type { BookVerifier } from '#src/venue/venue.ts'

import type { BookCounts, BooksOutput, RecordedMarket } from './book-output.ts'
import {
  agrees,
  areMirrored,
  isCrossed,
  type Levels,
  LiveLadders,
  type Tops,
} from './live-ladders.ts'
import { Pace } from './pace.ts'
import type { RecipeWatch } from './recipe-watch.ts'
import { TrueTimes } from './true-times.ts'
import type { Watermark } from './watermark.ts'

export type TokenTerms = {
  market: RecordedMarket
  verifier: BookVerifier
  watch: RecipeWatch
  output: BooksOutput
  counts: BookCounts
  maxPerSecond?: number | undefined
  /** Of the last trades of the market, the newest first, as the venue printed them. */
  tradePrices: readonly string[]
  watermark: Watermark
}

/**
 * How long a book that does not fit its hash waits for what explains it: the rest of its batch, or
 * a trade whose message comes after the book that holds its price (88 ms were seen).
 */
const EXPLAIN_MS = 100

/** A batch is over so long after the last that came of it; with a hash, it is looked at sooner. */
const BATCH_WAIT_MS = 25
const PROVABLE_WAIT_MS = 1

/** What the venue says of a book beside its levels. */
type Claims = Tops & {
  hash: string | undefined
  /** Whether all levels came in one message, and whether they did but for changes since. */
  isWhole: boolean
  isBased: boolean
  /** Whether the other outcome's book, no surer than this one, speaks against it. */
  isContradicted: boolean
}

const noClaims: Claims = {
  hash: undefined,
  bestBid: undefined,
  bestAsk: undefined,
  isWhole: false,
  isBased: false,
  isContradicted: false,
}

/** Changes of one millisecond; their hash is that of the book after the last of them. */
type Batch = Claims & { timestampMs: number; receivedMs: number }

/** A state that is not passed on yet; `verdict` is that of its hash so far. */
type Pending = Claims & {
  state: { -readonly [Name in keyof Snapshot]: Snapshot[Name] }
  verdict: boolean | undefined
}

/** The book of one outcome. */
export class TokenBook {
  readonly #outcome: Outcome
  readonly #terms: TokenTerms
  readonly #other: () => TokenBook
  readonly #pace: Pace
  readonly #ladders = new LiveLadders()
  /** Whether there was a whole book, so that changes have something to change. */
  #hasLevels = false
  /** Time of what was applied last. */
  #timeMs = 0
  #batch: Batch | undefined
  /** States in order of time, of which the first waits for what explains it. */
  #queue: Pending[] = []
  #lastTrue: Snapshot | undefined
  readonly #times = new TrueTimes()
  #isKnown = false
  #tickSize: Millionths | undefined
  #minOrderSize: string | undefined
  #isNegRisk: boolean | undefined
  /** Whether the tick changed since a state was proved: the venue may have moved levels. */
  #isTickDoubtful = false
  /**
   * Whether nothing was proved and nothing disproved since the last whole book: then it is right as
   * far as can be known, where hashes say nothing.
   */
  #isPlain = false

  constructor(outcome: Outcome, terms: TokenTerms, other: () => TokenBook) {
    this.#outcome = outcome
    this.#terms = terms
    this.#other = other
    this.#pace = new Pace(terms)
  }

  /** Time of the first state that was not passed on yet, if there is one. */
  get waitingMs(): number | undefined {
    return this.#pace.heldMs ?? (this.#queue[0]?.state ?? this.#batch)?.timestampMs
  }

  takeBook(event: BookEvent, receivedMs: number): void {
    const { counts, output } = this.#terms
    const { timestampMs, hash } = event
    counts.books++
    const oldestMs = this.#isKnown ? this.#timeMs : (this.#lastTrue?.timestampMs ?? 0)
    if (timestampMs < oldestMs) {
      this.#takeLate(timestampMs)
      return
    }
    this.#tickSize = event.tickSize ?? this.#tickSize
    this.#minOrderSize = event.minOrderSize ?? this.#minOrderSize
    this.#isNegRisk = event.isNegRisk ?? this.#isNegRisk
    if (this.#isLastTrue(event)) {
      this.#restore(event)
      this.#isKnown = true
      output.found({ outcome: this.#outcome, atMs: timestampMs + 1 })
      return
    }
    if (timestampMs < this.#timeMs) {
      // What was taken since the last true state led nowhere.
      this.#batch = undefined
      this.#queue = []
    }
    const batch = this.#open(timestampMs, receivedMs)
    Object.assign(batch, { ...noClaims, hash, isWhole: true, isBased: true })
    this.#restore(event)
  }

  takeChange(change: LevelChange, timestampMs: number, receivedMs: number): void {
    const { counts } = this.#terms
    if (!this.#hasLevels || timestampMs < this.#timeMs) {
      this.#takeLate(timestampMs)
      return
    }
    counts.changes++
    const batch = this.#open(timestampMs, receivedMs)
    this.#ladders.set(change.side, change.price, change.size)
    batch.hash = change.hash
    batch.bestBid = change.bestBid
    batch.bestAsk = change.bestAsk
    batch.isWhole = false
  }

  takeTick({ tickSize }: TickEvent): void {
    if (tickSize === this.#tickSize) return
    this.#tickSize = tickSize
    this.#isTickDoubtful = true
    this.#isPlain = false
  }

  /** Looks again at what waits, because more is known of the market. */
  recheck(nowMs: number): void {
    this.#verifyQueue()
    this.#drain(nowMs)
  }

  settle(nowMs: number): void {
    if (this.#batch && this.#isOver(this.#batch, nowMs)) this.#close(nowMs)
    this.#drain(nowMs)
    this.#pace.settle(nowMs)
  }

  lose(reason: GapReason): void {
    // The rest of the batch may have been lost: only its hash can say that it is whole.
    if (this.#isProvable(this.#batch)) this.#close(Number.POSITIVE_INFINITY, reason)
    this.#batch = undefined
    this.#drain(Number.POSITIVE_INFINITY, reason)
    this.#isPlain = false
    this.#markLost(reason)
  }

  #isProvable(batch: Batch | undefined): boolean {
    return batch?.hash !== undefined && !this.#terms.watch.isAdvisory()
  }

  #isOver(batch: Batch, nowMs: number): boolean {
    const waitedMs = nowMs - batch.receivedMs
    // A hash says whether it is whole; one that is not is taken up again when more comes.
    if (this.#isProvable(batch)) return waitedMs > PROVABLE_WAIT_MS
    if (batch.isWhole) return waitedMs > BATCH_WAIT_MS
    return this.#terms.watermark.hasPassed(batch, { waitMs: BATCH_WAIT_MS, nowMs })
  }

  /** It counts no more, but may say that a state was missed. */
  #takeLate(timestampMs: number): void {
    this.#terms.counts.stale++
    this.#miss(this.#times.late(timestampMs))
  }

  #miss(span: Span | undefined): void {
    const { output } = this.#terms
    if (span) output.missed({ outcome: this.#outcome, ...span, reason: 'recorder_down' })
  }

  /** The state at a millisecond, as far as there is one. */
  #stateAt(timestampMs: number): (Levels & { isVerified?: boolean | undefined }) | undefined {
    if (this.#batch?.timestampMs === timestampMs) return this.#ladders.share()
    const isIt = (state: Snapshot | undefined) => state?.timestampMs === timestampMs
    const pending = this.#queue.find(({ state }) => isIt(state))
    if (pending) return { ...pending.state, isVerified: pending.verdict }
    return this.#isKnown && isIt(this.#lastTrue) ? this.#lastTrue : undefined
  }

  /** The other outcome's book, no surer than this one, was another at this millisecond. */
  #contradict(timestampMs: number): void {
    if (this.#batch?.timestampMs === timestampMs) this.#batch.isContradicted = true
    for (const pending of this.#queue) {
      if (pending.state.timestampMs === timestampMs) pending.isContradicted = true
    }
    const last = this.#lastTrue
    if (last?.timestampMs !== timestampMs || last.isVerified === true) return
    this.#isPlain = false
    this.#markLost('hash_mismatch')
  }

  /** Whether a book is the last true state, and nothing is known to have come after that. */
  #isLastTrue(event: BookEvent): boolean {
    const last = this.#lastTrue
    return (
      !this.#isKnown &&
      last?.timestampMs === event.timestampMs &&
      this.#timeMs <= event.timestampMs &&
      compareLevels(last, event) === 0
    )
  }

  #restore(event: BookEvent): void {
    this.#ladders.replace(event)
    this.#hasLevels = true
    this.#timeMs = event.timestampMs
    this.#isPlain = true
  }

  /** Returns the batch of a millisecond, ending the one of another. */
  #open(timestampMs: number, receivedMs: number): Batch {
    if (this.#batch && this.#batch.timestampMs !== timestampMs) this.#close(receivedMs)
    this.#timeMs = timestampMs
    if (this.#batch !== undefined) {
      this.#batch.receivedMs = receivedMs
      return this.#batch
    }
    const isBased = this.#reopen(timestampMs)
    this.#batch = { ...noClaims, isBased, timestampMs, receivedMs }
    return this.#batch
  }

  /** Takes back a state that waits for the rest of its batch; returns whether it has its base. */
  #reopen(timestampMs: number): boolean {
    const last = this.#queue.at(-1)
    if (last === undefined || last.verdict === true) return false
    if (last.state.timestampMs !== timestampMs) return false
    this.#queue.pop()
    return last.isBased
  }

  /** Ends a batch: its levels are a state, if nothing speaks against it. */
  #close(nowMs: number, reason?: GapReason): void {
    const batch = this.#batch
    this.#batch = undefined
    if (batch === undefined) return
    const { timestampMs, receivedMs, ...claims } = batch
    const levels = this.#ladders.share()
    const last = this.#queue.at(-1)?.state ?? this.#lastTrue
    const isSameMs = last?.timestampMs === timestampMs
    // What was repeated.
    if (isSameMs && compareLevels(last, levels) === 0) return
    const { market } = this.#terms
    const pending: Pending = {
      ...claims,
      state: {
        coin: market.coin,
        conditionId: market.conditionId,
        timeframe: market.timeframe,
        assetId: market.assetIds[this.#outcome],
        outcome: this.#outcome,
        timestampMs,
        bids: levels.bids,
        asks: levels.asks,
        sourceHash: claims.hash,
        isVerified: undefined,
        sequence: isSameMs ? (last.sequence ?? 0) + 1 : undefined,
        receivedMs,
      },
      verdict: undefined,
    }
    // A whole book that does not fit is evidence against the recipe, so it is looked at closely.
    this.#verify(pending, !pending.isWhole)
    this.#report(pending)
    this.#queue.push(pending)
    this.#drain(nowMs, reason)
  }

  #verify(pending: Pending, isQuick: boolean): void {
    const { verifier, tradePrices } = this.#terms
    const said = {
      tickSize: this.#tickSize,
      minOrderSize: this.#minOrderSize,
      isNegRisk: this.#isNegRisk,
      tradePrices,
      isQuick,
    }
    pending.verdict = verifier.verify(pending.state, said)
  }

  #report({ verdict, isWhole, state, ...claims }: Pending): void {
    const { watch } = this.#terms
    if (verdict === true) watch.fitted()
    if (verdict !== false || !(this.#isKnown || this.#isPlain)) return
    if (agrees(claims, state)) watch.missed({ assetId: state.assetId, isWhole })
  }

  #verifyQueue(): void {
    for (const pending of this.#queue) if (pending.verdict === false) this.#verify(pending, true)
  }

  /** Passes on, in order, what is true, and drops what is not, up to what has to wait. */
  #drain(nowMs: number, reason: GapReason = 'hash_mismatch'): void {
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      const isTrue = this.#judge(head, nowMs)
      if (isTrue === undefined) return
      this.#queue.shift()
      if (isTrue) this.#accept(head)
      else this.#reject(head, reason)
    }
  }

  /** Undefined while that may still turn out. */
  #judge(pending: Pending, nowMs: number): boolean | undefined {
    if (pending.verdict === true) return true
    const { watch, watermark } = this.#terms
    const isHopeful = this.#isKnown || pending.isBased
    const waits = isHopeful && !watermark.hasPassed(pending.state, { waitMs: EXPLAIN_MS, nowMs })
    if (pending.verdict === undefined || watch.isAdvisory()) {
      return this.#isSound(pending) || (waits ? undefined : false)
    }
    if (waits) return undefined
    if (isHopeful) this.#verify(pending, false)
    // What explains this one may explain those after it.
    if (pending.verdict) this.#verifyQueue()
    return pending.verdict
  }

  /** Whether a state without a verdict is right as far as can be known. */
  #isSound(pending: Pending): boolean {
    const isPlain = this.#isPlain && this.#terms.watch.isAdvisory()
    const isTrusted = (this.#isKnown && !this.#isTickDoubtful) || pending.isBased || isPlain
    if (!isTrusted || pending.isContradicted) return false
    return agrees(pending, pending.state) && this.#isMirrored(pending.state)
  }

  #isMirrored(state: Snapshot): boolean {
    const mirror = this.#other().#stateAt(state.timestampMs)
    return mirror === undefined || areMirrored(state, mirror)
  }

  #accept({ state, verdict, isBased }: Pending): void {
    const { counts, output } = this.#terms
    if (verdict === true) {
      counts.verified++
      state.isVerified = true
      this.#isPlain = false
    } else if (verdict === false) counts.mismatched++
    else counts.unchecked++
    if (verdict === true || isBased) this.#isTickDoubtful = false
    if (isCrossed(state)) counts.crossed++
    this.#lastTrue = state
    const passedOver = this.#times.add(state.timestampMs)
    if (this.#isKnown) {
      this.#miss(passedOver)
      this.#pace.offer(state)
      return
    }
    this.#isKnown = true
    output.found({ outcome: this.#outcome, atMs: state.timestampMs })
    // Whatever the pace: until there is a state, the one before the loss would seem to last.
    this.#pace.offer(state)
    this.#pace.flush()
  }

  #reject(pending: Pending, reason: GapReason): void {
    if (pending.verdict === false) this.#terms.counts.mismatched++
    const { timestampMs } = pending.state
    const mirror = this.#other().#stateAt(timestampMs)
    const isContradicted = mirror !== undefined && !areMirrored(pending.state, mirror)
    if (isContradicted || !agrees(pending, pending.state)) this.#isPlain = false
    this.#markLost(reason)
    if (isContradicted && mirror.isVerified !== true) this.#other().#contradict(timestampMs)
  }

  #markLost(reason: GapReason): void {
    const last = this.#lastTrue
    if (!this.#isKnown || last === undefined) return
    this.#isKnown = false
    this.#times.end()
    this.#pace.flush()
    this.#terms.output.lost({ outcome: this.#outcome, fromMs: last.timestampMs + 1, reason })
  }
}
