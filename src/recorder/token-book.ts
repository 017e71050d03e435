import type { GapReason, Span } from '#src/domain/coverage.ts'
import type { Millionths } from '#src/domain/decimal.ts'
import type { Outcome } from '#src/domain/market.ts'
import { compareLevels, type Levels, type Snapshot } from '#src/domain/snapshot.ts'
import type { BookEvent, LevelChange } from '#src/venue/feed.ts'

import type { BooksOptions } from './book-output.ts'
import { agrees, areMirrored, isCrossed, LiveLadders } from './live-ladders.ts'
import { Pace } from './pace.ts'
import { TrueTimes } from './true-times.ts'
import type { Watermark } from './watermark.ts'

/**
 * The wait of a book that mismatches its hash for an explanation: the rest of its batch, or a trade
 * whose message arrives after the book with its price (88 ms were seen).
 */
const EXPLAIN_MS = 100

/**
 * The wait of a mismatched whole book for one that matches, in a market without a match so far. If
 * one matches, the first book is wrong; otherwise the recipe of the market is unknown.
 */
const DECIDE_MS = 2000

/** The silence after which a batch is complete; a batch with a hash is checked sooner. */
const BATCH_WAIT_MS = 25
const PROVABLE_WAIT_MS = 1

/** Information about a book besides its levels. */
type Claims = Pick<LevelChange, 'hash' | 'bestBid' | 'bestAsk'> & {
  /** True if all levels arrived in one message. */
  isWhole: boolean
  /** True if all levels arrived in one message, apart from later changes. */
  isBased: boolean
  /**
   * True if the book of the other outcome, which is no more certain than this one, contradicts it.
   */
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

/** The changes of one millisecond. Their hash is that of the book after the last change. */
type Batch = Claims & { timestampMs: number; receivedMs: number; hasReceipt: boolean }

/** A state that has not been passed on yet. */
type Pending = Claims & {
  state: { -readonly [Name in keyof Snapshot]: Snapshot[Name] }
  /** True if it matches its hash, as far as known; undefined without a hash. */
  verdict: boolean | undefined
  /** True if unlikely recipes were tried too, after the explanation had time to arrive. */
  isSearched: boolean
}

export class TokenBook {
  readonly #outcome: Outcome
  readonly #terms: ConstructorParameters<typeof TokenBook>[1]
  readonly #other: () => TokenBook
  readonly #pace: Pace
  readonly #ladders = new LiveLadders()
  /** True after a whole book, which changes can be applied to. */
  #hasLevels = false
  /** The time of the last applied message. */
  #timeMs = 0
  #batch: Batch | undefined
  /** States in order of time; the first one waits for its explanation. */
  #queue: Pending[] = []
  #lastTrue: Snapshot | undefined
  readonly #times = new TrueTimes()
  #isKnown = false
  #tickSize: Millionths | undefined
  #minOrderSize: string | undefined
  #isNegRisk: boolean | undefined
  #version: string | undefined
  /** True if the tick changed since the last proved state: the venue may have moved levels. */
  #isTickDoubtful = false
  /**
   * True if nothing was proved or disproved since the last whole book. If hashes are no evidence,
   * the book is then right as far as can be known.
   */
  #isPlain = false

  constructor(
    outcome: Outcome,
    terms: BooksOptions & {
      watermark: Watermark
      /** The last trade prices of the market, newest first, as printed by the venue. */
      tradePrices: readonly string[]
    },
    other: () => TokenBook,
  ) {
    const { maxPerSecond, counts, output } = terms
    this.#outcome = outcome
    this.#terms = terms
    this.#other = other
    this.#pace = new Pace(maxPerSecond, counts, (state) => output.state(state))
  }

  /** The time of the first state that has not been passed on. */
  get waitingMs(): number | undefined {
    return this.#pace.heldMs ?? (this.#queue[0]?.state ?? this.#batch)?.timestampMs
  }

  takeBook(event: BookEvent, receivedMs: number, hasReceipt: boolean): void {
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
    this.#version = event.version ?? this.#version
    if (this.#isLastTrue(event)) {
      this.#restore(event)
      this.#isKnown = true
      output.found({ outcome: this.#outcome, atMs: timestampMs + 1 })
      return
    }
    if (timestampMs < this.#timeMs) {
      // The messages since the last true state did not lead to a true one.
      this.#batch = undefined
      this.#queue = []
    }
    const batch = this.#open(timestampMs, receivedMs, hasReceipt)
    Object.assign(batch, { ...noClaims, hash, isWhole: true, isBased: true })
    this.#restore(event)
  }

  takeChange(
    change: LevelChange,
    timestampMs: number,
    receivedMs: number,
    hasReceipt: boolean,
  ): void {
    const { counts } = this.#terms
    if (!this.#hasLevels || timestampMs < this.#timeMs) {
      this.#takeLate(timestampMs)
      return
    }
    counts.changes++
    const batch = this.#open(timestampMs, receivedMs, hasReceipt)
    this.#ladders.set(change.side, change.price, change.size)
    batch.hash = change.hash
    batch.bestBid = change.bestBid
    batch.bestAsk = change.bestAsk
    batch.isWhole = false
  }

  takeTick(tickSize: Millionths): void {
    if (tickSize === this.#tickSize) return
    this.#tickSize = tickSize
    this.#isTickDoubtful = true
    this.#isPlain = false
  }

  /** Checks the waiting states again after a new trade price. */
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
    // The rest of the batch may be lost: only its hash can prove it complete.
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
    // The hash shows if the batch is complete; if not, it is reopened by the next message.
    if (this.#isProvable(batch)) return waitedMs > PROVABLE_WAIT_MS
    if (batch.isWhole) return waitedMs > BATCH_WAIT_MS
    return this.#terms.watermark.hasPassed(batch, BATCH_WAIT_MS, nowMs)
  }

  /** A message that is too late to apply may still reveal a missed state. */
  #takeLate(timestampMs: number): void {
    this.#terms.counts.stale++
    this.#miss(this.#times.late(timestampMs))
  }

  #miss(span: Span | undefined): void {
    const { output } = this.#terms
    if (span) output.missed({ outcome: this.#outcome, ...span, reason: 'recorder_down' })
  }

  #stateAt(timestampMs: number): (Levels & { isVerified?: boolean | undefined }) | undefined {
    if (this.#batch?.timestampMs === timestampMs) return this.#ladders.share()
    const pending = this.#queue.find(({ state }) => state.timestampMs === timestampMs)
    if (pending) return { ...pending.state, isVerified: pending.verdict }
    const isLast = this.#isKnown && this.#lastTrue?.timestampMs === timestampMs
    return isLast ? this.#lastTrue : undefined
  }

  /**
   * Notes that the book of the other outcome, which is no more certain than this one, differs at
   * this millisecond.
   */
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

  /** True if a book equals the last true state and nothing is known to have followed it. */
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

  /** Returns the batch of a millisecond and ends the batch of any other. */
  #open(timestampMs: number, receivedMs: number, hasReceipt: boolean): Batch {
    if (this.#batch && this.#batch.timestampMs !== timestampMs) this.#close(receivedMs)
    this.#timeMs = timestampMs
    if (this.#batch !== undefined) {
      this.#batch.receivedMs = receivedMs
      this.#batch.hasReceipt = hasReceipt
      return this.#batch
    }
    const last = this.#queue.at(-1)
    // Takes back a state that waits for the rest of its batch.
    const isReopened = last?.state.timestampMs === timestampMs && last.verdict !== true
    if (isReopened) this.#queue.pop()
    const isBased = isReopened && last.isBased
    this.#batch = { ...noClaims, isBased, timestampMs, receivedMs, hasReceipt }
    return this.#batch
  }

  /** Ends a batch: its levels become a state, unless they repeat the previous one. */
  #close(nowMs: number, reason?: GapReason): void {
    const batch = this.#batch
    this.#batch = undefined
    if (batch === undefined) return
    const { timestampMs, receivedMs, hasReceipt, ...claims } = batch
    const levels = this.#ladders.share()
    const last = this.#queue.at(-1)?.state ?? this.#lastTrue
    const isSameMs = last?.timestampMs === timestampMs
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
        receivedMs: hasReceipt ? receivedMs : undefined,
      },
      verdict: undefined,
      isSearched: false,
    }
    // A mismatched whole book is evidence against the recipe, so it is checked with all recipes.
    this.#verify(pending, !pending.isWhole)
    this.#tellWatch(pending)
    this.#queue.push(pending)
    this.#drain(nowMs, reason)
  }

  #verify(pending: Pending, isQuick: boolean): void {
    const { verifier, tradePrices } = this.#terms
    if (pending.state.sourceHash === undefined) return
    const verdict = verifier.verify(pending.state, {
      tickSize: this.#tickSize,
      minOrderSize: this.#minOrderSize,
      isNegRisk: this.#isNegRisk,
      version: this.#version,
      tradePrices,
      isQuick,
    })
    // A hash that no known recipe reproduces is judged by the watch.
    pending.verdict = verdict === true
  }

  #tellWatch(pending: Pending): void {
    const { verdict, isWhole, state } = pending
    const { watch } = this.#terms
    if (verdict === true) watch.fitted()
    if (verdict !== false || !(this.#isKnown || this.#isPlain)) return
    if (agrees(pending, state)) watch.missed(state.assetId, isWhole)
  }

  #verifyQueue(): void {
    for (const pending of this.#queue) if (pending.verdict === false) this.#verify(pending, true)
  }

  /** Passes on true states in order and drops the others, up to the first undecided one. */
  #drain(nowMs: number, lostFor?: GapReason): void {
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      const isTrue = this.#judge(head, nowMs, lostFor !== undefined)
      if (isTrue === undefined) return
      this.#queue.shift()
      if (isTrue) this.#accept(head)
      else this.#reject(head, lostFor ?? 'hash_mismatch')
    }
  }

  /** True or false once it is known if a state is true; undefined until then. */
  #judge(pending: Pending, nowMs: number, isLost: boolean): boolean | undefined {
    if (pending.verdict === true) return true
    const { watch, watermark } = this.#terms
    const isHopeful = this.#isKnown || pending.isBased
    const waits = isHopeful && !watermark.hasPassed(pending.state, EXPLAIN_MS, nowMs)
    if (pending.verdict === undefined || watch.isAdvisory()) {
      return this.#isSound(pending) || (waits ? undefined : false)
    }
    if (waits) return undefined
    if (isHopeful && !pending.isSearched) {
      pending.isSearched = true
      this.#verify(pending, false)
      // The same trade price may explain later states.
      if (pending.verdict) this.#verifyQueue()
    }
    if (pending.verdict || !watch.isUndecided() || !isHopeful || isLost) return pending.verdict
    if (!agrees(pending, pending.state)) return false
    if (!watermark.hasPassed(pending.state, DECIDE_MS, nowMs)) return undefined
    watch.giveUp()
    return this.#isSound(pending)
  }

  /** True if a state without a verdict is right as far as can be known. */
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
    } else if (verdict === false) {
      counts.unknown++
      // The market's own recipe, which no longer applies, would reject the hash.
      if (this.#terms.watch.hasChanged()) state.sourceHash = undefined
    } else counts.unchecked++
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
    // Passed on regardless of the pace; otherwise the state before the loss would seem to last.
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
