import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'

import { appendAll, conditionIdOf, someSnapshots } from '../../history/books.ts'
import { archiveAll } from '../../support/archive-all.ts'
import { onBucket } from '../../support/engines/bucket.ts'
import { createHarness } from '../../support/harness.ts'

const MARKETS = 12
/** The bucket has longer for an answer. */
const SOON_MS = 2000
const [slow = '', ...archived] = Array.from({ length: MARKETS + 1 }, (_, at) => conditionIdOf(at))
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-hung-bucket-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const stored = Array.from({ length: MARKETS }, (_, at) => conditionIdOf(100 + at))

async function fill(path: string, bucket: string): Promise<void> {
  const history = openHistory(path)
  for (const conditionId of [slow, ...archived])
    await appendAll(history, someSnapshots(210, { conditionId }))
  expect(await archiveAll(history, bucket)).toBe(MARKETS + 1)
  for (const conditionId of stored) await appendAll(history, someSnapshots(210, { conditionId }))
  history.dispose()
}

function startServer(path: string) {
  const history = openHistory(path, { isServing: true, chunkCacheBytes: 0 })
  const { send } = createHarness({ history })
  return {
    ask: (id: string, limit = 10) => send(`/v1/btc/markets/${id}/snapshots?limit=${limit}`),
    [Symbol.dispose]: history.dispose,
  }
}

onBucket(import.meta.path, ({ placeOf, tell }) => {
  test('error: while requests wait for a bucket, those that need none of it are answered', async () => {
    const path = join(folder, 'history.db')
    await fill(path, placeOf('hung'))
    using server = startServer(path)
    const { ask } = server
    // Two chunks; longer than a connection is held, and shorter than the bucket has to answer.
    const askHung = async (): Promise<Response> => {
      await tell('hang')
      const asked = ask(slow, 200)
      await Bun.sleep(SOON_MS / 4)
      await tell('wake')
      return asked
    }
    let first = await askHung()
    // A slow machine wakes it too late.
    while (first.status === 503) first = await askHung()
    const again = await ask(slow, 200)
    expect([first.status, await first.text()]).toEqual([200, await again.text()])

    await tell('hang')
    const waiting = archived.map((id) => ask(id))
    const others = await Promise.all(stored.map((id) => ask(id)))
    expect(others.map(({ status }) => status)).toEqual(stored.map(() => 200))
    const refused = await Promise.all(waiting)
    expect(refused.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(
      archived.map(() => [503, '2']),
    )
    await tell('wake')
    const [one = ''] = archived
    while ((await ask(one)).status !== 200) await Bun.sleep(100)
    for (const id of archived) expect((await ask(id)).status).toBe(200)
  })
})
