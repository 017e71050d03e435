/** Whatever the cache of chunks keeps, moves on or drops, every answer is that of no cache. */
import { expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, conditionIdOf, getMarket, simulatedSnapshots, START_MS } from './books.ts'
import { pageOf, type Query } from './pages.ts'

const MARKETS = 4
const ROWS = 2500
const DRAWS = 1000
/** Room for some twenty chunks of a hundred. */
const CACHE_BYTES = 400_000

function drawQuery(random: Random): Query {
  return {
    conditionId: conditionIdOf(1 + random.integer(MARKETS)),
    outcome: random.pick([undefined, 'up', 'down']),
    order: random.pick(['asc', 'desc']),
    fromMs: START_MS + random.integer(300_000),
    limit: random.pick([1, 10, 100, 300]),
    stepMs: random.pick([undefined, undefined, 5000]),
  }
}

test('behavior: random reads of a history whose cache holds a fifth of it', async () => {
  const [kept, bare] = await Array.fromAsync([CACHE_BYTES, 0], async (chunkCacheBytes) => {
    const history = openHistory(':memory:', { chunkCacheBytes })
    for (let number = 1; number <= MARKETS; number++) {
      const conditionId = conditionIdOf(number)
      const rows = simulatedSnapshots(`kept ${number}`, ROWS)
      await appendAll(
        history,
        rows.map((row) => ({ ...row, conditionId })),
      )
    }
    return history
  })
  if (kept === undefined || bare === undefined) throw new Error('There are two.')
  const random = createRandom('kept chunks')
  for (let draw = 0; draw < DRAWS; draw++) {
    const query = drawQuery(random)
    const encoding = random.pick(['gzip', 'identity'] as const)
    const isPage = random.integer(4) > 0
    const [found, expected] = [kept, bare].map((history) => {
      if (isPage) return pageOf(history, query).encode(encoding, '[', ']').toBase64()
      const { conditionId, ...asked } = query
      return history.tops({ market: getMarket(history, conditionId), ...asked })
    })
    expect(found).toEqual(expected)
    if (random.integer(3) === 0) await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  const { hits, misses } = kept.cacheCounts()
  expect(Math.min(hits, misses)).toBeGreaterThan(DRAWS / 10)
  for (const history of [kept, bare]) history.dispose()
})
