import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createBucketMetrics } from '#src/extensions/archive/metrics.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, conditionIdOf, someSnapshots } from '../../history/books.ts'
import { archiveAll } from '../../support/archive-all.ts'
import { onBucket } from '../../support/engines/bucket.ts'
import { createHarness } from '../../support/harness.ts'

const first = conditionIdOf(1)
const second = conditionIdOf(2)

onBucket(import.meta.path, ({ placeOf, tell }) => {
  test('default: what was read is served after a restart with the bucket dead', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bookfeed-cached-'))
    const path = join(folder, 'history.db')
    const cached = join(folder, 'chunks.db')
    const filling = openHistory(path)
    for (const conditionId of [first, second])
      await appendAll(filling, someSnapshots(210, { conditionId }))
    await archiveAll(filling, placeOf('cached'))
    filling.dispose()
    let counted = { answered: 0, failed: 0, ms: 0, bytes: 0 }
    /** Asks a server that has just started. */
    const ask = async (id: string) => {
      const chunkCache = { path: cached, bytesMax: 1e9 }
      const history = openHistory(path, { isServing: true, chunkCache })
      const { send } = createHarness({ history })
      const response = await send(`/v1/btc/markets/${id}/snapshots?limit=200`)
      const answer = { status: response.status, text: await response.text() }
      counted = history.archiveCounts()
      history.dispose()
      return answer
    }
    try {
      const asked = await ask(first)
      expect(asked.status).toBe(200)
      expect(counted).toMatchObject({ answered: 1, failed: 0 })
      expect(counted.bytes).toBeGreaterThan(1000)
      expect(counted.ms).toBeGreaterThan(0)
      expect(await createBucketMetrics(placeOf('cached')).print()).toContain('bookfeed_bucket_up 1')
      await tell('kill')
      expect((await ask(second)).status).toBe(503)
      expect(counted).toMatchObject({ answered: 0, failed: 1, bytes: 0 })
      expect(await createBucketMetrics(placeOf('cached')).print()).toContain('bookfeed_bucket_up 0')
      expect(await ask(first)).toEqual(asked)
      expect(counted).toMatchObject({ answered: 0, failed: 0 })

      const db = new Database(cached)
      db.run("UPDATE part SET bytes = CAST(substr(bytes, 1, 100) || x'00' AS BLOB)")
      db.close()
      expect((await ask(first)).status).toBe(503)
      await tell('start')
      expect(await ask(first)).toEqual(asked)
      expect((await ask(second)).status).toBe(200)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('behavior: what an export on its thread asks of the bucket is counted with all else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bookfeed-counted-'))
    const path = join(folder, 'history.db')
    const filling = openHistory(path)
    for (const conditionId of [first, second])
      await appendAll(filling, someSnapshots(210, { conditionId }))
    await archiveAll(filling, placeOf('counted'))
    filling.dispose()
    const history = openHistory(path, { isServing: true })
    try {
      const { app, send } = createHarness({ history })
      const addressOf = (market: string) => `/v1/btc/markets/${market}/export?format=csv`
      const lines = (await (await send(addressOf(first))).text()).trimEnd().split('\n')
      expect(lines.length).toBeGreaterThan(210)
      expect(history.archiveCounts().answered).toBe(0)
      const once = app.gauges()
      expect(once.bucketAnswered).toBeGreaterThan(0)
      expect(once.bucketBytes).toBeGreaterThan(1000)
      expect(once.bucketFailed).toBe(0)
      await (await send(addressOf(second))).text()
      expect(app.gauges().bucketAnswered).toBeGreaterThan(once.bucketAnswered)
    } finally {
      history.dispose()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
