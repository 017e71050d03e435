/**
 * Turns the gaps of recordings and messages into statements: what each of them knows of a book, and
 * what it missed. What follows from the statements of all is for the history to say.
 */
import { ENDLESS_MS, type Gap, type GapReason, silenceMs, type Span } from '#src/domain/coverage.ts'
import { ifSound } from '#src/domain/errors.ts'
import type { Statement } from '#src/domain/evidence.ts'
import { type MarketFacts, type Outcome, outcomes } from '#src/domain/market.ts'
import { cutFrom } from '#src/domain/spans.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type Entry, isGapChange } from '#src/recorder/entry.ts'

/** What one recording has heard of the book of one outcome. */
type Heard = {
  /** Of the gap that has no end yet. */
  open: { fromMs: number; reason: GapReason } | undefined
  /** The book is known from here on; undefined while it is not. */
  sinceMs: number | undefined
  lastMs: number
  known: Span[]
  /** Gaps that are over. */
  gaps: Gap[]
}

type Add = (entry: Entry) => void

/**
 * Makes what takes the rows and gaps of a recorder: it says when it was connected, so a pause is a
 * silence of the venue, and a time without a connection one in which no recorder was connected. Gaps that are
 * over are stated at once, because an import may be killed.
 */
export function takeRecording(add: Add) {
  const { heardOf, say, takeGap, finish, all } = createHearing(add)

  return {
    add(entry: Entry): void {
      if (!isGapChange(entry)) {
        add(entry)
        if (entry.kind !== 'state') return
        const { conditionId, outcome, timestampMs } = entry.snapshot
        const heard = heardOf(conditionId, outcome)
        heard.sinceMs ??= timestampMs
        heard.lastMs = Math.max(heard.lastMs, timestampMs)
        return
      }
      // Why is said once all gaps of the recording are known.
      for (const { outcome, fromMs, toMs } of takeGap(entry))
        say(entry.conditionId, outcome, { kind: 'away', fromMs, toMs })
    },

    /** The market is over: a book that is known stays so. */
    finish(conditionId: string): void {
      for (const outcome of outcomes) finish(heardOf(conditionId, outcome), ENDLESS_MS)
    },

    /** Nothing more comes. */
    end(): void {
      for (const { conditionId, outcome, heard } of all()) {
        finish(heard)
        const gaps = gapsOf(heard, outcome)
        const isDown = ({ reason }: Gap): boolean => reason === 'recorder_down'
        const down = gaps.filter(isDown)
        for (const { fromMs, toMs } of down)
          say(conditionId, outcome, { kind: 'away', fromMs, toMs })
        for (const gap of gaps.filter((each) => !isDown(each)))
          for (const { fromMs, toMs, reason } of cutFrom(gap, down))
            say(conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
        for (const span of heard.known.flatMap((each) => cutFrom(each, gaps)))
          say(conditionId, outcome, { kind: 'known', ...span })
      }
    },
  }
}

/**
 * Makes what takes the rows and gaps of messages that others kept. Nobody says when they were
 * connected: so a pause is as one between lines, and each gap is one that they saw.
 */
export function takeMessages(add: Add) {
  const { heardOf, say, takeGap, finish, all } = createHearing(add)

  return {
    add(entry: Entry): void {
      if (!isGapChange(entry)) {
        add(entry)
        if (entry.kind !== 'state') return
        const { conditionId, outcome, timestampMs, timeframe } = entry.snapshot
        const heard = heardOf(conditionId, outcome)
        if (timestampMs - heard.lastMs > silenceMs(timeframe)) finish(heard)
        heard.sinceMs ??= timestampMs
        heard.lastMs = Math.max(heard.lastMs, timestampMs)
        return
      }
      for (const { outcome, fromMs, toMs, reason } of takeGap(entry))
        say(entry.conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
    },

    /** A message spoke of the book before the first one that is known. */
    addUnproved(conditionId: string, outcome: Outcome, { fromMs, toMs }: Span): void {
      say(conditionId, outcome, { kind: 'unproved', fromMs, toMs })
    },

    /** Nothing more comes. */
    end(): void {
      for (const { conditionId, outcome, heard } of all()) {
        finish(heard)
        const gaps = gapsOf(heard, outcome)
        for (const { fromMs, toMs, reason } of gaps.filter((gap) => gap.toMs === ENDLESS_MS))
          say(conditionId, outcome, { kind: 'missed', fromMs, toMs, reason })
        for (const span of heard.known.flatMap((each) => cutFrom(each, gaps)))
          say(conditionId, outcome, { kind: 'followed', ...span })
      }
    },
  }
}

function createHearing(add: Add) {
  const markets = new Map<string, Record<Outcome, Heard>>()

  function heardOf(conditionId: string, outcome: Outcome): Heard {
    const found = markets.get(conditionId) ?? { up: nothingHeard(), down: nothingHeard() }
    markets.set(conditionId, found)
    return found[outcome]
  }

  /** What was known is, up to the last state or further. */
  function finish(heard: Heard, toMs = heard.lastMs + 1): void {
    if (heard.sinceMs !== undefined && heard.sinceMs < toMs)
      heard.known.push({ fromMs: heard.sinceMs, toMs })
    heard.sinceMs = undefined
  }

  /** Returns the gap that is over, if one is. */
  function end(heard: Heard, outcome: Outcome, atMs: number): Gap[] {
    const { open } = heard
    heard.open = undefined
    heard.sinceMs = atMs
    return open !== undefined && open.fromMs < atMs ? [{ ...open, outcome, toMs: atMs }] : []
  }

  /** Returns the gap that is over, if one is. */
  function takeGap(change: Extract<Entry, { kind: 'opened' | 'ended' | 'withdrawn' | 'said' }>) {
    const { conditionId } = change
    if (change.kind === 'ended') {
      const heard = heardOf(conditionId, change.outcome)
      const over = end(heard, change.outcome, change.atMs)
      heard.gaps.push(...over)
      return over
    }
    if (change.kind !== 'opened') return []
    const { gap } = change
    const heard = heardOf(conditionId, gap.outcome)
    if (gap.toMs !== ENDLESS_MS) {
      heard.gaps.push(gap)
      return [gap]
    }
    heard.open = gap
    finish(heard)
    return []
  }

  return {
    heardOf,
    takeGap,
    finish,
    say: (conditionId: string, outcome: Outcome, statement: Statement): void =>
      add({ kind: 'said', conditionId, outcome, statement }),
    all: () =>
      [...markets].flatMap(([conditionId, both]) =>
        outcomes.map((outcome) => ({ conditionId, outcome, heard: both[outcome] })),
      ),
  }
}

const nothingHeard = (): Heard => ({
  open: undefined,
  sinceMs: undefined,
  lastMs: Number.NEGATIVE_INFINITY,
  known: [],
  gaps: [],
})

const gapsOf = ({ open, gaps }: Heard, outcome: Outcome): Gap[] =>
  open === undefined ? gaps : [...gaps, { ...open, outcome, toMs: ENDLESS_MS }]

/**
 * Returns the function that tells the facts of a market as they are known after a recorder said
 * them: tick sizes change, and an older one replaces none.
 */
export function createFactsOf(history: Pick<MarketHistory, 'findMarket'>) {
  type Newest = Pick<MarketFacts, 'tickSize'> & { atMs: number }
  const markets = new Map<string, Newest>()

  return (facts: MarketFacts, atMs: number): MarketFacts => {
    const { conditionId } = facts
    const market = ifSound(() => history.findMarket(conditionId))
    const newest = markets.get(conditionId) ?? {
      atMs: market?.lastSnapshotMs ?? 0,
      tickSize: market?.tickSize,
    }
    if (newest.atMs > atMs) return { ...facts, tickSize: newest.tickSize ?? facts.tickSize }
    markets.set(conditionId, { atMs, tickSize: facts.tickSize ?? newest.tickSize })
    return facts
  }
}
