/** The manifest of a backup. It is written last: without it there is no backup. */

import { Fault, isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import type { BackupStore } from './store.ts'

/** Size of a block in bytes; the last block of a file may be shorter. */
export const BLOCK_BYTES = 4 * 1024 * 1024

export type Manifest = {
  bookfeedBackup: 1
  /** Start of the copy, Unix milliseconds. */
  startedMs: number
  /** Version of the program. */
  version: string
  files: BackupFile[]
  /**
   * Digest of the last block that was read back and compared: the next backup continues after it.
   * Absent in backups of 0.4.0 and older.
   */
  comparedTo?: string
  /** Digests of damaged blocks in the place that are not part of this backup. */
  damaged?: string[]
}

export type BackupFile = {
  /** `history.db`, or `history.db-wal` for the log beside it. */
  name: string
  bytes: number
  /** Digest of the whole file, hex. */
  sha256: string
  /** Format number of the database; a log has that of its database. */
  format: number
  /** SHA-256 of each block, in order; the name under which it is stored. */
  blocks: string[]
}

const START = 'backup-'
export const BLOCKS = 'blocks/'
/** Names are ordered by time. */
export const nameAt = (ms: number): string =>
  START + new Date(ms).toISOString().replaceAll(/[:.]/g, '-')

const pathOf = (name: string): string => `${name}.json`
export const blockPath = (digest: string): string => BLOCKS + digest
export const digestOf = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Names of backups, the newest first. */
export async function listBackups(store: BackupStore): Promise<string[]> {
  const found = [...(await store.list(START)).keys()]
  return found
    .flatMap((path) => (path.endsWith('.json') ? path.slice(0, -'.json'.length) : []))
    .sort()
    .reverse()
}

export const writeManifest = (store: BackupStore, name: string, manifest: Manifest) =>
  store.put(pathOf(name), new TextEncoder().encode(JSON.stringify(manifest)))
export const removeManifest = (store: BackupStore, name: string) => store.remove(pathOf(name))

/** Throws a `backup` fault. */
export async function readManifest(store: BackupStore, name: string): Promise<Manifest> {
  const text = new TextDecoder().decode(await store.get(pathOf(name)))
  try {
    return asManifest(JSON.parse(text))
  } catch (cause) {
    throw new Fault(`${name} cannot be read (${messageOf(cause)}). Use another backup.`, {
      kind: 'backup',
      cause,
    })
  }
}

/** Like `readManifest`, but undefined if it cannot be read. */
export const findManifest = (store: BackupStore, name: string): Promise<Manifest | undefined> =>
  readManifest(store, name).catch((error: unknown) => {
    if (isFault(error, 'backup')) return undefined
    throw error
  })

const fileName = /^(history|ledger)\.db(-wal)?$/

function asManifest(value: Manifest): Manifest {
  if (value.bookfeedBackup !== 1) throw new Error('it is not of this kind, or of a newer one')
  // A name must not lead outside the folder that is restored.
  if (!value.files.every(({ name }) => fileName.test(name))) throw new Error('it names other files')
  const isWhole = value.files.every(
    ({ bytes, blocks }) => blocks.length === Math.ceil(bytes / BLOCK_BYTES),
  )
  if (!isWhole) throw new Error('its sizes and blocks differ')
  return value
}

/** Size of a block, given its index in a file. */
export const blockBytes = (fileBytes: number, index: number): number =>
  Math.min(BLOCK_BYTES, fileBytes - index * BLOCK_BYTES)
