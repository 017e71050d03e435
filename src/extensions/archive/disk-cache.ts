/**
 * Blocks of objects in a folder, a file each, which several threads share. Objects never change, so
 * no file is ever out of date; one that is damaged or half written is as if it were not there, and
 * so is what the disk has no room for.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { DiskCachePlace } from '#src/database/stores.ts'
import { crc32 } from '#src/platform/crc32.ts'

const SUM_BYTES = 4
/** How often it is looked what is to go, in parts of the whole, and what stays then. */
const LOOKS = 64
const KEPT_SHARE = 0.75
/** Files that are being written; beyond them the disk is too slow to be of use. */
const WRITES_MAX = 32

const sumOf = (name: string, bytes: Uint8Array): number => crc32(bytes, crc32(name))

let files = 0

export function createDiskCache({ folder, bytesMax }: DiskCachePlace) {
  /** Since it was last looked; a process before this one may have left too much. */
  let written = Number.POSITIVE_INFINITY
  let writing = 0

  async function write(name: string, bytes: Uint8Array): Promise<void> {
    const path = join(folder, name)
    const half = `${path}.${process.pid}-${++files}`
    const file = Buffer.alloc(SUM_BYTES + bytes.length)
    file.writeUInt32LE(sumOf(name, bytes))
    file.set(bytes, SUM_BYTES)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(half, file)
      await rename(half, path)
    } catch {
      await rm(half, { force: true }).catch(() => {})
    }
  }

  /** Removes what was read longest ago, as exactly as the disk notes it. */
  async function makeRoom(): Promise<void> {
    const found: { path: string; size: number; readMs: number }[] = []
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      const file = await stat(path).catch(() => undefined)
      if (file !== undefined) found.push({ path, size: file.size, readMs: file.atimeMs })
    }
    let size = found.reduce((sum, file) => sum + file.size, 0)
    if (size <= bytesMax * KEPT_SHARE) return
    for (const file of found.sort((a, b) => a.readMs - b.readMs)) {
      if (size <= bytesMax * KEPT_SHARE) return
      await rm(file.path, { force: true }).catch(() => {})
      size -= file.size
    }
  }

  return {
    async find(name: string, length: number): Promise<Uint8Array | undefined> {
      const file = await readFile(join(folder, name)).catch(() => undefined)
      if (file?.length !== SUM_BYTES + length) return undefined
      const bytes = file.subarray(SUM_BYTES)
      return sumOf(name, bytes) === file.readUInt32LE() ? bytes : undefined
    },

    /** Resolves when it is there, or cannot be; never rejects. */
    async keep(name: string, bytes: Uint8Array): Promise<void> {
      if (writing >= WRITES_MAX) return
      writing++
      await write(name, bytes)
      writing--
      written += SUM_BYTES + bytes.length
      if (written < bytesMax / LOOKS) return
      written = 0
      await makeRoom()
    },
  }
}
