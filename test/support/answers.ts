/** A history with some of everything, all requests about it, and the responses of two servers. */
import { expect } from 'bun:test'

import type { SpotTick } from '#src/domain/spot.ts'
import { toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { aSnapshot, START_MS } from '../history/books.ts'
import { createHarness } from './harness.ts'

const MINUTE_MS = 60_000
const ROWS = 450

/** Two coins, both outcomes, trades, gaps, prices, an open market, late rows. */
export async function fillAnswers(history: MarketHistory): Promise<void> {
  const batches = simulate({
    seed: 'answers',
    coins: ['btc', 'eth'],
    timeframes: ['5m'],
    markets: 3,
    startMs: START_MS,
    maxSnapshotsPerMarket: ROWS,
  })
  let id = 0
  for (const { snapshots, facts } of batches) {
    for (const each of facts) await history.putMarket(each)
    await history.append({ id: `b${++id}`, source: 'simulated', snapshots })
  }
  const markets = history.listMarkets({ coin: 'btc', limit: 10, order: 'asc' })
  for (const [at, { conditionId }] of markets.entries()) {
    const timestampMs = (markets[at]?.windowStartMs ?? START_MS) + 1000
    await history.putTrades({
      id: `t${at}`,
      conditionId,
      trades: Array.from({ length: 30 }, (_, second) => ({
        timestampMs: timestampMs + second * 1000,
        price: 500_000 + second,
        size: 1_000_000,
      })),
    })
    await history.putGaps(conditionId, [
      { outcome: 'up', fromMs: timestampMs, toMs: timestampMs + 5000, reason: 'recorder_down' },
    ])
    if (at > 0) await history.close(conditionId)
  }
  const ticks = Array.from({ length: 600 }, (_, second): SpotTick => ({
    coin: 'btc',
    source: 'live',
    windowSeconds: 0,
    price: `${95_000 + (second % 7)}.5`,
    timestampMs: START_MS + second * 1000,
    receivedMs: START_MS + second * 1000 + 40,
  }))
  await history.putSpot(ticks)
  // An outcome of a window without a market.
  await history.putOutcomes([
    {
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      windowStartMs: START_MS,
      winner: 'up',
      strike: '95000.5',
    },
  ])
  const [open] = markets
  if (open === undefined) throw new Error('The simulator makes markets.')
  const late = { ...open, outcome: 'up', timestampMs: (open.lastSnapshotMs ?? 0) - 1 } as const
  const { conditionId } = open
  await history.append({
    id: 'late',
    source: 'simulated',
    snapshots: [aSnapshot({ ...late, conditionId, assetId: open.assetIds.up ?? '' })],
  })
}

export function requestsFor(history: MarketHistory): string[] {
  const day = toIso(START_MS).slice(0, 10)
  const markets = history.listMarkets({ coin: 'btc', limit: 10, order: 'asc' })
  const ofMarkets = markets.flatMap(({ conditionId, windowStartMs = START_MS, slug }) => {
    const at = `/v1/btc/markets/${conditionId}`
    const ts = windowStartMs + MINUTE_MS
    return [
      ...['', '/coverage', '/snapshots', '/quotes', '/prices', '/trades'].map((part) => at + part),
      `/v1/btc/markets/${slug}/snapshots?limit=7&order=desc&depth=3`,
      ...['up', 'down'].flatMap((outcome) =>
        [1, 100, 1000].map((limit) => `${at}/snapshots?outcome=${outcome}&limit=${limit}`),
      ),
      ...['1s', '1m'].flatMap((interval) =>
        ['snapshots', 'quotes', 'prices'].map((part) => `${at}/${part}?interval=${interval}`),
      ),
      `${at}/snapshots?view=consolidated&limit=20`,
      `${at}/snapshots?include=receivedAt&from=${ts}&to=${ts + MINUTE_MS}`,
      `${at}/snapshots/at?ts=${ts}`,
      `${at}/fill?ts=${ts}&outcome=up&side=buy&size=100`,
      `${at}/heatmap?outcome=up`,
      `${at}/snapshots?format=csv&limit=20`,
      ...['ndjson', 'csv', 'parquet'].map((format) => `${at}/export?format=${format}`),
    ]
  })
  return [
    ...ofMarkets,
    '/v1/coins',
    '/v1/btc/markets',
    '/v1/eth/markets?limit=2&order=asc',
    '/v1/btc/prices',
    ...['open', 'closed', 'resolved', 'upcoming'].map((one) => `/v1/btc/markets?status=${one}`),
    `/v1/btc/panel?timeframe=5m&offsets=-60s,0s&from=${START_MS}&to=${START_MS + 20 * MINUTE_MS}`,
    `/v1/btc/coverage?from=${day}&to=${day}`,
    `/v1/btc/spot?from=${START_MS}&limit=100`,
    `/v1/btc/spot?interval=1m&from=${START_MS}`,
    `/v1/btc/export?day=${day}`,
    '/v1/revisions',
    '/v1/manifests',
    '/v1/btc/markets/0x00/snapshots',
    '/readyz',
  ]
}

type Answer = { status: number; headers: Headers; bytes: Uint8Array<ArrayBuffer> }

/**
 * Sends requests to the first server, and to the others in turns: texts, ETags, coverage and
 * cursors must be the same. Returns the response.
 */
export function createComparer(histories: readonly MarketHistory[]) {
  const [first, ...others] = histories.map((history) => createHarness({ history }))
  let asked = 0
  return async (path: string, encoding = 'gzip'): Promise<Answer> => {
    const both = [first, others[asked++ % others.length]].map(async (server): Promise<Answer> => {
      const response = await server?.send(path, { headers: { 'accept-encoding': encoding } })
      if (response === undefined) throw new Error('There are two servers.')
      const { status, headers } = response
      return { status, headers, bytes: new Uint8Array(await response.arrayBuffer()) }
    })
    const [expected, answer] = await Promise.all(both)
    if (expected === undefined) throw new Error('Both have answered.')
    expect({ path, ...partsOf(answer) }).toEqual({ path, ...partsOf(expected) })
    return expected
  }
}

/** Expects the same texts, ETags, coverage and cursors from two servers. */
export async function expectSameAnswers(
  histories: readonly [MarketHistory, MarketHistory],
  asked: readonly string[],
): Promise<void> {
  const compare = createComparer(histories)
  for (const path of asked) await compare(path)
}

const names = ['etag', 'x-coverage', 'x-resume-cursor', 'content-type', 'cache-control']

const partsOf = (answer: Answer | undefined) => ({
  status: answer?.status,
  headers: names.map((name) => answer?.headers.get(name)),
  body: Buffer.from(answer?.bytes ?? [])
    .toString('latin1')
    .replace(/"requestId":"[^"]*"/, ''),
})
