import type { MarketHistory } from '#src/history/history.ts'

/** A history that treats all data as recorded, because exports mark simulated data. */
export const asRecorded = (history: MarketHistory): MarketHistory => ({
  ...history,
  append: (batch) => history.append({ ...batch, source: 'recorded' }),
  putMarket: (facts) => history.putMarket({ ...facts, source: 'recorded' }),
})
