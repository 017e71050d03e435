import type { MarketHistory } from '#src/history/history.ts'
import { sentenceOf } from '#src/platform/message.ts'
import type { KnownFacts } from '#src/venue/catalogue.ts'

import type { Reporter } from './ports.ts'
import { isOfOneMarket } from './sink.ts'

/**
 * Stores the venue's facts about markets in the history, and retries while the history accepts
 * none. Calls `onStored` for each fact; both may reject.
 */
export function createFacts(
  history: Pick<MarketHistory, 'putMarket'>,
  reporter: Reporter,
  onStored: (conditionId: string) => Promise<void>,
) {
  /** By market, in the order of arrival. */
  const waiting = new Map<string, KnownFacts[]>()

  let storing: Promise<void> | undefined

  /** Stores the facts; rejects if a retry may help. */
  async function store(facts: KnownFacts): Promise<void> {
    try {
      await history.putMarket({ ...facts, source: 'recorded' })
      await onStored(facts.conditionId)
    } catch (error) {
      if (!isOfOneMarket(error)) throw error
      // Another source contradicts the fact or the row is damaged, so the stored facts stay.
      reporter.report(`market ${facts.conditionId}`, error.message)
    }
  }

  /**
   * Stores the waiting facts until the history accepts no more. Facts put meanwhile are stored too.
   * Call it about once a second.
   */
  function tick(): Promise<void> {
    storing ??= storeAll().finally(() => {
      storing = undefined
    })
    return storing
  }

  async function storeAll(): Promise<void> {
    try {
      for (const [conditionId, own] of waiting) {
        // Moves a market that cannot be stored to the end, so that it does not block others.
        waiting.delete(conditionId)
        waiting.set(conditionId, own)
        for (; own[0] !== undefined; own.shift()) await store(own[0])
        waiting.delete(conditionId)
      }
      reporter.settle('facts', 'Facts of markets can be written again.')
    } catch (error) {
      const text = `Facts of markets cannot be written: ${sentenceOf(error)} They are kept.`
      reporter.report('facts', text)
    }
  }

  return {
    /** Resolves when the facts are stored, or when the history accepts no more. */
    put(facts: KnownFacts): Promise<void> {
      const own = waiting.get(facts.conditionId) ?? []
      // The venue repeats the same facts in each response.
      if (!own.some((each) => Bun.deepEquals(each, facts))) own.push(facts)
      waiting.set(facts.conditionId, own)
      return tick()
    },
    tick,
    isStored: (conditionId: string): boolean => !waiting.has(conditionId),
  }
}
