/** A server whose books are in an archive answers as one that has them, byte for byte. */
import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Market } from '#src/domain/market.ts'
import { openArchive } from '#src/extensions/archive/range-reader.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, START_MS } from '../../history/books.ts'
import { expectSameAnswers, fillAnswers, requestsFor } from '../../support/answers.ts'
import { archiveAll } from '../../support/archive-all.ts'
import { copyBooks } from '../../support/copied-stores.ts'
import { onBucket } from '../../support/engines/bucket.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { createHarness } from '../../support/harness.ts'
import { readProblem } from '../../support/page-client.ts'
import { openReplicatedHistory } from '../../support/replicated-history.ts'
import { openHistoryIn } from '../../support/stores.ts'

const LIMIT_MS = 240_000
const TRY_MS = 100

onBucket(import.meta.path, ({ placeOf, tell }) => {
  let postgres: Postgres | undefined
  let folder = ''
  const pathOf = (name: string) => join(folder, `${name}.db`)
  beforeAll(async () => {
    if (postgresPrograms !== undefined) postgres = await startPostgres()
    folder = await mkdtemp(join(tmpdir(), 'bookfeed-archive-'))
    const history = openHistory(pathOf('whole'))
    await fillAnswers(history)
    history.dispose()
    await cp(pathOf('whole'), pathOf('archived'))
  }, LIMIT_MS)
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test(
    'default: the same from a file, nobody waits, and what is stored is sound',
    async () => {
      const whole = openHistory(pathOf('whole'))
      const archiving = openHistory(pathOf('archived'))
      const before = archiving.usedBytes()
      expect(await archiveAll(archiving, placeOf('file'))).toBeGreaterThan(3)
      // Room is counted in pages, of which some hold other rows too.
      const freed = before - archiving.usedBytes()
      expect(freed).toBeGreaterThan(0.8 * archiving.archive.totals().bytes)
      expect([...archiving.verify()]).toEqual([])
      archiving.dispose()
      const archived = openHistory(pathOf('archived'), { isServing: true })
      const waited = spyOn(Atomics, 'wait')
      await expectSameAnswers([whole, archived], requestsFor(whole))
      expect(waited).not.toHaveBeenCalled()
      waited.mockRestore()
      // Nothing of what was fetched is lost when it is asked for again.
      await expectSameAnswers([whole, archived], requestsFor(whole))
      for (const each of [whole, archived]) each.dispose()
    },
    LIMIT_MS,
  )

  test(
    'behavior: without anything in memory, too',
    async () => {
      const whole = openHistory(pathOf('whole'))
      const [first] = whole.listMarkets({ coin: 'btc', limit: 1, order: 'asc' })
      // `cold-rows.test.ts` asks for everything of each market, in one thread.
      const asked = requestsFor(whole).filter(
        (path) => path.includes(`${first?.conditionId}`) || /panel|export.day/.test(path),
      )
      expect(asked.length).toBeGreaterThan(20)
      for (const path of asked) {
        const archived = openHistory(pathOf('archived'), { isServing: true, chunkCacheBytes: 0 })
        await expectSameAnswers([whole, archived], [path])
        archived.dispose()
      }
      whole.dispose()
    },
    LIMIT_MS,
  )

  test.skipIf(postgresPrograms === undefined)(
    'default: the same from PostgreSQL',
    async () => {
      const place = postgres?.url ?? ''
      await copyBooks(pathOf('whole'), place)
      const archiving = await openHistoryIn(place)
      const before = archiving.usedBytes()
      expect(await archiveAll(archiving, placeOf('postgres'))).toBeGreaterThan(3)
      const freed = before - archiving.usedBytes()
      expect(freed).toBeGreaterThan(0.8 * archiving.archive.totals().bytes)
      expect([...archiving.verify()]).toEqual([])
      archiving.dispose()
      const whole = openHistory(pathOf('whole'))
      await using archived = await openReplicatedHistory(place, folder)
      await expectSameAnswers([whole, archived.history], requestsFor(whole))
      whole.dispose()
    },
    LIMIT_MS,
  )

  test(
    'error: while the bucket does not answer, what is in memory is served and all else is 503',
    async () => {
      const archived = openHistory(pathOf('archived'), { isServing: true })
      const server = createHarness({ history: archived })
      const [first, second] = archived.listMarkets({ coin: 'btc', limit: 3, order: 'asc' })
      const path = (conditionId = '', more = '') =>
        `/v1/btc/markets/${conditionId}/snapshots?limit=10${more}`
      expect((await server.send(path(first?.conditionId))).status).toBe(200)
      await tell('kill')
      expect((await server.send(path(first?.conditionId, '&order=asc'))).status).toBe(200)
      const refused = await server.send(path(second?.conditionId))
      expect(refused.headers.get('retry-after')).toBe('2')
      const problem = await readProblem(refused)
      expect([problem.status, problem.code]).toEqual([503, 'storage_unavailable'])
      expect(JSON.stringify(problem)).not.toContain('s3:')
      await tell('start')
      // For a second after a failure the bucket is not asked.
      while ((await server.send(path(second?.conditionId))).status !== 200) await Bun.sleep(TRY_MS)
      archived.dispose()
    },
    LIMIT_MS,
  )

  test(
    'behavior: late books stay beside it until the next time, and deleted markets leave nothing',
    async () => {
      const place = placeOf('late')
      const store = openArchive(placeOf('late'))
      await cp(pathOf('whole'), pathOf('late'))
      // The times of changes are among the answers.
      const clock = () => START_MS
      const whole = openHistory(pathOf('whole'), { clock })
      const late = openHistory(pathOf('late'), { clock })
      await archiveAll(late, place)
      const objects = (await store.list('')).size
      const [market] = late.listMarkets({ coin: 'eth', limit: 1 })
      if (market === undefined) throw new Error('There are markets.')
      for (const history of [whole, late]) {
        await appendLate(history, market)
      }
      await expectSameAnswers([whole, late], requestsFor(whole))
      expect(await archiveAll(late, place)).toBe(1)
      await expectSameAnswers([whole, late], requestsFor(whole))
      expect([...late.verify()]).toEqual([])
      expect((await store.list('')).size).toBe(objects + 1)

      while (await late.deleteOldest(Number.MAX_SAFE_INTEGER));
      for (const { id, name } of await late.archive.takeOrphans(Number.MAX_SAFE_INTEGER)) {
        await store.remove(name)
        await late.archive.forget(id)
      }
      const left = late.archive.totals().objects
      expect((await store.list('')).size).toBe(left)
      expect(left).toBeLessThan(objects)
      for (const each of [whole, late]) each.dispose()
    },
    LIMIT_MS,
  )

  test(
    'error: an object that is gone or changed is damage, and never a wrong answer',
    async () => {
      const place = placeOf('damaged')
      const history = openHistory(pathOf('damaged'))
      await fillAnswers(history)
      await archiveAll(history, place)
      const store = openArchive(place)
      const names = [...(await store.list('')).keys()].sort()
      const [gone = '', changed = ''] = names
      await store.remove(gone)
      const bytes = await store.get(changed)
      bytes[bytes.length >> 3] = (bytes[bytes.length >> 3] ?? 0) ^ 1
      await store.write(changed, bytes)
      const faults = [...history.verify()].join('\n')
      expect(faults).toContain(`${gone} is not in the archive`)
      expect(faults).toContain('are not as they were written')
      history.dispose()
    },
    LIMIT_MS,
  )
})

/** Between two books of a market. */
async function appendLate(history: MarketHistory, market: Market): Promise<void> {
  const { firstSnapshotMs = 0, lastSnapshotMs = 0, conditionId, assetIds } = market
  const timestampMs = Math.floor((firstSnapshotMs + lastSnapshotMs) / 2) + 1
  const late = { ...market, conditionId, outcome: 'up', timestampMs } as const
  const snapshots = [aSnapshot({ ...late, assetId: assetIds.up ?? '' })]
  expect((await history.append({ id: 'later', source: 'simulated', snapshots })).accepted).toBe(1)
}
