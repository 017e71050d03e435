/** What a backup consists of. It is written last: without it there is no backup. */

import { Fault, isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import type { BackupStore } from './store.ts'

/** Bytes of each block; the last of a file may have fewer. */
export const BLOCK_BYTES = 4 * 1024 * 1024

export type Manifest = {
  bookfeedBackup: 1
  /** When the copy began, Unix milliseconds. */
  startedMs: number
  /** The version of the program. */
  version: string
  files: BackupFile[]
  /**
   * The last block that was read back and compared, by its digest: the next backup goes on after
   * it. Absent in backups of 0.4.0 and older.
   */
  comparedTo?: string
  /** Digests of blocks of the place that are damaged and are not of this backup. */
  damaged?: string[]
}

export type BackupFile = {
  /** `history.db`, or `history.db-wal` for the log beside it. */
  name: string
  bytes: number
  /** Digest of the whole file, hex. */
  sha256: string
  /** Number of the format of a database; the log has that of its file. */
  format: number
  /** SHA-256 of each block, in order; a block is stored under it. */
  blocks: string[]
}

const START = 'backup-'
export const BLOCKS = 'blocks/'
/** By time: a later name is of a later backup. */
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

/** As `readManifest`; undefined where it cannot be read. */
export const findManifest = (store: BackupStore, name: string): Promise<Manifest | undefined> =>
  readManifest(store, name).catch((error: unknown) => {
    if (isFault(error, 'backup')) return undefined
    throw error
  })

const fileName = /^(history|ledger)\.db(-wal)?$/

function asManifest(value: Manifest): Manifest {
  if (value.bookfeedBackup !== 1) throw new Error('it is not of this kind, or of a newer one')
  // A name leads to no other place than the folder that is restored.
  if (!value.files.every(({ name }) => fileName.test(name))) throw new Error('it names other files')
  const isWhole = value.files.every(
    ({ bytes, blocks }) => blocks.length === Math.ceil(bytes / BLOCK_BYTES),
  )
  if (!isWhole) throw new Error('its sizes and blocks differ')
  return value
}

/** Bytes of the block at an index of a file. */
export const blockBytes = (fileBytes: number, index: number): number =>
  Math.min(BLOCK_BYTES, fileBytes - index * BLOCK_BYTES)
