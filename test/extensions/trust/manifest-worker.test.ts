import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DAY_MS } from '#src/domain/time.ts'
import { startManifests } from '#src/extensions/trust/manifest-worker.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, conditionIdOf, someSnapshots, START_MS } from '../../history/books.ts'
import { createCliContext } from '../../support/cli-context.ts'
import { until } from '../../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-manifests-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('default: a server makes the manifests that are due, on a thread beside its own', async () => {
  const history = openHistory(join(folder, 'history.db'))
  const names = { conditionId: conditionIdOf(1), coin: 'btc', timeframe: '5m' } as const
  const window = { windowStartMs: START_MS, windowEndMs: START_MS + 300_000 }
  await history.putMarket({ ...names, source: 'simulated', ...window, winner: 'up' })
  await appendAll(history, someSnapshots(30))
  await history.close(names.conditionId)
  const { context, errors } = createCliContext({ BOOKFEED_DATA: folder })
  const clock = () => START_MS + 2 * DAY_MS
  const job = startManifests({ ...context, clock }, undefined, { firstMs: 1 })
  await until(() => history.manifests.newest() !== undefined)
  await job.dispose()
  expect(history.manifests.newest()).toMatchObject({ sequence: 1, day: '2026-04-14', revision: 1 })
  expect(errors).toEqual([])
  history.dispose()
})
