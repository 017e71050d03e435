/** A history on PostgreSQL as read by a server: an updated replica. */
import { join } from 'node:path'

import { type Copies, openCopies } from '#src/database/copies.ts'
import type { Replicas } from '#src/database/stores.ts'
import { postgresEngine } from '#src/extensions/postgres/engine.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

export type ReplicatedHistory = AsyncDisposable & {
  history: MarketHistory
  replicas: Replicas
  copies: Copies
}

/** Opens it; the history exists already, and `folder` is empty or has its replica. */
export async function openReplicatedHistory(
  place: string,
  folder: string,
): Promise<ReplicatedHistory> {
  const path = join(folder, 'replica-history.db')
  const chunkCache = { path: join(folder, 'chunks.db'), bytesMax: 1e8 }
  const timer = () => performance.now()
  const copies = openCopies({ clock: Date.now, timer })
  const stores = [{ store: 'history' as const, address: place, path }]
  const replicas = await postgresEngine.startReplicas(stores, {
    server: crypto.randomUUID(),
    timer,
    known: copies.memory,
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
    copies,
    async [Symbol.asyncDispose]() {
      history.dispose()
      await replicas.close()
    },
  }
}
