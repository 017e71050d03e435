/**
 * Every data route of a server whose sealed books are in an archive gives the answers of one that
 * has them all: each request finds nothing that was fetched before it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createCursorCodec } from '#src/domain/cursor.ts'
import { toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRowCursors } from '#src/live/cursors.ts'
import { START } from '#src/live/rows.ts'

import { appendAll, aSnapshot, START_MS } from '../history/books.ts'
import { fillAnswers, requestsFor } from '../support/answers.ts'
import { asRecorded } from '../support/as-recorded.ts'
import { followEvents } from '../support/event-client.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'
import { closeAll, connect, startLiveServer } from '../support/live-client.ts'
import { archiveInMemory, type MemoryArchive } from '../support/memory-archive.ts'
import { readDocument } from '../support/openapi-document.ts'

const LIMIT_MS = 240_000
const MINUTE_MS = 60_000

let folder = ''
let source: MemoryArchive
let whole: MarketHistory
const pathOf = (name: string): string => join(folder, `${name}.db`)

/** As a server that starts. */
const openCold = (): MarketHistory => ({
  ...openHistory(pathOf('cold'), { isServing: true }),
  // The archive is in the memory of this thread.
  path: undefined,
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-cold-'))
  const time = { nowMs: NOW_MS - 3 * MINUTE_MS }
  const filling = asRecorded(openHistory(pathOf('whole'), { clock: () => time.nowMs }))
  await fillAnswers(filling)
  time.nowMs = NOW_MS - MINUTE_MS
  for (const market of filling.listMarkets({ coin: 'btc', limit: 2, order: 'asc' })) {
    const { firstSnapshotMs = 0, conditionId, assetIds, source: of } = market
    const late = { conditionId, outcome: 'up', source: of, assetId: assetIds.up ?? '' } as const
    const rows = Array.from({ length: 30 }, (_, index) =>
      aSnapshot({ ...late, timestampMs: firstSnapshotMs + index * 1009 + 1 }, (index + 1) * 7000),
    )
    await appendAll(filling, rows)
  }
  filling.dispose()
  await cp(pathOf('whole'), pathOf('cold'))
  source = await archiveInMemory(pathOf('cold'))
  whole = openHistory(pathOf('whole'), { isServing: true })
})
afterAll(async () => {
  whole.dispose()
  await rm(folder, { recursive: true, force: true })
})

type Asked = { path: string; body?: object }
type Harness = ReturnType<typeof createHarness>

function listRequests(): Asked[] {
  const markets = whole.listMarkets({ coin: 'btc', limit: 10, order: 'asc' })
  const ofMarkets = markets.flatMap(({ conditionId, windowStartMs = START_MS }) => {
    const at = `/v1/btc/markets/${conditionId}`
    const ts = windowStartMs + 2 * MINUTE_MS
    const own = ['own', 'consolidated'].flatMap((view) => [
      `${at}/snapshots?view=${view}&interval=5s&order=desc&outcome=down&limit=30`,
      `${at}/snapshots?view=${view}&interval=1s&limit=70`,
      `${at}/snapshots/at?ts=${ts}&view=${view}&fields=id,receivedAt`,
      `${at}/fill?ts=${ts}&outcome=down&side=sell&size=5&view=${view}`,
      `${at}/fill/resting?outcome=down&side=sell&price=0.5&size=5&from=${ts}&until=${ts + MINUTE_MS}`,
    ])
    const lists = ['limit=70', 'interval=5s', 'order=desc&limit=20'].flatMap((more) =>
      ['snapshots', 'quotes', 'prices'].map((part) => `${at}/${part}?${more}`),
    )
    return [
      ...own,
      ...lists,
      `${at}/quotes?format=csv&order=desc`,
      `${at}/quotes?fields=id,bid,receivedAt&limit=300`,
      `${at}/heatmap?outcome=down&agg=last&from=${ts}`,
      `${at}/export?format=ndjson&after=${whole.lastPosition(markets[0] ?? fail())?.id ?? 1}`,
      `${at}/export?format=ndjson&after=60`,
      `${at}/live?channel=snapshots`,
      `${at}/live?channel=quotes`,
      `${at}/changes?limit=70`,
      `${at}/changes?outcome=down&from=${ts}&limit=30`,
      `${at}/settlement`,
    ].map((path) => ({ path }))
  })
  const moments = markets.flatMap(({ conditionId, windowStartMs = START_MS }) =>
    ['up', 'down'].map((outcome) => ({
      conditionId,
      outcome,
      ts: toIso(windowStartMs + MINUTE_MS),
    })),
  )
  const range = `from=${START_MS}&to=${START_MS + 20 * MINUTE_MS}`
  return [
    // What a thread makes of an export has its own way to the archive: `answers.test.ts` asks for it.
    ...requestsFor(whole)
      .filter((path) => !/export\?format=(csv|parquet)/.test(path))
      .map((path) => ({ path })),
    ...ofMarkets,
    ...['own', 'consolidated'].map((view) => ({
      path: '/v1/btc/snapshots/at',
      body: { requests: moments, view },
    })),
    { path: `/v1/btc/panel?timeframe=5m&offsets=-240s,-60s,-1s&${range}` },
    { path: `/v1/btc/panel?timeframe=5m&offsets=-240s,-60s,-1s&${range}&format=csv` },
    { path: '/v1/btc/live?channel=snapshots' },
    { path: '/v1/btc/live?channel=prices' },
    { path: '/v1/btc/settlements' },
    { path: '/v1/btc/days' },
  ]
}

function fail(): never {
  throw new Error('There are markets.')
}

async function answerOf({ send }: Pick<Harness, 'send'>, { path, body }: Asked) {
  const json = { 'content-type': 'application/json' }
  const init = body && { method: 'POST', headers: json, body: JSON.stringify(body) }
  const response = await send(path, init)
  const { status, headers } = response
  const bytes = new Uint8Array(await response.arrayBuffer())
  const text = Buffer.from(bytes)
    .toString('latin1')
    .replace(/"requestId":"[^"]*"/, '')
  const names = ['etag', 'x-coverage', 'x-resume-cursor', 'content-type', 'cache-control']
  return { path, status, headers: names.map((name) => headers.get(name)), text }
}

describe('a server without a book', () => {
  test(
    'default: each data route gives the same answer, whatever was asked before',
    async () => {
      const requests = listRequests()
      const sound = createHarness({ history: whole })
      for (const asked of requests) {
        const cold = openCold()
        const expected = await answerOf(sound, asked)
        const answer = await answerOf(createHarness({ history: cold }), asked)
        cold.dispose()
        expect(answer).toEqual(expected)
        expect([asked.path, answer.status >= 500]).toEqual([asked.path, false])
      }
      expect(source.asked.length).toBeGreaterThan(requests.length / 3)
    },
    LIMIT_MS,
  )

  // Day files and calibration are made ahead, by threads that wait for the archive.
  test('behavior: no data route is left out', async () => {
    const { entries } = await readDocument(createHarness({ history: whole }).send)
    const asked = listRequests().map(({ path }) => path.split('?')[0] ?? '')
    const unasked = entries
      .map(({ path }) => path)
      .filter(
        (path) =>
          path.startsWith('/v1/{coin}/') && !/\/(files|links|archive|calibration)/.test(path),
      )
      .filter((path) => {
        const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)
        return !asked.some((each) => pattern.test(each))
      })
    expect(unasked).toEqual([])
  })
})

describe('a stream of a server without a book', () => {
  test(
    'behavior: what a subscriber resumes, and what is replayed, is the same',
    async () => {
      const [market = fail()] = whole.listMarkets({ coin: 'btc', limit: 1, order: 'desc' })
      const { conditionId } = market
      const cursors = createRowCursors(createCursorCodec(whole.cursorKey))
      const channels = ['snapshots', 'quotes', 'prices'] as const
      const seen: unknown[][] = []
      for (const history of [whole, openCold()]) {
        const { url, key, time } = startLiveServer({ history })
        time.nowMs = NOW_MS
        const client = connect(url, key)
        for (const channel of channels) {
          const from = cursors.encode(market, { channel }, START)
          const named = { channel, coin: 'btc', conditionId }
          await client.send({ op: 'subscribe', id: `from ${channel}`, ...named, from })
          await client.send({ op: 'subscribe', id: `last ${channel}`, ...named })
          const range = { from: toIso(START_MS), to: toIso(START_MS + 60 * MINUTE_MS) }
          await client.send({ op: 'replay', id: `replay ${channel}`, ...named, ...range, speed: 0 })
        }
        const messages: Record<string, unknown>[] = []
        for (
          const wanted = new Set(channels.flatMap((each) => [`from ${each}`, `replay ${each}`]));
          wanted.size > 0;
        ) {
          const found = await client.until(({ type }) => type === 'live' || type === 'replay_end')
          messages.push(...found)
          wanted.delete(String(found.at(-1)?.id))
        }
        const ids = channels.flatMap((each) => [`from ${each}`, `last ${each}`, `replay ${each}`])
        seen.push(ids.map((id) => messages.filter((message) => message.id === id)))
        closeAll()
      }
      expect(seen[1]).toEqual(seen[0] ?? [])
      expect(JSON.stringify(seen[0])).toContain('"type":"snapshot"')
      expect(JSON.stringify(seen[0]).length).toBeGreaterThan(1_000_000)
    },
    LIMIT_MS,
  )

  test(
    'behavior: events that are resumed are the same',
    async () => {
      const [market = fail()] = whole.listMarkets({ coin: 'btc', limit: 1, order: 'desc' })
      const { conditionId } = market
      const cursors = createRowCursors(createCursorCodec(whole.cursorKey))
      for (const channel of ['snapshots', 'quotes'] as const) {
        const cursor = cursors.encode(market, { channel }, START)
        const path = `/v1/btc/markets/${conditionId}/live?channel=${channel}&cursor=${cursor}`
        const seen: unknown[] = []
        for (const history of [whole, openCold()]) {
          const { app, key } = createHarness({ history })
          const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' }
          const events = followEvents(
            await app.fetch(new Request(`http://localhost${path}`, { headers })),
          )
          const timer = setInterval(app.tick, 1)
          const count = whole.tops({ market, order: 'asc', limit: 1000 }).length
          const enough = channel === 'snapshots' ? count : 20
          await events.until(() => events.rows().length >= enough)
          clearInterval(timer)
          seen.push(events.rows().slice(0, enough))
          await events.leave()
        }
        expect(seen[1]).toEqual(seen[0])
      }
    },
    LIMIT_MS,
  )
})
