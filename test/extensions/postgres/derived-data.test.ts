/** Manifests, files of days and tables of counts are made of a copy as new as its database, or not at all. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DAY_MS } from '#src/domain/time.ts'
import { startCalibration } from '#src/extensions/calibration/worker.ts'
import { filesCommand } from '#src/extensions/day-files/command.ts'
import { startManifests } from '#src/extensions/trust/manifest-worker.ts'
import { openHistory } from '#src/history/open.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import type { CliContext } from '#src/server/extension.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  someSnapshots,
  START_MS,
} from '../../history/books.ts'
import { createCliContext } from '../../support/cli-context.ts'
import { startCuttingProxy } from '../../support/cutting-proxy.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openHistoryIn } from '../../support/stores.ts'
import { until } from '../../support/until.ts'

const TEST_MS_MAX = 300_000
const NOW_MS = START_MS + 3 * DAY_MS
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-derived-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Start = typeof startManifests | typeof startCalibration

/** Runs a job once, and resolves with what it says. */
async function runOnce(start: Start, context: CliContext): Promise<string> {
  const board = createJobBoard(() => NOW_MS)
  const job = start(context, board.add('job', ''), { firstMs: 1 })
  try {
    await until(() => board.list()[0]?.outcome !== undefined)
    return board.list()[0]?.outcome ?? ''
  } finally {
    await job.dispose()
  }
}

describe.skipIf(postgresPrograms === undefined)('what is made of a copy', () => {
  const { placeOf } = usePostgres()

  test(
    'behavior: it has what was committed before, and is not made while the database cannot be asked',
    async () => {
      const place = placeOf('derived')
      const conditionId = conditionIdOf(1)
      const history = await openHistoryIn(place)
      await history.putMarket({
        conditionId,
        coin: 'btc',
        timeframe: '5m',
        source: 'simulated',
        windowStartMs: START_MS,
        windowEndMs: START_MS + 300_000,
        strike: '64000.00',
        winner: 'up',
        winnerSource: 'venue',
      })
      await appendAll(history, someSnapshots(30))

      const url = new URL(place)
      const proxy = await startCuttingProxy(Number(url.port))
      url.port = new URL(proxy.origin).port
      const dataPath = join(folder, 'data')
      const { context: own, printed } = createCliContext({
        BOOKFEED_DATA: dataPath,
        BOOKFEED_HISTORY: url.href,
        BOOKFEED_FREE_MB: '0',
      })
      const context = { ...own, clock: () => NOW_MS }
      const makeFiles = () =>
        filesCommand(context).exitOverride().parseAsync(['make'], { from: 'user' })
      // The copy is made, and has no closed market yet.
      await makeFiles()
      expect(printed.splice(0)).toEqual(['0 files made, 0 days deleted.'])
      await history.append({
        id: 'late',
        source: 'simulated',
        gapReason: 'import',
        snapshots: [aSnapshot({ conditionId, timestampMs: START_MS + 200_000 })],
      })
      await history.close(conditionId)

      proxy.refuse(true)
      expect(await runOnce(startManifests, context)).not.toContain('Made')
      expect(await runOnce(startCalibration, context)).toContain('cannot be')
      await expect(makeFiles()).rejects.toThrow('cannot be opened')
      expect(history.manifests.newest()).toBeUndefined()
      for (const name of ['calibration', 'files'])
        expect(existsSync(join(dataPath, name))).toBe(false)

      proxy.refuse(false)
      expect(await runOnce(startManifests, context)).toBe('Made 2026-04-14 r1.')
      const copy = openHistory(join(dataPath, 'replica-history.db'), { isReadOnly: true })
      const body = JSON.parse(copy.manifests.ofDay('2026-04-14')?.body ?? '{}')
      expect(body.series[0].markets[0].snapshots).toBe(31)
      copy.dispose()
      expect(await runOnce(startCalibration, context)).toMatch(/^\d+ tables? made\.$/)
      await makeFiles()
      expect(printed).toEqual(['12 files made, 0 days deleted.'])
      history.dispose()
      proxy.stop()
    },
    TEST_MS_MAX,
  )
})
