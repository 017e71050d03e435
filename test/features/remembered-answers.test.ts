import { expect, test } from 'bun:test'

import { createRandom } from '#src/platform/random.ts'

import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory, rowsAt } from '../support/market-history.ts'
import { stableHeaders } from '../support/stable-headers.ts'

const ROUNDS = 200

test('behavior: what is remembered of an answer changes nothing of it', async () => {
  const { history, both, open, empty } = await createMarketHistory()
  const kept = createHarness({ history })
  const unkept = createHarness({ history, config: readConfig({ BOOKFEED_PAGE_CACHE_MB: '0' }) })
  const random = createRandom('remembered answers')
  const queries = ['', '?limit=3', '?outcome=up', '?order=desc&limit=5', '?limit=0', '?from=5&to=2']
  const ways = [both, open, empty].flatMap(({ path }) =>
    ['', '/quotes', '/prices'].flatMap((series) =>
      queries.map(
        (query) => `${series === '' ? path : path.replace('/snapshots', series)}${query}`,
      ),
    ),
  )
  const tags = new Map<string, string>()
  for (let round = 0; round < ROUNDS; round++) {
    const path = random.pick(ways)
    const headers: Record<string, string> = {
      'accept-encoding': random.pick(['gzip', 'identity', 'br;q=1, gzip;q=0']),
    }
    const tag = tags.get(path)
    if (tag !== undefined && random.integer(3) === 0) headers['if-none-match'] = tag
    const init = { method: random.pick(['GET', 'GET', 'HEAD']), headers }
    if (round % 100 === 99) {
      const market = random.pick([both, open])
      const lastMs = market.rows.at(-1)?.timestampMs ?? 0
      await appendRows(history, market, rowsAt(market, [lastMs + 1]))
    }
    const mine = await kept.send(path, init)
    const others = await unkept.send(path, init)
    const told = async (response: Response) => [
      response.status,
      stableHeaders(response),
      Buffer.from(await response.arrayBuffer()).toString('base64'),
    ]
    expect([path, init, await told(mine)]).toEqual([path, init, await told(others)])
    const etag = mine.headers.get('etag')
    if (etag !== null) tags.set(path, etag)
  }
  const used = async ({ send }: typeof kept) => (await send('/v1/usage')).json()
  expect(await used(kept)).toEqual(await used(unkept))
})
