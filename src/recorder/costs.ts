/** Requests the delays and fees of markets from their order books. */

import { ifSound } from '#src/domain/errors.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { addFacts, type Catalogue, type KnownFacts } from '#src/venue/catalogue.ts'

import type { LiveMarket, Reporter } from './ports.ts'
import { createQuestions } from './questions.ts'

/** The interval at which the costs of a market are requested again, so that a change is dated. */
const EVERY_MS = 3_600_000

/**
 * Creates the requests, which have a queue of their own: an order book API that fails or is slow
 * delays nothing else. `put` stores facts.
 */
export function createCosts({
  history,
  catalogue,
  put,
  clock,
  random,
  reporter,
}: {
  history: Pick<MarketHistory, 'findMarket'>
  catalogue: Pick<Catalogue, 'costs'>
  put(facts: KnownFacts): Promise<void>
  clock: Clock
  random: () => number
  reporter: Reporter
}) {
  const questions = createQuestions(clock, random, reporter)
  const find = (conditionId: string) => ifSound(() => history.findMarket(conditionId))

  /** The next full hour from the start of the window; undefined after its end. */
  function nextMs({ windowStartMs, windowEndMs }: LiveMarket): number | undefined {
    const hours = Math.floor((clock() - windowStartMs) / EVERY_MS) + 1
    const dueMs = windowStartMs + hours * EVERY_MS
    return dueMs < windowEndMs ? dueMs : undefined
  }

  async function ask(market: LiveMarket, signal: AbortSignal): Promise<number | undefined> {
    const { conditionId } = market
    const found = await catalogue.costs?.(conditionId, { signal })
    if (found !== undefined) await put(addFacts(find(conditionId) ?? market, found))
    return nextMs(market)
  }

  return {
    /**
     * Requests the costs of a market now, unless an earlier run did, when its window opens, and
     * every hour until it ends.
     */
    watch(market: LiveMarket): void {
      if (catalogue.costs === undefined) return
      const isKnown = find(market.conditionId)?.takerDelayMs !== undefined
      const dueMs = isKnown ? nextMs(market) : clock()
      const question = (signal: AbortSignal) => ask(market, signal)
      if (dueMs !== undefined) questions.add(market.conditionId, dueMs, question, 'costs')
    },
    drop: questions.drop,
    tick: questions.tick,
    dispose: questions.dispose,
  }
}
