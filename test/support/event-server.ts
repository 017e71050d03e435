/** A server with streams of events on its own port. */
import type { Market } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { followEvents } from './event-client.ts'
import { createHarness, type HarnessParts } from './harness.ts'

const closers: (() => unknown)[] = []
/** Ends everything that tests started; call it after each test. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close()
}

export const WINDOW_MS = 300_000
let batches = 0

export async function append(
  history: MarketHistory,
  snapshots: readonly Snapshot[],
): Promise<void> {
  // With a reason the batch is not an import, which would fill the gaps of other writers.
  await history.append({
    id: `live-${++batches}`,
    source: 'simulated',
    snapshots,
    gapReason: 'import',
  })
}

export async function putMarket(
  history: MarketHistory,
  number = 1,
  facts: Partial<Market> = {},
): Promise<void> {
  await history.putMarket({
    conditionId: conditionIdOf(number),
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS,
    windowEndMs: START_MS + WINDOW_MS,
    ...facts,
  })
}

/** A server on its own port, ticked every millisecond. */
export async function startServer(options: HarnessParts = {}) {
  const history = openHistory(':memory:', { chunkCacheBytes: 1 << 24, lagMs: 0 })
  const { app, key, ...harness } = createHarness({ history, ...options })
  harness.time.nowMs = START_MS + 60_000
  const server = Bun.serve({ port: 0, fetch: app.fetch, idleTimeout: 10 })
  const timer = setInterval(app.tick, 1)
  closers.push(async () => {
    clearInterval(timer)
    await server.stop(true)
    history.dispose()
  })
  await putMarket(history)
  const url = `http://127.0.0.1:${server.port}`
  const follow = async (path: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${key}`
    const response = await fetch(url + path, { headers: { authorization, ...headers } })
    const client = followEvents(response)
    closers.push(client.leave)
    return { response, ...client }
  }
  return { ...harness, app, key, history, url, follow }
}

export const plain = { 'accept-encoding': 'identity' }
export const gzip = { 'accept-encoding': 'gzip' }
