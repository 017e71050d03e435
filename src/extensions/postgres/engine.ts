/** PostgreSQL as what stores may be in besides a file. */
import type { RemoteEngine } from '#src/database/stores.ts'

import { openChunks } from './chunk-source.ts'
import { openingFault, openPostgres, postgresHistory, postgresLedger } from './database.ts'
import { createJobLock } from './job-lock.ts'
import { startReplicas } from './replica-worker.ts'

const formats = { history: postgresHistory, ledger: postgresLedger } as const

export const postgresEngine: RemoteEngine = {
  open: (place, store) => openPostgres(place, formats[store]),
  openChunks,
  startReplicas,
  openingFault: (error, place, store) => openingFault(error, place, formats[store]),
  createJobLock: ({ place, store, name, onFault }) =>
    createJobLock({ place, format: formats[store], name, onFault }),
}
