/**
 * A market as it was known at a moment: rows that were accepted by then, and were not replaced
 * since; facts and gaps as they were, of which changes are noted. Ids rise in the order of
 * acceptance, and once a second the first one of it is noted.
 */
import type { Gap } from '#src/domain/coverage.ts'
import { parameterError } from '#src/domain/errors.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { toIso } from '#src/domain/time.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { MarketHistory, RowQuery, Top } from '../history.ts'
import { readTops } from './fetched.ts'
import { BLOCK, withRows } from './with-rows.ts'

const SECOND_MS = 1000

const FIRST_BLOCK = 8

type Log = Pick<MarketHistory, 'revisions'>

type Asked = {
  knownAt: number
  nowMs: number
  /** Whether the answer has more than books, such as trades, or steps, which gaps decide. */
  needsEvents?: boolean
}

/** The whole second at or before `knownAt`: what came before it begins was known. */
export type Moment = {
  atMs: number
  /** The first ids that were not known. */
  belowId: number
  belowTradeId: number
  belowSpotId: number
  /** Whether facts, gaps, trades and prices of the coin are known as they were, too. */
  hasEvents: boolean
}

/** Throws `invalid_parameter` for a moment that cannot be answered, with the first that can. */
export function toMoment({ revisions }: Log, { knownAt, nowMs, needsEvents }: Asked): Moment {
  if (knownAt > nowMs) {
    throw parameterError(
      'knownAt',
      '`knownAt` is in the future. Leave it out for what is known now.',
    )
  }
  const second = Math.floor(knownAt / SECOND_MS)
  const eventsSinceMs = revisions.eventsSinceMs()
  const sinceMs = needsEvents ? eventsSinceMs : revisions.sinceMs()
  assertKept(second, sinceMs, 'earlier changes were not recorded')
  const hasEvents = second >= firstAfter(eventsSinceMs)
  return {
    atMs: second * SECOND_MS,
    hasEvents,
    belowId: revisions.firstIdFrom(second),
    belowTradeId: hasEvents ? revisions.firstTradeIdFrom(second) : 0,
    belowSpotId: hasEvents ? revisions.firstSpotIdFrom(second) : 0,
  }
}

const firstAfter = (ms: number): number => Math.floor(ms / SECOND_MS) + 1

/** Throws `invalid_parameter` for a second that is not after a moment. */
function assertKept(second: number, lostMs: number, why: string): void {
  const first = firstAfter(lostMs)
  if (second >= first) return
  throw parameterError(
    'knownAt',
    `What was known at ${toIso(second * SECOND_MS)} is not kept: ${why}. The first moment that can be answered is ${toIso(first * SECOND_MS)}.`,
  )
}

/** Throws `invalid_parameter` where rows, or what is asked beside, were replaced since. */
function assertUnreplaced(
  { revisions }: Log,
  { conditionId }: Market,
  { atMs, withReceived }: { atMs: number; withReceived: boolean },
): void {
  const lostMs = withReceived
    ? revisions.lastChangeMs(conditionId)
    : revisions.lastRemovalMs(conditionId)
  const what = withReceived ? 'rows, or times of receipt,' : 'rows'
  assertKept(atMs / SECOND_MS, lostMs, `${what} of market ${conditionId} were replaced since`)
}

/** A market as it was known at a moment, or as it is now, and what answers are made with. */
export type Known = {
  market: Market
  /** The verbs that read the market as it was. */
  history: MarketHistory
  served: () => ServedMoment
  /** What `X-Coverage` says of the text that it says now. */
  coverageAs: (text: string) => string
}

/** A market as it is now. */
export const asNow = (history: MarketHistory, market: Market, served: Known['served']): Known => ({
  market,
  history,
  served,
  coverageAs: (text) => text,
})

const UNKNOWN = 'unknown'

/**
 * Reads in steps what decides the answers: where the rows that were known begin and end. Throws
 * `invalid_parameter` as `assertUnreplaced`.
 */
export function* openKnown(
  history: MarketHistory,
  now: Market,
  moment: Moment & { withReceived?: boolean },
): Steps<Known> {
  const { atMs, hasEvents, withReceived = false } = moment
  assertUnreplaced(history, now, { atMs, withReceived })
  const spans = {
    up: yield* findSpan(history, now, { outcome: 'up', belowId: moment.belowId }),
    down: yield* findSpan(history, now, { outcome: 'down', belowId: moment.belowId }),
  }
  const found = outcomes.flatMap((outcome) => spans[outcome] ?? [])
  const market: Market = {
    ...withFacts(history, now, moment),
    spans,
    firstSnapshotMs: undefined,
    lastSnapshotMs: undefined,
    ...(found.length > 0 && {
      firstSnapshotMs: Math.min(...found.map(({ firstMs }) => firstMs)),
      lastSnapshotMs: Math.max(...found.map(({ lastMs }) => lastMs)),
    }),
  }
  const gaps: readonly Gap[] = hasEvents ? history.revisions.gapsAt(now, atMs) : []
  const { belowId, belowTradeId, belowSpotId } = moment
  const rows = withRows(history, {
    isState: ({ id }) => id < belowId,
    endMs: (market.lastSnapshotMs ?? -1) + 1,
  })
  return {
    market,
    served: () => ({ nowMs: atMs, isStale: false }),
    // Before gaps were noted, coverage is not known.
    coverageAs: (text) => (hasEvents ? text : UNKNOWN),
    history: {
      ...rows,
      gaps: () => gaps,
      derivedGaps: () => [],
      trades: (query) =>
        history.trades({
          ...query,
          belowId: Math.min(query.belowId ?? belowTradeId, belowTradeId),
        }),
      spot: (query) =>
        history.spot({ ...query, uptoId: Math.min(query.uptoId ?? Infinity, belowSpotId - 1) }),
    },
  }
}

/** A market with the facts of a moment, and not closed where it was not; its rows are as now. */
export function withFacts({ revisions }: Log, now: Market, { atMs, hasEvents }: Moment): Market {
  if (!hasEvents) return now
  const before = revisions
    .factsSince(now.conditionId, atMs)
    .map(({ fact, before: was }) => [fact, was ?? undefined] as const)
  const isClosed = now.isClosed && !revisions.isClosedSince(now, atMs)
  return { ...now, ...Object.fromEntries(before), isClosed }
}

/** First and last row of an outcome that were known. */
function* findSpan(
  history: Pick<MarketHistory, 'fetch' | 'tops'>,
  market: Market,
  own: { outcome: Outcome; belowId: number },
): Steps<Market['spans'][Outcome]> {
  const first = yield* findKnown(history, { ...own, market, order: 'asc' })
  if (first === undefined) return undefined
  const last = yield* findKnown(history, { ...own, market, order: 'desc' })
  return { firstMs: first.timestampMs, lastMs: (last ?? first).timestampMs }
}

/** The first row of a query that was known. */
function* findKnown(
  history: Pick<MarketHistory, 'fetch' | 'tops'>,
  { belowId, ...query }: Omit<RowQuery, 'limit'> & { belowId: number },
): Steps<Top | undefined> {
  let after: Position | undefined
  for (;;) {
    // The first one of all is known, unless it came late.
    const limit = after === undefined ? FIRST_BLOCK : BLOCK
    const block = yield* readTops(history, { ...query, after, limit })
    const found = block.find(({ id }) => id < belowId)
    if (found !== undefined || block.length < limit) return found
    after = block.at(-1)
    yield
  }
}
