/**
 * Keeps gaps of an import out of times that are known otherwise: a part of a recording does not
 * know what came before and after it, and another recorder may have gone on meanwhile.
 */
import {
  coverageOf,
  type CoverageQuestion,
  ENDLESS_MS,
  type Gap,
  type GapReason,
  type Span,
} from '#src/domain/coverage.ts'
import { ifSound } from '#src/domain/errors.ts'
import { type MarketFacts, type Outcome, outcomes } from '#src/domain/market.ts'
import { cutFrom } from '#src/domain/spans.ts'
import type { GapChange, MarketHistory } from '#src/history/history.ts'
import { type Entry, isGapChange } from '#src/recorder/entry.ts'

type Held = {
  /** What was covered before the import. */
  known: readonly Span[]
  /** Gaps of then, which somebody may have seen the reason of. */
  gaps: readonly Gap[]
}
type HeldMarket = Pick<MarketFacts, 'tickSize'> & {
  of: Record<Outcome, Held>
  /** Of the last state before the import, and what was said of the market since. */
  newestMs: number
}

/** What one recording has heard of the book of one outcome. */
type Heard = {
  /** Parts of its gaps that have no end yet, as they are stored. */
  open: Gap[]
  /** The gap that has no end yet, as the recording has it. */
  whole: Gap | undefined
  /** The book is known from here on; undefined while it is not. */
  sinceMs: number | undefined
  lastMs: number
  known: Span[]
  /** Its gaps that are over. */
  gaps: Gap[]
}

type HeldPorts = {
  history: Pick<MarketHistory, 'findMarket' | 'gaps' | 'page'>
  nowMs: number
  /** Takes what is to be stored. */
  add(entry: Entry): void
}

/** Makes the recordings of an import. */
export function guardHeld({ history, nowMs, add }: HeldPorts) {
  const markets = new Map<string, HeldMarket>()
  const recordings: ReturnType<typeof createRecording>[] = []

  /** Must see a market before the import stores a row of it. */
  function begin(conditionId: string): HeldMarket {
    const held = markets.get(conditionId)
    if (held !== undefined) return held
    const market = history.findMarket(conditionId)
    const gaps = market && ifSound(() => history.gaps(market))
    const of = (outcome: Outcome): Held => ({
      known:
        market === undefined || gaps === undefined ? [] : knownOf({ market, gaps, outcome, nowMs }),
      gaps: gaps?.filter((gap) => gap.outcome === outcome) ?? [],
    })
    const made = {
      of: { up: of('up'), down: of('down') },
      tickSize: market?.tickSize,
      newestMs: market?.lastSnapshotMs ?? 0,
    }
    markets.set(conditionId, made)
    return made
  }

  /**
   * Whether what was held before may say that a gap is none. A book that contradicted its hash
   * changed in between: books before and after the gap do not show how, only one within it does.
   */
  function isRefuted(conditionId: string, { outcome, fromMs, toMs, reason }: Gap): boolean {
    if (reason !== 'hash_mismatch' || toMs === ENDLESS_MS) return true
    const market = history.findMarket(conditionId)
    if (market === undefined) return false
    return history.page({ market, outcome, fromMs, toMs, order: 'asc', limit: 1 }).count > 0
  }

  return {
    /** As they are known after a recorder said them: tick sizes change. */
    factsOf(facts: MarketFacts, atMs: number): MarketFacts {
      const held = begin(facts.conditionId)
      if (held.newestMs > atMs) return { ...facts, tickSize: held.tickSize ?? facts.tickSize }
      held.newestMs = atMs
      held.tickSize = facts.tickSize ?? held.tickSize
      return facts
    },

    /** A recorder, or a file of messages: in order of time, without another's. */
    record() {
      const recording = createRecording((conditionId) => begin(conditionId).of, add, isRefuted)
      recordings.push(recording)
      return recording
    },

    /** Nothing more comes: what one of them knows is no gap of another, or of one that is held. */
    end(): void {
      for (const recording of recordings) recording.end()
    },
  }
}

/** Stores gaps without what was covered before; at once, because an import may be killed. */
function createRecording(
  heldOf: (conditionId: string) => HeldMarket['of'],
  add: HeldPorts['add'],
  isRefuted: (conditionId: string, gap: Gap) => boolean,
) {
  const markets = new Map<string, Record<Outcome, Heard>>()

  function heardOf(conditionId: string, outcome: Outcome): Heard {
    const found = markets.get(conditionId) ?? { up: nothingHeard(), down: nothingHeard() }
    markets.set(conditionId, found)
    return found[outcome]
  }

  /** Notes what of a gap was not known otherwise before the import. */
  function note(conditionId: string, gap: Gap): Gap[] {
    const held = heldOf(conditionId)[gap.outcome]
    // A part of a recording calls all other time `recorder_down`.
    const seen = held.gaps.filter(({ reason }) => ['recorder_down', reason].includes(gap.reason))
    const known = isRefuted(conditionId, gap) ? held.known : []
    const parts = cutFrom(gap, [...known, ...seen])
    for (const part of parts) add({ kind: 'opened', conditionId, gap: part })
    return parts
  }

  function open(conditionId: string, gap: Gap): void {
    const parts = note(conditionId, gap)
    const heard = heardOf(conditionId, gap.outcome)
    if (gap.toMs === ENDLESS_MS) {
      heard.open.push(...parts)
      heard.whole = gap
      settle(heard)
    } else heard.gaps.push(gap)
  }

  /** Only its own gaps: others may have one that is open. */
  function end({ conditionId, outcome, atMs }: Extract<GapChange, { kind: 'ended' }>): void {
    const heard = heardOf(conditionId, outcome)
    const whole = heard.whole && { ...heard.whole, toMs: atMs }
    heard.whole = undefined
    if (whole !== undefined && whole.fromMs < atMs && !isRefuted(conditionId, whole)) {
      // What was cut from it while its end was not known is part of it after all.
      for (const gap of heard.open.splice(0)) add({ kind: 'withdrawn', conditionId, gap })
      note(conditionId, whole)
      heard.gaps.push(whole)
    }
    for (const gap of heard.open.splice(0)) {
      const over = { ...gap, toMs: Math.min(gap.toMs, atMs) }
      if (over.fromMs < over.toMs) heard.gaps.push(over)
      if (gap.toMs <= atMs) continue
      add({ kind: 'withdrawn', conditionId, gap })
      add({ kind: 'opened', conditionId, gap: over })
    }
    heard.sinceMs = atMs
  }

  return {
    add(entry: Entry): void {
      if (entry.kind === 'opened') open(entry.conditionId, entry.gap)
      else if (entry.kind === 'ended') end(entry)
      else add(entry)
      if (isGapChange(entry) || entry.kind !== 'state') return
      const { conditionId, outcome, timestampMs } = entry.snapshot
      heldOf(conditionId)
      const heard = heardOf(conditionId, outcome)
      heard.sinceMs ??= timestampMs
      heard.lastMs = Math.max(heard.lastMs, timestampMs)
    },

    /** The market is over: a book that is known stays so. */
    finish(conditionId: string): void {
      for (const outcome of outcomes) settle(heardOf(conditionId, outcome), ENDLESS_MS)
    },

    end(): void {
      for (const [conditionId, both] of markets)
        for (const outcome of outcomes)
          for (const span of filledBy(both[outcome]))
            add({ ...span, kind: 'filled', conditionId, outcome })
    },
  }
}

const nothingHeard = (): Heard => ({
  open: [],
  whole: undefined,
  sinceMs: undefined,
  lastMs: -1,
  known: [],
  gaps: [],
})

/** What was known is, up to the last state or further. */
function settle(heard: Heard, toMs = heard.lastMs + 1): void {
  if (heard.sinceMs !== undefined && heard.sinceMs < toMs)
    heard.known.push({ fromMs: heard.sinceMs, toMs })
  heard.sinceMs = undefined
}

/** The time that it knows, and where it saw why it does not, which is more than `recorder_down`. */
function filledBy(heard: Heard): (Span & { reason?: GapReason })[] {
  settle(heard)
  const gaps = [...heard.gaps, ...heard.open]
  const [down, seen] = [true, false].map((isDown) =>
    gaps.filter(({ reason }) => (reason === 'recorder_down') === isDown),
  )
  return [
    ...heard.known.flatMap((span) => cutFrom(span, gaps)),
    ...(seen ?? [])
      .flatMap((gap) => cutFrom(gap, down ?? []))
      .map(({ fromMs, toMs }) => ({ fromMs, toMs, reason: 'recorder_down' as const })),
  ]
}

/**
 * What is covered to the end of its window is known for good: there is no gap after that. Where no
 * window is known, or it has not ended, the last state that is held is no end.
 */
function knownOf(question: CoverageQuestion): Span[] {
  const spans = coverageOf(question).flatMap(({ intervals }) => intervals)
  const last = spans.at(-1)
  if (last !== undefined && last.toMs >= (question.market.windowEndMs ?? ENDLESS_MS))
    spans.push({ fromMs: last.toMs, toMs: ENDLESS_MS })
  return spans
}
