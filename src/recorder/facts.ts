import type { MarketHistory } from '#src/history/history.ts'
import { sentenceOf } from '#src/platform/message.ts'
import type { KnownFacts } from '#src/venue/catalogue.ts'

import type { Reporter } from './ports.ts'
import { isOfOneMarket } from './sink.ts'

/**
 * Puts what the venue says of markets into the history, and again while the history takes nothing.
 * Calls `onStored` for each fact; both may throw.
 */
export function createFacts(
  history: Pick<MarketHistory, 'putMarket'>,
  reporter: Reporter,
  onStored: (conditionId: string) => void,
) {
  /** By market, in the order in which they came. */
  const waiting = new Map<string, KnownFacts[]>()

  /** Throws what another try may mend. */
  function store(facts: KnownFacts): void {
    try {
      history.putMarket({ ...facts, source: 'recorded' })
      onStored(facts.conditionId)
    } catch (error) {
      if (!isOfOneMarket(error)) throw error
      // Another source contradicts it, or the row is damaged: the stored facts stay.
      reporter.report(`market ${facts.conditionId}`, error.message)
    }
  }

  /** Stores what waits, until the history takes no more. To be called about every second. */
  function tick(): void {
    try {
      for (const [conditionId, own] of waiting) {
        // A market that cannot be stored comes last the next time, so that it blocks no other.
        waiting.delete(conditionId)
        waiting.set(conditionId, own)
        for (; own[0] !== undefined; own.shift()) store(own[0])
        waiting.delete(conditionId)
      }
      reporter.settle('facts', 'Facts of markets can be written again.')
    } catch (error) {
      const text = `Facts of markets cannot be written: ${sentenceOf(error)} They are kept.`
      reporter.report('facts', text)
    }
  }

  return {
    put(facts: KnownFacts): void {
      const own = waiting.get(facts.conditionId) ?? []
      // The venue repeats the same facts each time that it is asked.
      if (!own.some((each) => Bun.deepEquals(each, facts))) own.push(facts)
      waiting.set(facts.conditionId, own)
      tick()
    },
    tick,
    isStored: (conditionId: string): boolean => !waiting.has(conditionId),
  }
}
