import type { MarketHistory } from '#src/history/history.ts'

/** A history that takes whatever is put into it for recorded: exports mark what is simulated. */
export const asRecorded = (history: MarketHistory): MarketHistory => ({
  ...history,
  append: (batch) => history.append({ ...batch, source: 'recorded' }),
  putMarket: (facts) => history.putMarket({ ...facts, source: 'recorded' }),
})
