/**
 * Two servers on one PostgreSQL, into which another process writes: a WebSocket and an event
 * stream go on at the second server when the first is killed, also without notifications. No row
 * is missing or there twice, and each is as the routes have it.
 */
import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import type { Tier } from '#src/domain/selling/tier.ts'

import { appendAll, aSnapshot, conditionIdOf } from '../history/books.ts'
import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { followEvents } from '../support/event-client.ts'
import { makeKey } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { closeAll, connect, isRow } from '../support/live-client.ts'
import { walk } from '../support/page-client.ts'
import { openHistoryIn, openLedgerIn } from '../support/stores.ts'
import { systemClock } from '../support/venue/venue.ts'

const DRILL_MS_MAX = 600_000
const WAIT_MS_MAX = 90_000
const AGAIN_MS = 100
const PACE_MS = 5
const MARKET_MS = 300_000
const conditionId = conditionIdOf(1)
const tier: Tier = {
  tierId: 'drill',
  name: 'Drill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets', 'snapshots', 'quotes'],
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-streams-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(closeAll)

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`It never came to that: ${what}`)
    await Bun.sleep(1)
  }
}

/** Writes a row of one market every few milliseconds, until it is stopped. */
async function startWriter(place: string) {
  const history = await openHistoryIn(place)
  const startMs = systemClock()
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'simulated',
    windowStartMs: startMs,
    windowEndMs: startMs + MARKET_MS,
  })
  let rows = 0
  let lastMs = 0
  let isOver = false
  async function write(): Promise<void> {
    lastMs = Math.max(lastMs + 1, systemClock())
    const outcome = rows % 3 === 0 ? 'down' : 'up'
    await appendAll(history, [aSnapshot({ outcome, timestampMs: lastMs }, ++rows * 10_000)])
  }
  const run = async (): Promise<void> => {
    for (; !isOver; await Bun.sleep(PACE_MS)) await write()
  }
  const running = run()
  return {
    rows: () => rows,
    write,
    async stop(): Promise<void> {
      isOver = true
      await running
    },
    dispose: history.dispose,
  }
}

type Rows = { data: unknown[]; cursor: string | undefined }
type Follow = (origin: string, key: string, rows: Rows) => Promise<void>

/** Follows the market over a WebSocket, as snapshots, until it ends. */
const followSocket: Follow = async (origin, key, rows) => {
  const client = connect(`${origin.replace('http', 'ws')}/v1/stream`, key)
  const from = rows.cursor === undefined ? {} : { from: rows.cursor }
  const what = { channel: 'snapshots', coin: 'btc', conditionId, ...from }
  let isOver = false
  void client.closed.then(() => {
    isOver = true
  })
  void client.send({ op: 'subscribe', id: 's', ...what })
  for (; !isOver; await Bun.sleep(1))
    for (const message of client.messages.splice(0)) {
      if (message.type === 'error') client.socket.close()
      if (!isRow(message)) continue
      rows.data.push(message.data)
      rows.cursor = String(message.cursor)
    }
}

/** Follows it over server-sent events, as quotes, until they end. */
const followQuotes: Follow = async (origin, key, rows) => {
  const place = rows.cursor === undefined ? {} : { 'last-event-id': rows.cursor }
  const path = `/v1/btc/markets/${conditionId}/live?channel=quotes`
  const headers = { authorization: `Bearer ${key}`, ...place }
  const response = await fetch(origin + path, { headers })
  // A server on a busy machine may ask to try again.
  if (response.status !== 200) return
  const events = followEvents(response)
  for (let taken = 0; ;) {
    const found = events.rows().slice(taken)
    for (const { data, id } of found) {
      rows.data.push(data)
      rows.cursor = id
    }
    taken += found.length
    const isOver = await Promise.race([events.ended.then(() => true), Bun.sleep(1)])
    if (isOver === true && events.rows().length === taken) return
  }
}

/** Goes on at whatever server is named then, with the cursor of the last row, as a client does. */
function keepFollowing(follow: Follow, originOf: () => string, key: string) {
  const rows: Rows = { data: [], cursor: undefined }
  let isOver = false
  async function run(): Promise<void> {
    for (; !isOver; await Bun.sleep(AGAIN_MS)) await follow(originOf(), key, rows).catch(() => {})
  }
  const running = run()
  const stop = (): Promise<void> => {
    isOver = true
    return running
  }
  return { rows, stop }
}

describe.skipIf(postgresPrograms === undefined)('streams of two servers of a PostgreSQL', () => {
  test(
    'behavior: they go on at another server, and without notifications, and no row is missing',
    async () => {
      await using postgres = await startPostgres()
      using ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
      const key = await makeKey(ledger, tier)
      const writer = await startWriter(postgres.url)
      await using ends = new AsyncDisposableStack()
      ends.defer(writer.dispose)
      ends.defer(writer.stop)
      const start = async (name: string): Promise<KillableServer> => {
        const data = join(folder, name)
        mkdirSync(data)
        const server = await startKillableServer({
          BOOKFEED_DATA: data,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_HISTORY: postgres.url,
          BOOKFEED_LEDGER: postgres.url,
          BOOKFEED_SAMPLE: 'off',
        })
        ends.defer(() => server.kill())
        return server
      }
      const first = await start('first')
      const second = await start('second')
      let { origin } = first
      const streams = [followSocket, followQuotes].map((follow) =>
        keepFollowing(follow, () => origin, key),
      )
      const counts = () => streams.map(({ rows }) => rows.data.length)
      const more = async (what: string, count = 30): Promise<void> => {
        const goal = counts().map((had) => had + count)
        await until(`rows ${what}`, () => counts().every((has, at) => has >= (goal[at] ?? 0)))
      }

      await more('of the first server')
      origin = second.origin
      await first.kill()
      await more('of the second server')

      const sql = new SQL(postgres.url, { max: 1 })
      ends.defer(() => sql.close())
      const listeners = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE query ILIKE 'LISTEN%'`
      expect(listeners.length).toBeGreaterThan(0)
      await more('after its listener was ended')

      // Notifications are lost; that something changed can still be asked for.
      await announceChanges(sql, false)
      await more('by polling alone')
      await announceChanges(sql, true)
      await writer.stop()
      await writer.write()
      const isLast = ({ rows }: { rows: Rows }) => numberOf(rows.data.at(-1)) === writer.rows()
      await until('the last row', () => streams.every(isLast))

      const send = (path: string) =>
        fetch(second.origin + path, { headers: { authorization: `Bearer ${key}` } })
      for (const [at, list] of ['snapshots', 'quotes'].entries()) {
        const pages = await walk(send, `/v1/btc/markets/${conditionId}/${list}`, { limits: [1000] })
        const listed: { id: string }[] = pages.flatMap(({ body }) => body.data)
        expect(listed.length).toBe(writer.rows())
        const streamed = (streams[at]?.rows.data ?? []) as { id: string }[]
        const from = listed.findIndex(({ id }) => id === streamed[0]?.id)
        expect(streamed.length).toBeGreaterThan(90)
        expect(streamed).toEqual(listed.slice(from))
      }
      await second.kill()
      await Promise.all(streams.map(({ stop }) => stop()))
    },
    DRILL_MS_MAX,
  )
})

/** Whether the database says that something was logged. */
async function announceChanges(sql: SQL, isAnnounced: boolean): Promise<void> {
  const [row] = await sql.unsafe(
    "SELECT pg_get_functiondef(CAST('bookfeed.log_change' AS regproc)) AS text",
  )
  const announce = isAnnounced
    ? "pg_notify('changes_' || current_schema(), '')"
    : "length('pg_notify')"
  const text = row.text.replace(/PERFORM [^;]*pg_notify[^;]*;/, () => `PERFORM ${announce};`)
  expect(text).not.toBe(row.text)
  await sql.unsafe(text)
}

/** Which row of the writer it is, by its size: of a book, or of a quote. */
function numberOf(row: unknown): number {
  const { bids, bidSize } = row as { bids?: { size: number }[]; bidSize?: number }
  return Math.round((bids?.[0]?.size ?? bidSize ?? 0) * 100)
}
