import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { createHarness } from '../support/harness.ts'
import { appendRows, createMarketHistory, rowsAt } from '../support/market-history.ts'
import { readPage } from '../support/page-client.ts'

let folder = ''
let files = 0
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-concurrency-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Two handles on one file, as an importer and a server are. `between` runs once in the server's
 * next request, after it has looked the market up and before it reads the page: where the other
 * process may write as well as anywhere else.
 */
async function createPair() {
  const path = join(folder, `${files++}.db`)
  const writer = openHistory(path)
  const market = (await createMarketHistory(writer)).open
  const history = openHistory(path)
  let write: (() => Promise<void>) | undefined
  const interrupted: MarketHistory = {
    ...history,
    findMarket(conditionId) {
      const found = history.findMarket(conditionId)
      // It is done when the call returns.
      void write?.()
      write = undefined
      return found
    },
  }
  const between = (count: number) => {
    const lastMs = market.rows.at(-1)?.timestampMs ?? 0
    const times = Array.from({ length: count }, (_, index) => lastMs + 1 + index)
    write = () => appendRows(writer, market, rowsAt(market, times))
  }
  return { path, market, between, send: createHarness({ history: interrupted }).send }
}

describe('another process that writes within a request', () => {
  test('default: what it wrote before a request is in the answer', async () => {
    const { market, between, send } = await createPair()
    between(1)
    await readPage(send, '/v1/btc/markets')
    await readPage(send, market.path)
    const { body } = await readPage(send, market.path, { limit: 1000 })
    expect(body.data).toHaveLength(131)
  })

  test('behavior: neither repeats a row nor leaves one out when it seals the unfinished run', async () => {
    const { market, between, send } = await createPair()
    await readPage(send, market.path, { limit: 999 })
    between(150)
    const { body } = await readPage(send, market.path, { limit: 1000 })
    const ids = body.data.map(({ id }) => Number(id))
    expect(new Set(ids).size).toBe(ids.length)
    // The market as it was before, or as it is after; nothing between.
    expect([130, 280]).toContain(ids.length)
  })

  test('behavior: one ETag never stands for two contents', async () => {
    const { path, market, between, send } = await createPair()
    const other = createHarness({ history: openHistory(path) })
    const before = await readPage(other.send, market.path, { limit: 1000 })
    between(1)
    const during = await readPage(send, market.path, { limit: 1000 })
    const isSameTag = during.headers.get('etag') === before.headers.get('etag')
    expect(during.text === before.text).toBe(isSameTag)
  })
})
