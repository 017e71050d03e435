import { describe, expect, test } from 'bun:test'
import { mkdirSync, statSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'

import { noCounts } from '#src/recorder/book-output.ts'
import type { Recorder } from '#src/recorder/recorder.ts'
import { createStatusFile, readRecorderStatus } from '#src/server/recorder-status.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'

/** Two connections, and two markets of which one lacks a book. */
function statusOf({ messages = 0, rows = 0 } = {}) {
  const connection = { sinceMs: NOW_MS - 60_000, lastMessageMs: NOW_MS - 300 }
  const market = {
    conditionId: '0x1',
    slug: 'btc-updown-5m-1',
    lastMs: NOW_MS - 400,
    events: 9,
    faults: 0,
    firstFault: undefined,
  }
  return {
    messages,
    faults: 1,
    unknown: 2,
    unfollowed: 3,
    driftMs: 40,
    lastMinute: { events: 50, faults: 1, unfollowed: 0, firstFault: 'book: bids: not an array' },
    windows: {
      open: 2,
      missing: [{ name: 'eth-updown-5m-2', reason: 'not_listed' as const, text: 'not listed' }],
    },
    lastMessageMs: NOW_MS - 300,
    unknownMessages: [],
    books: noCounts(),
    markets: [
      { ...market, unknown: [] },
      { ...market, conditionId: '0x2', slug: 'eth-updown-5m-1', unknown: ['up' as const] },
    ],
    connections: [
      { lane: 0, state: 'live' as const, tokens: 4, withoutBook: 1, ...connection },
      { lane: 0, state: 'opening' as const, tokens: 4, withoutBook: 4, ...connection },
    ],
    lanes: [],
    discovery: {
      markets: 2,
      asking: 0,
      contradictions: 0,
      others: { announced: 0, resolved: 0 },
    },
    spot: {
      ticks: 0,
      dropped: 0,
      sources: [
        {
          name: 'page',
          faults: 0,
          isConnected: false,
          heardMs: NOW_MS - 12_000,
          refused: undefined,
        },
        { name: 'live', faults: 0, isConnected: true, heardMs: NOW_MS, refused: undefined },
        { name: 'rtds', faults: 0, isConnected: true, heardMs: NOW_MS, refused: 'bad_filter' },
      ],
    },
    lifecycle: undefined,
    sink: {
      rows,
      duplicates: 0,
      batches: 3,
      dropped: 0,
      lastFlushMs: 0,
      slowestMs: 0,
      lagMs: 63,
      waiting: 7,
    },
    fault: undefined,
    warning: "The venue's feed is down; the recorder keeps trying.",
  }
}

function start() {
  const line = createCommandLine()
  let counts = { messages: 0, rows: 0 }
  const status: Partial<ReturnType<Recorder['status']>> = {}
  const file = createStatusFile(line.folder, {
    status: () => ({ ...statusOf(counts), ...status }),
  })
  const startedMs = NOW_MS - 10_000
  const write = (writtenMs: number, now = counts, freeBytes = 12_340_000_000) => {
    counts = now
    file.write({ startedMs, writtenMs, freeBytes })
  }
  return { ...line, file, write, status }
}

describe('bookfeed status', () => {
  test('default: shows rates, lag, open gaps, room on the disk, and what is wrong', async () => {
    using world = start()
    world.write(NOW_MS - 2500, { messages: 15_000, rows: 900 })
    world.write(NOW_MS - 500, { messages: 17_000, rows: 1000 })
    const { exitCode, printed } = await world.run('status')
    expect(exitCode).toBe(0)
    const text = printed.join('\n')
    for (const part of [
      "The venue's feed is down; the recorder keeps trying.",
      '1 connection, 3 books, 1,000 messages a second, 17,000 in all, the last 0.3 s ago',
      '50 states a second, 1,000 in 3 batches; 7 wait, 0 dropped',
      "63 ms from the venue's time",
      'Prices of coins: 0, from page, last price 12.0 s ago; live; rtds, refused: bad_filter.',
      'Gaps open now: 1 of 4 books.',
      'Not understood: 1 message (in the last minute 1, the first because of book: bids: not an array), and 2 of unknown types; 3 for markets that are not followed.',
      'Disk free: 12.3 GB.',
      "The venue's clock is 40 ms behind the clock of this machine",
      'eth-updown-5m-1',
    ])
      expect(text).toContain(part)
  })

  test('behavior: a little room is in MB, and a clock may be ahead', async () => {
    using world = start()
    world.status.driftMs = -2986
    world.write(NOW_MS, undefined, 11_000_000)
    const text = (await world.run('status')).printed.join('\n')
    expect(text).toContain('Disk free: 11 MB.')
    expect(text).toContain("The venue's clock is 2,986 ms ahead of the clock of this machine")
  })

  test('behavior: what was not measured yet is no 0', async () => {
    using world = start()
    const sink = { ...statusOf().sink, lagMs: undefined }
    Object.assign(world.status, { driftMs: undefined, sink, markets: [] })
    world.write(NOW_MS)
    const text = (await world.run('status')).printed.join('\n')
    for (const part of [
      'no state was stored yet',
      'unknown until the first message',
      'recorded yet.',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('the catalogue lists none')
  })

  test('behavior: --json is one object, with the rates since the start at first', async () => {
    using world = start()
    world.write(NOW_MS, { messages: 20_000, rows: 10 })
    const { printed } = await world.run('status', '--json')
    expect(JSON.parse(printed.join('\n'))).toMatchObject({
      startedMs: NOW_MS - 10_000,
      perSecond: { messages: 2000, rows: 1 },
      freeBytes: 12_340_000_000,
      sink: { lagMs: 63 },
    })
  })

  test('error: a disk that takes no new file takes the status all the same', async () => {
    using world = start()
    world.write(NOW_MS - 60_000)
    const path = join(world.folder, 'recorder.json')
    const before = statSync(path)
    // Whatever is to be put beside it.
    mkdirSync(`${path}.new`)
    world.write(NOW_MS, { messages: 123_456_789, rows: 7_654_321 })
    expect(readRecorderStatus(world.folder, NOW_MS)?.messages).toBe(123_456_789)
    const { ino, size, mode } = statSync(path)
    expect([ino, size, mode & 0o777]).toEqual([before.ino, before.size, 0o600])
  })

  // A machine may be without IPv6.
  const hasV6 = Object.values(networkInterfaces())
    .flat()
    .some((each) => each?.address === '::1')
  test.each(['127.0.0.1', '0.0.0.0', ...(hasV6 ? ['::1', '::'] : [])])(
    'behavior: --health asks the server at %s',
    async (host) => {
      let status = 200
      const server = Bun.serve({
        hostname: host,
        port: 0,
        fetch: ({ url }) => new Response(null, { status: url.endsWith('/healthz') ? status : 404 }),
      })
      const env = { BOOKFEED_HOST: host, BOOKFEED_PORT: String(server.port) }
      using world = createCommandLine(env)
      expect(await world.run('status', '--health')).toMatchObject({
        exitCode: 0,
        printed: ['healthy'],
      })
      status = 503
      const ill = await world.run('status', '--health')
      expect([ill.exitCode, ill.errors.join()]).toEqual([1, expect.stringContaining('503')])
      await server.stop(true)
      const gone = await world.run('status', '--health')
      expect([gone.exitCode, gone.errors.join()]).toEqual([
        1,
        expect.stringContaining('does not answer'),
      ])
    },
  )

  test('error: without a recorder, or with what one left behind, says how to start one', async () => {
    using world = start()
    const none = await world.run('status')
    expect([none.exitCode, none.errors.join('\n')]).toEqual([
      1,
      expect.stringContaining('bookfeed record starts one'),
    ])
    const json = await world.run('status', '--json')
    expect(json.exitCode).toBe(1)
    expect(JSON.parse(json.printed.join('\n'))).toEqual({
      fault: expect.stringContaining('No recorder runs'),
    })
    world.write(NOW_MS - 10_001)
    expect((await world.run('status')).exitCode).toBe(1)
    world.write(NOW_MS)
    expect((await world.run('status')).exitCode).toBe(0)
    world.file.remove()
    expect(readRecorderStatus(world.folder, NOW_MS)).toBeUndefined()
  })
})
