/**
 * Usage that the ledger does not take, because it cannot be reached or its disk is full, in a file of
 * the data folder: so a process that ends meanwhile leaves it to the next one. A second file keeps
 * room for it on a disk that is full.
 */

import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

import type { PendingUsage } from '#src/access/usage-meter.ts'
import { codeOf } from '#src/platform/message.ts'

/** Enough for about 5,000 counters, of a key, a route and a day each. */
const RESERVE_BYTES = 2 ** 20

export type PendingUsageFile = ReturnType<typeof openPendingUsage>

export function openPendingUsage(dataPath: string) {
  const path = join(dataPath, 'pending-usage.json')
  const reservePath = join(dataPath, 'usage.reserve')
  let isThere = true
  let hasReserve = false

  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

  /** Where there is no room, there is no reserve until there is. */
  function reserve(): void {
    if (hasReserve) return
    try {
      if (sizeOf(reservePath) !== RESERVE_BYTES)
        writeFileSync(reservePath, Buffer.alloc(RESERVE_BYTES, ' '), { mode: 0o600 })
      hasReserve = true
    } catch {
      rmSync(reservePath, { force: true })
    }
  }

  function remove(): void {
    if (isThere) rmSync(path, { force: true })
    isThere = false
    reserve()
  }

  /** Takes new room, and leaves the old file as it is until the new one is whole. */
  function replace(text: string): void {
    try {
      writeFileSync(`${path}.new`, text, { mode: 0o600 })
      renameSync(`${path}.new`, path)
    } catch (error) {
      rmSync(`${path}.new`, { force: true })
      throw error
    }
    reserve()
  }

  /** Writes over the reserve, whose room is taken already; false where that cannot be done. */
  function overwrite(text: string): boolean {
    const bytes = Buffer.alloc(RESERVE_BYTES, ' ')
    if (Buffer.byteLength(text) > RESERVE_BYTES) return false
    bytes.write(text)
    try {
      if (sizeOf(path) !== RESERVE_BYTES) renameSync(reservePath, path)
      hasReserve = false
      const file = openSync(path, 'r+')
      try {
        return writeSync(file, bytes, 0, bytes.length, 0) === bytes.length
      } finally {
        closeSync(file)
      }
    } catch {
      return false
    }
  }

  reserve()
  return {
    path,

    isThere: (): boolean => isThere,

    /** Undefined where there is none. Throws for one that cannot be read. */
    read(): PendingUsage | undefined {
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as PendingUsage
      } catch (error) {
        isThere = false
        if (codeOf(error) === 'ENOENT') return undefined
        throw error
      }
    },

    /**
     * Replaces it; undefined removes it. What cannot be written leaves none: an older one would be
     * counted again.
     */
    write(pending: PendingUsage | undefined): void {
      if (pending === undefined) {
        remove()
        return
      }
      isThere = true
      const text = JSON.stringify(pending)
      try {
        replace(text)
      } catch (error) {
        if (overwrite(text)) return
        remove()
        throw error
      }
    },
  }
}
