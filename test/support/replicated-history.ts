/** A history on PostgreSQL as a server reads it: a replica that is kept up to date. */
import { join } from 'node:path'

import type { Replicas } from '#src/database/stores.ts'
import { postgresEngine } from '#src/extensions/postgres/engine.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

export type ReplicatedHistory = AsyncDisposable & { history: MarketHistory; replicas: Replicas }

/** The history was opened before; `folder` is empty, or has the replica of it. */
export async function openReplicatedHistory(
  place: string,
  folder: string,
): Promise<ReplicatedHistory> {
  const path = join(folder, 'replica-history.db')
  const chunkCache = { path: join(folder, 'chunks.db'), bytesMax: 1e8 }
  const stores = [{ store: 'history' as const, place, path }]
  const replicas = await postgresEngine.startReplicas(stores, {
    server: crypto.randomUUID(),
    timer: () => performance.now(),
    say: () => {},
  })
  const history = openHistory(path, {
    isReadOnly: true,
    isServing: true,
    chunkCache,
  })
  return {
    history: { ...history, probeWrite: () => replicas.probeWrite('history') },
    replicas,
    async [Symbol.asyncDispose]() {
      history.dispose()
      await replicas.close()
    },
  }
}
