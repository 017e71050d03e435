/**
 * Converts the gaps of recordings and messages to statements: the periods in which each source knew
 * a book, and those that it missed. The history combines the statements of all sources.
 */

import { ENDLESS_MS, type Gap, type GapReason, silenceMs, type Span } from '#src/domain/coverage.ts'
import { ifSound } from '#src/domain/errors.ts'
import type { Statement } from '#src/domain/evidence.ts'
import { type MarketFacts, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { subtractSpans } from '#src/domain/spans.ts'
import type { GapChange, MarketHistory } from '#src/history/history.ts'
import { type Entry, isGapChange } from '#src/recorder/entry.ts'

/** The knowledge of one recording about the book of an outcome. */
type HeardBook = {
  /** The gap that has not ended. */
  open: { fromMs: number; reason: GapReason } | undefined
  /** The start of the period in which the book is known; undefined while it is unknown. */
  sinceMs: number | undefined
  lastMs: number
  known: Span[]
  /** Gaps that have ended. */
  gaps: Gap[]
}

/**
 * Takes the rows and gaps of a recorder. A recorder states when it was connected, so a pause is a
 * silence of the venue, and a period without a connection is one without a connected recorder.
 * Ended gaps are stated at once, because an import may be killed.
 */
export function takeRecording(add: (entry: Entry) => void) {
  const books = createHeardBooks(add)

  return {
    add(entry: Entry): void {
      if (isGapChange(entry)) {
        // The reason is stated when all gaps of the recording are known.
        for (const { outcome, fromMs, toMs } of books.takeGap(entry))
          books.state(entry.conditionId, outcome, { kind: 'away', fromMs, toMs })
      } else {
        add(entry)
        if (entry.kind === 'state') books.takeState(entry.snapshot)
      }
    },

    /** Ends the market; a known book stays known. */
    finish(conditionId: string): void {
      for (const outcome of outcomes) endKnown(books.find(conditionId, outcome), ENDLESS_MS)
    },

    /** Ends the input. */
    end(): void {
      for (const { conditionId, outcome, book } of books.all()) {
        endKnown(book)
        const gaps = allGaps(book, outcome)
        const isDown = ({ reason }: Gap): boolean => reason === 'recorder_down'
        const down = gaps.filter(isDown)
        for (const { fromMs, toMs } of down)
          books.state(conditionId, outcome, { kind: 'away', fromMs, toMs })
        for (const gap of gaps.filter((each) => !isDown(each)))
          for (const { fromMs, toMs, reason } of subtractSpans(gap, down))
            books.state(conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
        for (const span of book.known.flatMap((each) => subtractSpans(each, gaps)))
          books.state(conditionId, outcome, { kind: 'known', ...span })
      }
    },
  }
}

/**
 * Takes the rows and gaps of captured messages. The connection times of the capture are unknown, so
 * pauses follow the rules for lines, and every gap counts as detected by the capture.
 */
export function takeMessages(add: (entry: Entry) => void) {
  const books = createHeardBooks(add)

  return {
    add(entry: Entry): void {
      if (isGapChange(entry)) {
        for (const { outcome, fromMs, toMs, reason } of books.takeGap(entry))
          books.state(entry.conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
        return
      }
      add(entry)
      if (entry.kind !== 'state') return
      const { conditionId, outcome, timestampMs, timeframe } = entry.snapshot
      const book = books.find(conditionId, outcome)
      if (timestampMs - book.lastMs > silenceMs(timeframe)) endKnown(book)
      books.takeState(entry.snapshot)
    },

    /** Notes a message about the book before its first known state. */
    addUnproved(conditionId: string, outcome: Outcome, { fromMs, toMs }: Span): void {
      books.state(conditionId, outcome, { kind: 'unproved', fromMs, toMs })
    },

    /** Ends the input. */
    end(): void {
      for (const { conditionId, outcome, book } of books.all()) {
        endKnown(book)
        const gaps = allGaps(book, outcome)
        for (const { fromMs, toMs, reason } of gaps.filter((gap) => gap.toMs === ENDLESS_MS))
          books.state(conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
        for (const span of book.known.flatMap((each) => subtractSpans(each, gaps)))
          books.state(conditionId, outcome, { kind: 'followed', ...span })
      }
    },
  }
}

function createHeardBooks(add: (entry: Entry) => void) {
  const markets = new Map<string, Record<Outcome, HeardBook>>()

  function find(conditionId: string, outcome: Outcome): HeardBook {
    const found = markets.get(conditionId) ?? { up: nothingHeard(), down: nothingHeard() }
    markets.set(conditionId, found)
    return found[outcome]
  }

  return {
    find,

    takeState({ conditionId, outcome, timestampMs }: Snapshot): void {
      const book = find(conditionId, outcome)
      book.sinceMs ??= timestampMs
      book.lastMs = Math.max(book.lastMs, timestampMs)
    },

    /** Takes a gap change; returns the gap that it ended, if any. */
    takeGap(change: GapChange): Gap[] {
      if (change.kind === 'ended') {
        const { outcome, atMs } = change
        const book = find(change.conditionId, outcome)
        const { open } = book
        book.open = undefined
        book.sinceMs ??= atMs
        if (open === undefined || open.fromMs >= atMs) return []
        const gap = { ...open, outcome, toMs: atMs }
        book.gaps.push(gap)
        return [gap]
      }
      if (change.kind !== 'opened' && change.kind !== 'unknown') return []
      const { gap } = change
      const book = find(change.conditionId, gap.outcome)
      if (gap.toMs !== ENDLESS_MS) {
        const { fromMs, toMs } = gap
        // A recorder states an ended gap again.
        const isHeard = book.gaps.some((each) => each.fromMs <= fromMs && toMs <= each.toMs)
        if (fromMs >= toMs || isHeard) return []
        book.gaps.push(gap)
        return [gap]
      }
      book.open = gap
      endKnown(book)
      return []
    },

    state(conditionId: string, outcome: Outcome, statement: Statement): void {
      add({ kind: 'said', conditionId, outcome, statement })
    },

    all: () =>
      [...markets].flatMap(([conditionId, both]) =>
        outcomes.map((outcome) => ({ conditionId, outcome, book: both[outcome] })),
      ),
  }
}

const nothingHeard = (): HeardBook => ({
  open: undefined,
  sinceMs: undefined,
  lastMs: Number.NEGATIVE_INFINITY,
  known: [],
  gaps: [],
})

/** Ends the known period at the last state, or later. */
function endKnown(book: HeardBook, toMs = book.lastMs + 1): void {
  if (book.sinceMs !== undefined && book.sinceMs < toMs)
    book.known.push({ fromMs: book.sinceMs, toMs })
  book.sinceMs = undefined
}

const allGaps = ({ open, gaps }: HeardBook, outcome: Outcome): Gap[] =>
  open === undefined ? gaps : [...gaps, { ...open, outcome, toMs: ENDLESS_MS }]

/**
 * Creates a function that corrects the facts from a recorder with newer ones: tick sizes change,
 * and an older one does not replace a newer one.
 */
export function createFactCorrection(history: Pick<MarketHistory, 'findMarket'>) {
  const newest = new Map<string, { tickSize: number | undefined; atMs: number }>()

  return (facts: MarketFacts, atMs: number): MarketFacts => {
    const { conditionId } = facts
    const market = ifSound(() => history.findMarket(conditionId))
    const known = newest.get(conditionId) ?? {
      atMs: market?.lastSnapshotMs ?? 0,
      tickSize: market?.tickSize,
    }
    if (known.atMs > atMs) return { ...facts, tickSize: known.tickSize ?? facts.tickSize }
    newest.set(conditionId, { atMs, tickSize: facts.tickSize ?? known.tickSize })
    return facts
  }
}
