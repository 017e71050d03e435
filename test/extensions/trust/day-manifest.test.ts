import { describe, expect, test } from 'bun:test'

import { isSigned, type ManifestBody, sha256, statementText } from '#src/domain/manifest.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  someSnapshots,
  START_MS,
} from '../../history/books.ts'
import { textOf } from '../../history/pages.ts'

const HOUR_MS = 3_600_000
const DAY_END_MS = Date.UTC(2026, 3, 15)
const day = '2026-04-14'

async function putWindow(
  history: MarketHistory,
  number: number,
  { startMs = START_MS, isWon = true } = {},
) {
  const market = { coin: 'btc', timeframe: '5m', source: 'simulated' } as const
  const window = { windowStartMs: startMs, windowEndMs: startMs + 300_000 }
  const winner = isWon ? 'up' : undefined
  await history.putMarket({ conditionId: conditionIdOf(number), ...market, ...window, winner })
}

/** A market of the day that is over, with its winner, and one of each coming number. */
async function fill(time = { nowMs: START_MS }, count = 1) {
  const history = openHistory(':memory:', { clock: () => time.nowMs })
  for (let number = 1; number <= count; number++) {
    await putWindow(history, number)
    await appendAll(history, someSnapshots(250, { conditionId: conditionIdOf(number) }))
    await history.close(conditionIdOf(number))
  }
  return history
}

const make = async (history: MarketHistory, nowMs: number, files?: () => ManifestBody['files']) =>
  (
    await Array.fromAsync(
      makeManifests(history, nowMs, files && (() => ({ files: files(), madeMs: nowMs }))),
    )
  ).flatMap((made) => made ?? [])
const bodyOf = ({ body }: { body: string }) => JSON.parse(body) as ManifestBody

describe('makeManifests', () => {
  test('default: the digests are those of the rows that are served, and the statement is signed', async () => {
    const history = await fill()
    await history.putTrades({
      id: 'a',
      conditionId: conditionIdOf(1),
      trades: [
        { timestampMs: START_MS, price: 530_000, size: 2_500_000, outcome: 'up', side: 'buy' },
      ],
    })
    const [made] = await make(history, DAY_END_MS + 2 * HOUR_MS)
    if (made === undefined) throw new Error('A day that is over has a manifest.')
    const { body, ...signed } = made
    expect([signed.sequence, signed.day, signed.revision, signed.previous]).toEqual([
      1,
      day,
      1,
      null,
    ])
    expect(sha256(body)).toBe(signed.digest)
    expect(isSigned(signed)).toBe(true)
    expect(statementText(signed)).toBe(`bookfeed-manifest-1 1 ${day} 1 ${signed.digest} -`)
    const [series] = bodyOf(made).series
    const rows = JSON.parse(
      textOf(history, { conditionId: conditionIdOf(1), order: 'asc', limit: 1000 }),
    )
    expect(rows).toHaveLength(250)
    const lines = rows.map((row: unknown) => `${JSON.stringify(row)}\n`).join('')
    const trade =
      '{"timestamp":"2026-04-14T08:00:00.000Z","outcome":"up","price":0.53,"size":2.5,"side":"buy"}\n'
    const facts = `["${conditionIdOf(1)}","btc","5m","simulated",null,"2026-04-14T08:00:00.000Z","2026-04-14T08:05:00.000Z",null,null,"up"]`
    expect(series).toMatchObject({ coin: 'btc', timeframe: '5m', revision: 1 })
    expect(series?.markets).toEqual([
      {
        conditionId: conditionIdOf(1),
        slug: null,
        source: 'simulated',
        revision: history.findMarket(conditionIdOf(1))?.revision ?? 0,
        snapshots: 250,
        snapshotsSha256: sha256(lines),
        trades: 1,
        tradesSha256: sha256(trade),
        factsSha256: sha256(facts),
      },
    ])
  })

  test('behavior: a day waits for its end, and for what is open or without a winner, three days', async () => {
    const history = await fill()
    await putWindow(history, 2, { startMs: START_MS + HOUR_MS, isWon: false })
    await appendAll(history, [
      aSnapshot({ conditionId: conditionIdOf(2), timestampMs: START_MS + HOUR_MS }),
    ])
    expect(await make(history, DAY_END_MS + HOUR_MS - 1)).toEqual([])
    expect(await make(history, DAY_END_MS + DAY_MS)).toEqual([])
    const [made] = await make(history, DAY_END_MS + 3 * DAY_MS)
    expect(made && bodyOf(made).series[0]?.markets).toHaveLength(2)
    expect(await make(history, DAY_END_MS + 4 * DAY_MS)).toEqual([])
  })

  test('behavior: what changed later is another revision of the series, chained to the one before', async () => {
    const time = { nowMs: START_MS }
    const history = await fill(time, 2)
    time.nowMs = DAY_END_MS + 2 * HOUR_MS
    const [first] = await make(history, time.nowMs)
    time.nowMs += HOUR_MS
    await appendAll(history, [aSnapshot({ timestampMs: START_MS + 1500 }, 99)])
    expect(await make(history, time.nowMs)).toHaveLength(1)
    const second = history.manifests.ofDay(day)
    if (first === undefined || second === undefined) throw new Error('There are two.')
    expect(second).toMatchObject({ sequence: 2, revision: 2, previous: first.digest })
    const [before, after] = [bodyOf(first), bodyOf(second)].map(({ series }) => series[0])
    expect(after?.revision).toBe(2)
    expect(after?.sha256).not.toBe(before?.sha256)
    // The other market is what it was.
    expect(after?.markets[1]).toEqual(before?.markets[1])
    expect(history.manifests.sequencesOf(day)).toEqual([1, 2])
    expect([...history.verify()]).toEqual([])
  })

  test('behavior: a fact that changes makes one, what is deleted stays, and files have their place', async () => {
    const time = { nowMs: START_MS }
    const history = await fill(time, 2)
    time.nowMs = DAY_END_MS + 2 * HOUR_MS
    await make(history, time.nowMs)
    while (await history.deleteOldest(START_MS + 1));
    expect(await make(history, time.nowMs + HOUR_MS)).toEqual([])
    const other = await fill(time)
    await make(other, time.nowMs)
    await other.putMarket({
      conditionId: conditionIdOf(1),
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      strike: '64000.5',
    })
    const files = [{ path: '/v1/btc/files/a.parquet', bytes: 9, sha256: 'ab' }]
    const [made] = await make(other, time.nowMs, () => files)
    expect(made && bodyOf(made)).toMatchObject({ revision: 2, files, series: [{ revision: 2 }] })
    // A file alone makes another; what is deleted stays.
    time.nowMs += HOUR_MS
    const more = [{ path: '/v1/btc/files/b.parquet', bytes: 8, sha256: 'cd' }]
    const [again] = await make(other, time.nowMs, () => more)
    expect(again && bodyOf(again)).toMatchObject({
      revision: 3,
      files: [...files, ...more],
      series: [{ revision: 2 }],
    })
    expect(await make(other, time.nowMs + HOUR_MS, () => more)).toEqual([])
  })
})
