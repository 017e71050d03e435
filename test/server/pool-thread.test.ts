/** Long work on the threads of a history in a file. */
import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { threadsFor } from '#src/server/pool-thread.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import {
  append,
  closeAll,
  connect,
  isRow,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'

const ROWS = 300
const NOW_MS = START_MS + 60_000

const ends: (() => void | Promise<void>)[] = []
afterEach(async () => {
  closeAll()
  for (const end of ends.splice(0).reverse()) await end()
})

/** A history with an open market. */
async function openFile(): Promise<MarketHistory> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-pool-'))
  ends.push(() => rmSync(folder, { recursive: true }))
  const history = openHistory(join(folder, 'history.db'), { lagMs: 0 })
  ends.push(() => history.dispose())
  await putMarket(history)
  const states = Array.from({ length: ROWS }, (_, at) =>
    aSnapshot({ outcome: at % 2 === 0 ? 'up' : 'down', timestampMs: START_MS + at * 100 }),
  )
  await append(history, states)
  return history
}

/** The same history, of which this thread does all work. */
const withoutPool = (history: MarketHistory): MarketHistory => ({ ...history, path: undefined })

test.each([
  [1, 1],
  [2, 1],
  [4, 3],
  [64, 8],
])('threadsFor: of %d cores, %d run long work', (cores, threads) => {
  expect(threadsFor(cores)).toBe(threads)
})

describe('a thread of the pool', () => {
  test.each(['/v1/board', `/v1/btc/markets/${conditionIdOf(1)}/snapshots?interval=1s&limit=1000`])(
    'default: %s is the same as without a pool',
    async (path) => {
      const history = await openFile()
      const answers: unknown[] = []
      for (const own of [history, withoutPool(history)]) {
        const { closePool, send, time } = createHarness({ history: own })
        ends.push(closePool)
        time.nowMs = NOW_MS
        const response = await send(path)
        answers.push([response.status, response.headers.get('etag'), await response.text()])
      }
      expect(answers[0]).toEqual(answers[1])
      expect(answers[0]).toMatchObject([200, expect.any(String), expect.any(String)])
    },
  )

  /** A long request for a market. */
  const stepsOf = (number: number) =>
    `/v1/btc/markets/${conditionIdOf(number)}/snapshots?interval=1s&limit=1000`

  test('error: data that is damaged under a thread is refused alone', async () => {
    const history = await openFile()
    await putMarket(history, 2)
    const other = { conditionId: conditionIdOf(2), outcome: 'up' } as const
    await append(history, [aSnapshot({ ...other, timestampMs: START_MS })])
    const { closePool, send, time } = createHarness({ history })
    ends.push(closePool)
    time.nowMs = NOW_MS
    // The thread has the file open from here on.
    expect((await send(stepsOf(2))).status).toBe(200)
    const db = openDatabase(history.path ?? '')
    db.run('UPDATE chunk SET rows = zeroblob(length(rows))')
    db.close()
    const refused = await send(stepsOf(1))
    expect([refused.status, await refused.json()]).toMatchObject([503, { code: 'damaged' }])
    expect((await send(`${stepsOf(2)}&depth=1`)).status).toBe(200)
  })

  test('error: a file that another one replaced is refused, until it is back', async () => {
    const history = await openFile()
    const { closePool, send, time } = createHarness({ history })
    ends.push(closePool)
    time.nowMs = NOW_MS
    const path = history.path ?? ''
    const db = openDatabase(path)
    db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    renameSync(path, `${path}.away`)
    writeFileSync(path, 'not a database')
    const refused = await send(stepsOf(1))
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { code: 'storage_unavailable' },
    ])
    renameSync(`${path}.away`, path)
    expect((await send(stepsOf(1))).status).toBe(200)
  })

  test('default: a replay is the same as without a pool', async () => {
    const history = await openFile()
    const played: unknown[] = []
    for (const own of [history, withoutPool(history)]) {
      const { closePool, url, key } = startLiveServer({ history: own })
      ends.push(closePool)
      const client = connect(url, key)
      const asked = { op: 'replay', id: 'r', channel: 'snapshots', coin: 'btc', speed: 0 }
      await client.send({ ...asked, conditionId: conditionIdOf(1) })
      const messages = await client.untilType('replay_end')
      expect(messages.filter(isRow)).toHaveLength(ROWS)
      played.push(messages.filter(({ type }) => type !== 'authenticated'))
    }
    expect(played[0]).toEqual(played[1])
  })
})
