/** PostgreSQL as an engine for stores, besides a file. */
import { dirname } from 'node:path'

import type { RemoteEngine } from '#src/database/stores.ts'

import { shownAddress } from './address.ts'
import { adviceOn, copyFaultIn } from './faults.ts'
import { formats } from './formats.ts'
import { createJobLock } from './job-lock.ts'
import { startReplicas } from './replica-worker.ts'
import { examineTables, migrateTables, openingFault, prepareTables } from './server-tables.ts'
import { openSurround } from './surround.ts'

export const postgresEngine: RemoteEngine = {
  async open(place, { isBrief, say }) {
    const { store, path, address } = place
    const format = formats[store]
    await prepareTables(address, format)
    try {
      return await openSurround({ place: address, store, path, isBrief, say })
    } catch (error) {
      throw copyFaultIn(error, dirname(path)) ?? openingFault(error, address, format)
    }
  },
  startReplicas,
  async migrate({ store, address }, isWanted) {
    const formatsOf = await migrateTables(address, formats[store], isWanted)
    return { ...formatsOf, shown: shownAddress(address) }
  },
  examine: ({ store, address }) => examineTables(address, formats[store]),
  adviceOn,
  createJobLock,
}
