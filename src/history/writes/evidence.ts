/** Stores the statements of imports about books, and the gaps derived from them. */
import { coverageOf, ENDLESS_MS, silenceMs, type Span } from '#src/domain/coverage.ts'
import {
  type Evidence,
  gapsOf,
  isKnown,
  type Statement,
  withStatements,
} from '#src/domain/evidence.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'

import type { MarketEvidence } from '../tables/evidence-table.ts'
import { type GapRow, type GapRows, ownerOf, type OwnGap } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import { createMarketTimes, silenceReason } from './coverage.ts'

export type Said = Record<Outcome, Statement[]>

const countOf = ({ snapshotCounts: { up, down } }: Market): number => up + down

/** Creates both verbs, which need a transaction. */
export function createEvidence({
  evidence,
  gaps,
  ...tables
}: Pick<Tables, 'evidence' | 'gaps' | 'chunks' | 'tails'>) {
  const times = createMarketTimes(tables)

  /**
   * A pause during which a source listened is a silence of the venue, whichever file stated it
   * first.
   */
  function explainPauses(market: Market, outcome: Outcome, said: Evidence): GapRows {
    const owner = ownerOf(market, outcome, 'time')
    const pauses = gaps.derived(owner)
    const explained = pauses.map((pause) =>
      pause.reason === 'import' && isKnown(said, pause)
        ? { ...pause, reason: silenceReason({ ...pause, reason: 'venue_silent' }) }
        : pause,
    )
    return gaps.replaceDerived(owner, pauses, explained)
  }

  function deriveGaps(market: Market, outcome: Outcome, said: Evidence): GapRows {
    const owner = ownerOf(market, outcome, 'evidence')
    const found = gapsOf(said, silenceMs(market.timeframe), (span) =>
      times.hasVerified(owner, span),
    )
    return gaps.replaceDerived(owner, gaps.derived(owner), found)
  }

  return {
    /**
     * Begins an import's change of a market: rows without an import belong to a recorder or an
     * older version, and their covered periods are known.
     */
    begin(market: StoredMarket): void {
      const held = evidence.find(market.id)
      if (held.rows === countOf(market)) return
      const list = gaps.list(market)
      const quietMs = silenceMs(market.timeframe)
      const knownOf = (outcome: Outcome): Statement[] =>
        coveredSpans(market, outcome, list)
          .map(({ fromMs, toMs }) => ({ fromMs: Math.max(fromMs, held.lastMs + 1), toMs }))
          .map((span) => ({ ...span, kind: 'known' }))
      evidence.put(market.id, {
        ...held,
        up: withStatements(held.up, knownOf('up'), quietMs),
        down: withStatements(held.down, knownOf('down'), quietMs),
      })
    },

    /**
     * Adds statements after the rows were written; returns the gaps that came and went, and true in
     * `isChanged` if any row changed, so that the market must be touched.
     */
    add(market: StoredMarket, said: Said): GapRows & { isChanged: boolean } {
      const held = evidence.find(market.id)
      const quietMs = silenceMs(market.timeframe)
      const taken: GapRow[] = []
      const joined = (outcome: Outcome): Evidence => {
        const recorded = gaps.takeRecorded(market.id, outcome, market.isClosed)
        taken.push(...recorded)
        return withStatements(
          held[outcome],
          [...said[outcome], ...recorded.map(toStatement)],
          quietMs,
        )
      }
      const now: MarketEvidence = {
        up: joined('up'),
        down: joined('down'),
        rows: countOf(market),
        lastMs: market.lastSnapshotMs ?? -1,
      }
      if (!Bun.deepEquals(now, held)) evidence.put(market.id, now)
      const changes = outcomes.flatMap((outcome) => [
        explainPauses(market, outcome, now[outcome]),
        deriveGaps(market, outcome, now[outcome]),
      ])
      const went = [...taken, ...changes.flatMap((change) => change.went)]
      const came = changes.flatMap((change) => change.came)
      const isChanged = went.length + came.length > 0
      return { went: without(went, came), came: without(came, went), isChanged }
    },
  }
}

export type EvidenceWrites = ReturnType<typeof createEvidence>

/** Rows that others do not repeat as a gap of another kind. */
const without = (rows: readonly GapRow[], others: readonly GapRow[]): GapRow[] =>
  rows.filter(
    (row) =>
      !others.some(
        ({ outcome, fromMs, toMs, reason }) =>
          outcome === row.outcome &&
          fromMs === row.fromMs &&
          toMs === row.toMs &&
          reason === row.reason,
      ),
  )

const toStatement = ({ fromMs, toMs, reason }: OwnGap): Statement =>
  reason === 'recorder_down'
    ? { kind: 'away', fromMs, toMs }
    : { kind: 'missed', fromMs, toMs, reason }

/** If a market is covered to the end of its window, it is known from there on: no gap follows. */
function coveredSpans(
  market: StoredMarket,
  outcome: Outcome,
  gaps: Parameters<typeof coverageOf>[0]['gaps'],
): Span[] {
  const question = { market, gaps, outcome, nowMs: ENDLESS_MS }
  const spans = coverageOf(question).flatMap(({ intervals }) => intervals)
  const last = spans.at(-1)
  if (last !== undefined && last.toMs >= (market.windowEndMs ?? ENDLESS_MS))
    spans.push({ fromMs: last.toMs, toMs: ENDLESS_MS })
  return spans
}

/** The statements of lines, which state no gaps: the periods between consecutive verified books. */
export function checkedIn(snapshots: readonly Snapshot[]): Map<string, Said> {
  const all = new Map<string, Said>()
  for (const { conditionId, outcome, timestampMs, isVerified } of snapshots) {
    const said = all.get(conditionId) ?? { up: [], down: [] }
    all.set(conditionId, said)
    if (isVerified === true)
      said[outcome].push({ kind: 'checked', fromMs: timestampMs, toMs: timestampMs + 1 })
  }
  return all
}
