/**
 * Usage that the ledger does not take, because it cannot be reached or its disk is full, in a file of
 * the data folder: so a process that ends meanwhile leaves it to the next one.
 */

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { PendingUsage } from '#src/access/usage-meter.ts'
import { codeOf } from '#src/platform/message.ts'

export type PendingUsageFile = ReturnType<typeof openPendingUsage>

export function openPendingUsage(dataPath: string) {
  const path = join(dataPath, 'pending-usage.json')
  let isThere = true

  function remove(): void {
    if (isThere) rmSync(path, { force: true })
    isThere = false
  }

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
      try {
        writeFileSync(`${path}.new`, JSON.stringify(pending), { mode: 0o600 })
        renameSync(`${path}.new`, path)
      } catch (error) {
        remove()
        rmSync(`${path}.new`, { force: true })
        throw error
      }
    },
  }
}
