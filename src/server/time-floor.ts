/** The file in which a server keeps its time over a restart: a clock belongs to a machine. */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { isAddress } from '#src/database/stores.ts'
import { toIso } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import type { CliContext } from './extension.ts'
import { ledgerOf } from './open-data-folder.ts'

/** The file of a data folder. A power cut may lose what was put last. */
export const createTimeFloor = (dataPath: string) => {
  const path = join(dataPath, 'clock.txt')
  return {
    get(): number | undefined {
      try {
        const floorMs = Date.parse(readFileSync(path, 'utf8').trim())
        return Number.isNaN(floorMs) ? undefined : floorMs
      } catch {
        return undefined
      }
    },
    /** Writes in place, and no more than before: a full disk takes it. */
    put(nowMs: number): void {
      const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600)
      try {
        writeSync(file, `${toIso(nowMs)}\n`, 0)
      } finally {
        closeSync(file)
      }
    },
  }
}

/**
 * The same for the server of the folder. A ledger of a version before 0.9.0 kept the time: it is
 * taken over from a file, but not from a database, where it may be that of another machine.
 */
export function openTimeFloor(context: CliContext, ledger: Pick<Ledger, 'takeTimeFloor'>) {
  const floor = createTimeFloor(context.config().dataPath)
  const isOfThisMachine = !isAddress(ledgerOf(context))
  ledger.takeTimeFloor((floorMs) => {
    if (isOfThisMachine && floor.get() === undefined) floor.put(floorMs)
  })
  return floor
}
