/** Market objects as the venue and data sets print them, for tests that read them. */

export const upId = '1'.repeat(77)
export const downId = '2'.repeat(77)
export const conditionId = `0x${'1a'.repeat(32)}`
/** The slug of a window that starts on 2026-04-14 at 08:00 UTC. */
export const slug = 'btc-updown-5m-1776153600'
export const startMs = 1_776_153_600_000

/** A market of the catalogue; `changes` replace, add or (undefined) remove members. */
export const aGammaMarket = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: '2649639',
  question: 'Bitcoin Up or Down - April 14, 4:00AM-4:05AM ET',
  conditionId,
  slug,
  endDate: '2026-04-14T08:05:00Z',
  startDate: '2026-04-13T08:05:35.630868Z',
  outcomes: '["Up", "Down"]',
  outcomePrices: '["0.5", "0.5"]',
  active: true,
  closed: false,
  orderPriceMinTickSize: 0.01,
  clobTokenIds: JSON.stringify([upId, downId]),
  eventStartTime: '2026-04-14T08:00:00Z',
  ...changes,
})

/** The same once it is over; the event that it lies in knows the coin's prices. */
export const resolved = { closed: true, umaResolutionStatus: 'resolved' }

export const aToken = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  slug,
  conditionId,
  assetId: downId,
  outcome: 'down',
  rows: 4062,
  winner: null,
  ...changes,
})

export const aTrade = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  conditionId,
  slug,
  timestamp: '2026-04-14T08:00:10.672Z',
  lastTradePrice: '0.510',
  ...changes,
})
