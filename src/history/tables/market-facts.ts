/** What may be said of a market that is known: every error is `market_conflict`. */
import { AppError } from '#src/core/errors.ts'
import {
  type Market,
  type MarketFacts,
  otherOutcome,
  outcomes,
  windowFault,
  type WinnerSource,
  winnerSources,
} from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'

import { laterFacts } from './market-row.ts'

const conflict = (text: string): AppError => new AppError('market_conflict', text)

/** What can never change; the name and the window, once known, decide where a market is listed. */
const fixedFacts = ['coin', 'timeframe', 'source', 'slug', 'windowStartMs', 'windowEndMs'] as const
type FixedFacts = { [fact in (typeof fixedFacts)[number]]?: MarketFacts[fact] }

/** Throws unless `known` is undefined or agrees in what can never change. */
export function assertSame(
  known: FixedFacts | undefined,
  facts: FixedFacts & { conditionId: string },
): void {
  for (const fact of fixedFacts) {
    const now = facts[fact]
    const before = known?.[fact] ?? now
    if (now !== undefined && now !== before)
      throw conflict(`Market ${facts.conditionId} is known with ${fact} ${before}, not ${now}.`)
  }
}

/** Throws for the time of a book or trade, where there is one, that is too far from the window. */
export function assertNearWindow(market: MarketFacts, timeMs: number | undefined): void {
  const fault = timeMs === undefined ? undefined : windowFault(market, timeMs)
  if (fault !== undefined) throw conflict(`Market ${market.conditionId}: ${fault}.`)
}

/** Throws unless the asset is the one known for its outcome, or none is. */
export function assertAsset(
  assetIds: Market['assetIds'],
  { outcome, assetId, conditionId }: Pick<Snapshot, 'outcome' | 'assetId' | 'conditionId'>,
): void {
  const known = assetIds[outcome] ?? assetId
  if (known !== assetId || assetIds[otherOutcome(outcome)] === assetId)
    throw conflict(`Asset ${assetId} is not the ${outcome} outcome of market ${conditionId}.`)
}

/** Undefined facts leave what is known. */
export function mergeFacts(known: Market | undefined, facts: MarketFacts) {
  const { conditionId } = facts
  const assetIds = { ...known?.assetIds }
  for (const outcome of outcomes) {
    const assetId = facts.assetIds?.[outcome]
    if (assetId === undefined) continue
    assertAsset(assetIds, { outcome, assetId, conditionId })
    assetIds[outcome] = assetId
  }
  const later = laterFacts.map((fact) => [fact, facts[fact] ?? known?.[fact]] as const)
  return { ...facts, ...Object.fromEntries(later), ...mergeWinner(known, facts), assetIds }
}

type Winner = Pick<MarketFacts, 'winner' | 'winnerSource'>

/** The known winner stays unless the source of the other outranks its own. */
function mergeWinner(known: Winner | undefined, facts: MarketFacts): Winner {
  const { winner } = facts
  if (winner === undefined) return { winner: known?.winner, winnerSource: known?.winnerSource }
  const winnerSource =
    facts.winnerSource ?? (facts.source === 'simulated' ? 'simulated' : 'dataset')
  if (known?.winnerSource === undefined || outranks(winnerSource, known.winnerSource))
    return { winner, winnerSource }
  if (known.winner === winner) return { winner, winnerSource: known.winnerSource }
  throw conflict(
    `Market ${facts.conditionId} is known to be won by ${known.winner} (${known.winnerSource}), not ${winner} (${winnerSource}).`,
  )
}

const outranks = (one: WinnerSource, other: WinnerSource): boolean =>
  winnerSources.indexOf(one) < winnerSources.indexOf(other)

export const isSameFacts = (known: Market, facts: MarketFacts): boolean =>
  laterFacts.every((fact) => facts[fact] === known[fact]) &&
  outcomes.every((outcome) => facts.assetIds?.[outcome] === known.assetIds[outcome])
