/** Puts what the venue says of markets into the history, and again where that takes nothing. */
import type { MarketFacts } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { messageOf } from '#src/platform/message.ts'
import type { KnownFacts } from '#src/venue/venue.ts'

import type { Reporter } from './ports.ts'
import { isOfOneMarket } from './sink.ts'
import type { createWindowChain } from './window-chain.ts'

export type FactsOptions = {
  history: Pick<MarketHistory, 'putMarket'>
  chain: Pick<ReturnType<typeof createWindowChain>, 'check'>
  reporter: Reporter
}

export function createFacts({ history, chain, reporter }: FactsOptions) {
  /** By market, in the order in which they came. */
  const waiting = new Map<string, KnownFacts[]>()

  /** Throws what another try may mend. */
  function store(facts: KnownFacts): void {
    try {
      history.putMarket({ ...facts, source: 'recorded' } satisfies MarketFacts)
      chain.check(facts.conditionId)
    } catch (error) {
      if (!isOfOneMarket(error)) throw error
      // Another source says otherwise, or the row is damaged: what is held stays.
      reporter.report(`market ${facts.conditionId}`, error.message)
    }
  }

  /** Stores what waits, until the history takes no more. */
  function tick(): void {
    try {
      for (const [conditionId, own] of waiting) {
        // What cannot be stored keeps no other out: it is the last one the next time.
        waiting.delete(conditionId)
        waiting.set(conditionId, own)
        for (; own[0] !== undefined; own.shift()) store(own[0])
        waiting.delete(conditionId)
      }
      reporter.settle('facts', 'Facts of markets can be written again.')
    } catch (error) {
      const reason = messageOf(error).replace(/\.$/, '')
      reporter.report('facts', `Facts of markets cannot be written: ${reason}. They are kept.`)
    }
  }

  return {
    put(facts: KnownFacts): void {
      const own = waiting.get(facts.conditionId) ?? []
      // The same is said each time that it is asked.
      if (!own.some((each) => Bun.deepEquals(each, facts))) own.push(facts)
      waiting.set(facts.conditionId, own)
      tick()
    },
    /** To be called about every second. */
    tick,
    isStored: (conditionId: string): boolean => !waiting.has(conditionId),
  }
}

export type Facts = ReturnType<typeof createFacts>
