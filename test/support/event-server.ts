/** A server with its streams of events on a port of its own. */
import type { Market } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { AppDeps } from '#src/server/app.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { followEvents } from './event-client.ts'
import { createHarness } from './harness.ts'

const closers: (() => unknown)[] = []
/** Ends what tests began; to be called after each. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0)) await close()
}

export const WINDOW_MS = 300_000
let batches = 0

export function append(history: MarketHistory, snapshots: readonly Snapshot[]): void {
  // With a reason it is no import, which would fill the gaps of other writers.
  history.append({ id: `live-${++batches}`, source: 'simulated', snapshots, gapReason: 'import' })
}

export function putMarket(history: MarketHistory, number = 1, facts: Partial<Market> = {}): void {
  history.putMarket({
    conditionId: conditionIdOf(number),
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: START_MS,
    windowEndMs: START_MS + WINDOW_MS,
    ...facts,
  })
}

/** A server on a port of its own, ticked every millisecond. */
export function startServer(options: Partial<AppDeps> = {}) {
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
  putMarket(history)
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
