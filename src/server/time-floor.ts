/** The file in which a server keeps its time over a restart: a clock belongs to a machine. */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { isAddress } from '#src/database/stores.ts'
import { toIso } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import type { CliContext } from './extension.ts'
import { ledgerOf } from './open-data-folder.ts'

/** The time floor of a data folder. A power cut may lose the last write. */
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
    /** Writes in place with a fixed length, which needs no room on a full disk. */
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
 * Opens the time floor of a server. Before 0.9.0 the ledger kept it: the floor moves from a ledger
 * in a file, and is ignored in a database, where it may belong to another machine.
 */
export function openTimeFloor(context: CliContext, ledger: Pick<Ledger, 'takeTimeFloor'>) {
  const floor = createTimeFloor(context.config().dataPath)
  const isOfThisMachine = !isAddress(ledgerOf(context))
  ledger.takeTimeFloor((floorMs) => {
    if (isOfThisMachine && floor.get() === undefined) floor.put(floorMs)
  })
  return floor
}
