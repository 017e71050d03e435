/** The lane of each route: a server whose pool refuses all work answers short requests only. */
import { expect, test } from 'bun:test'

import { AppError } from '#src/domain/errors.ts'

import { createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'

const { history, both } = await createMarketHistory()
const refuse = () => {
  throw new AppError('unavailable', 'The pool does nothing.', { retryAfterSeconds: 1 })
}
const pool = { run: async () => refuse(), stream: refuse, waiting: () => 0, counts: () => refuse() }
const { send } = createHarness({ history, pool })
const market = both.path.replace('/snapshots', '')
const order = 'outcome=up&side=buy&price=0.5&size=1&from=1&until=2'

test.each([
  ['short', '…/snapshots'],
  ['short', '…/snapshots?limit=100&depth=1'],
  ['long', '…/snapshots?limit=101&depth=1'],
  // Its rows are stored as they are served.
  ['short', '…/snapshots?limit=101'],
  ['long', '…/snapshots?interval=1s'],
  ['long', '…/snapshots?view=consolidated'],
  ['short', '…/changes'],
  ['long', '…/changes?format=csv'],
  ['short', '…/quotes?limit=1000'],
  ['long', '…/quotes?limit=1001'],
  ['long', '…/quotes?format=parquet'],
  ['short', '…/prices'],
  ['long', '…/prices?interval=1m'],
  ['short', '…/trades'],
  ['long', '…/trades?limit=1001'],
  ['long', '…/trades?format=csv'],
  ['long', `…/fill/resting?${order}`],
  ['long', '…/heatmap?outcome=up'],
  ['short', '/v1/btc/markets'],
  ['long', '/v1/btc/markets?limit=101'],
  ['long', '/v1/btc/markets?format=csv'],
  ['short', '/v1/btc/spot'],
  ['long', '/v1/btc/spot?interval=1m'],
  ['long', '/v1/btc/settlements'],
  ['long', '/v1/btc/coverage'],
  ['long', '/v1/btc/days'],
  ['long', '/v1/btc/panel?timeframe=5m&offsets=0'],
  ['short', '/v1/revisions'],
  ['long', '/v1/revisions?limit=101'],
  ['short', '/v1/manifests'],
  ['long', '/v1/manifests?limit=101'],
  ['long', '/v1/incidents'],
])('%s: %s', async (lane, path) => {
  const { status } = await send(path.replace('…', market))
  expect(status).toBe(lane === 'short' ? 200 : 503)
})
