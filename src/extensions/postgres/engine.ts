/** PostgreSQL as what stores may be in besides a file. */
import type { RemoteEngine } from '#src/database/stores.ts'

import { openingFault, openPostgres } from './database.ts'
import { adviceOn } from './faults.ts'
import { formats } from './formats.ts'
import { createJobLock } from './job-lock.ts'
import { startReplicas } from './replica-worker.ts'

export const postgresEngine: RemoteEngine = {
  open: (place, store) => openPostgres(place, formats[store]),
  startReplicas,
  openingFault: (error, place, store) => openingFault(error, place, formats[store]),
  adviceOn,
  createJobLock,
}
