import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { freeBytesOf } from '#src/server/room.ts'

const DISK = '/dev/shm'
const FREE_MB = 65_536

/** True if there is a disk with less room than the configurable minimum. */
export const hasSmallDisk =
  existsSync(DISK) && (freeBytesOf(DISK) ?? Number.POSITIVE_INFINITY) < FREE_MB * 2 ** 20

/** A folder on it, and the variables with which it counts as full. */
export function createSmallDisk() {
  const folder = mkdtempSync(join(DISK, 'bookfeed-small-'))
  return {
    folder,
    env: { BOOKFEED_DATA: folder, BOOKFEED_FREE_MB: String(FREE_MB) },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
