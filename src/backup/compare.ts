/** Reads blocks back and compares them with their digests. */

import { isFault } from '#src/platform/fault.ts'
import { codeOf } from '#src/platform/message.ts'

import {
  blockBytes,
  blockPath,
  BLOCKS,
  digestOf,
  findManifest,
  listBackups,
  type Manifest,
} from './manifest.ts'
import type { BackupStore } from './store.ts'

/** Each backup reads back at least this many bytes of blocks, */
const COMPARED_BYTES_MIN = 1024 ** 3
/** and at least this fraction of all: so each block is compared once in this many backups. */
const COMPARED_PARTS = 8

/**
 * Compares the blocks after `after`, in the order of their digests and wrapping around, up to the
 * limits. Returns the digests of damaged blocks, and the position for the next call.
 */
export async function compareSome(
  store: BackupStore,
  known: ReadonlyMap<string, number>,
  after: string | undefined,
): Promise<{ damaged: Set<string>; comparedTo: string | undefined; count: number }> {
  const digests = [...known.keys()].map((path) => path.slice(BLOCKS.length)).sort()
  const start = after === undefined ? 0 : digests.findIndex((digest) => digest > after)
  const at = Math.max(0, start)
  const order = [...digests.slice(at), ...digests.slice(0, at)]
  const total = [...known.values()].reduce((sum, bytes) => sum + bytes, 0)
  const bytesMax = Math.max(COMPARED_BYTES_MIN, total / COMPARED_PARTS)
  const damaged = new Set<string>()
  let bytes = 0
  let count = 0
  let comparedTo = after
  for (const digest of order) {
    if (bytes >= bytesMax) break
    if (!(await isSound(store, digest))) damaged.add(digest)
    bytes += known.get(blockPath(digest)) ?? 0
    comparedTo = digest
    count++
  }
  return { damaged, comparedTo, count }
}

/** False for a block that differs from its digest, or that the disk cannot read. */
export async function isSound(store: BackupStore, digest: string): Promise<boolean> {
  try {
    return digestOf(await store.get(blockPath(digest))) === digest
  } catch (error) {
    if (isReadFault(error)) return false
    throw error
  }
}

/** A place that does not answer is not damage. */
export const isReadFault = (error: unknown): boolean =>
  isFault(error, 'backup') && ['EIO', 'ENOENT'].includes(codeOf(error.cause))

/** The state of a backup. */
export type BackupState = {
  name: string
  /** Undefined if it cannot be read. */
  manifest: Manifest | undefined
  /** Names of its files that cannot be restored, with the reason. */
  faults: string[]
  /** True if each of its blocks was read and compared; otherwise only their sizes were. */
  isCompared: boolean
}

/**
 * Examines all backups of a place, the newest first, and reads each block once. `mayRead` is called
 * before each block; false stops the reading.
 */
export async function examineBackups(
  store: BackupStore,
  {
    mayRead,
    onProgress = () => {},
  }: { mayRead: () => boolean; onProgress?: (done: number, total: number) => void },
): Promise<BackupState[]> {
  const known = await store.list(BLOCKS)
  const states: BackupState[] = []
  for (const name of await listBackups(store)) {
    const manifest = await findManifest(store, name)
    const faults = manifest === undefined ? ['its manifest cannot be read'] : []
    states.push({ name, manifest, faults, isCompared: manifest !== undefined })
  }
  const noted = new Set(states.flatMap(({ manifest }) => manifest?.damaged ?? []))
  const needed = new Set(
    states.flatMap(({ manifest }) => (manifest?.files ?? []).flatMap(({ blocks }) => blocks)),
  )
  const sound = new Map<string, boolean>()
  for (const digest of needed) {
    if (!known.has(blockPath(digest)) || !mayRead()) continue
    sound.set(digest, await isSound(store, digest))
    onProgress(sound.size, needed.size)
  }
  for (const state of states) {
    for (const file of state.manifest?.files ?? []) {
      const bad = file.blocks.filter((digest, index) => {
        const isThere = known.get(blockPath(digest)) === blockBytes(file.bytes, index)
        const isNoted = noted.has(digest) && sound.get(digest) !== true
        return !isThere || isNoted || sound.get(digest) === false
      })
      if (bad.length > 0) {
        state.faults.push(
          `${bad.length} of ${file.blocks.length} blocks of ${file.name} ${bad.length === 1 ? 'is' : 'are'} damaged or missing (${bad[0]}${bad.length > 1 ? ', …' : ''})`,
        )
      }
      if (!file.blocks.every((digest) => sound.has(digest))) state.isCompared = false
    }
  }
  return states
}
