import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { Snapshot } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'

/** Fills a data folder of ours with closed markets; the folder is ready to be served afterwards. */
export async function buildHistory(
  dataPath: string,
  batches: AsyncIterable<readonly Snapshot[]>,
): Promise<void> {
  mkdirSync(dataPath)
  const history = openHistory(join(dataPath, 'history.db'))
  const conditionIds = new Set<string>()
  let batchCount = 0
  for await (const snapshots of batches) {
    await history.append({ id: `bench-${batchCount++}`, source: 'recorded', snapshots })
    for (const { conditionId } of snapshots) conditionIds.add(conditionId)
  }
  for (const conditionId of conditionIds) await history.close(conditionId)
  history.dispose()
}
