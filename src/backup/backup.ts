/**
 * Makes backups: copies of the files at one point in time, in blocks that are stored by their
 * digest. A block that is already stored is not stored again, so a backup costs only what has
 * changed since the previous one.
 */

import type { FileFormat } from '#src/database/sqlite/database.ts'
import { freezeFile, type FrozenPart } from '#src/database/sqlite/frozen-file.ts'
import { Fault } from '#src/platform/fault.ts'

import { compareSome } from './compare.ts'
import {
  type BackupFile,
  BLOCK_BYTES,
  blockBytes,
  blockPath,
  BLOCKS,
  digestOf,
  findManifest,
  listBackups,
  type Manifest,
  nameAt,
  readManifest,
  removeManifest,
  writeManifest,
} from './manifest.ts'
import type { BackupStore } from './store.ts'

/** Number of blocks in transit at a time, each in memory. */
const BLOCKS_IN_FLIGHT = 4

type Task = {
  store: BackupStore
  sources: readonly { name: string; path: string; format: FileFormat }[]
  startedMs: number
  version: string
  onProgress?: (done: number, total: number) => void
}

export type BackupReport = {
  name: string
  files: Pick<BackupFile, 'name' | 'bytes'>[]
  /** Size of the backup, and the part of it that was not stored before. */
  bytes: number
  newBytes: number
  /** Number of existing blocks that were read back. */
  compared: number
  /** Number of damaged blocks that were stored again. */
  repaired: number
  /** Digests of damaged blocks that only older backups need. */
  damaged: string[]
}

/** Makes a backup. If it rejects, there is no backup, and the next one reuses the stored blocks. */
export async function makeBackup(task: Task): Promise<BackupReport> {
  const { store, sources, startedMs, version } = task
  const known = await store.list(BLOCKS)
  const before = await newestManifest(store)
  const found = await compareSome(store, known, before?.comparedTo)
  const damaged = new Set([...found.damaged, ...(before?.damaged ?? [])])
  // A damaged block counts as missing: it is stored again if the files still contain it.
  const usable = new Map(known)
  for (const digest of damaged) usable.delete(blockPath(digest))
  const upload = createUpload(store, usable)
  const files: BackupFile[] = []
  for (const source of sources) files.push(...(await copy(source, upload, task)))
  await upload.end()
  await assertThere(store, files)
  const name = nameAt(startedMs)
  const own = new Set(files.flatMap(({ blocks }) => blocks))
  const left = [...damaged].filter((each) => known.has(blockPath(each)) && !own.has(each))
  await writeManifest(store, name, {
    bookfeedBackup: 1,
    startedMs,
    version,
    files,
    ...(found.comparedTo === undefined ? {} : { comparedTo: found.comparedTo }),
    ...(left.length === 0 ? {} : { damaged: left }),
  })
  const repaired = [...found.damaged].filter((each) => own.has(each)).length
  return {
    name,
    files,
    compared: found.count,
    repaired,
    damaged: left,
    ...measure(files, known),
  }
}

/** Undefined if there is no readable manifest. */
async function newestManifest(store: BackupStore): Promise<Manifest | undefined> {
  for (const name of await listBackups(store)) {
    const manifest = await findManifest(store, name)
    if (manifest !== undefined) return manifest
  }
  return undefined
}

function measure(files: readonly BackupFile[], known: ReadonlyMap<string, number>) {
  let bytes = 0
  let newBytes = 0
  for (const file of files) {
    bytes += file.bytes
    for (const [index, digest] of file.blocks.entries())
      if (!known.has(blockPath(digest))) newBytes += blockBytes(file.bytes, index)
  }
  return { bytes, newBytes }
}

/**
 * Two passes: a database's log grows while a snapshot of it is being read, so the slow part,
 * storing new blocks, is done before the snapshot.
 */
async function copy(
  { name, path, format }: Task['sources'][number],
  upload: Upload,
  task: Task,
): Promise<BackupFile[]> {
  {
    using loose = freezeFile(path, format)
    loose.release()
    await copyPart(loose.file, upload, task)
  }
  using frozen = freezeFile(path, format)
  const parts = [{ name, part: frozen.file }]
  if (frozen.log !== undefined) parts.push({ name: `${name}-wal`, part: frozen.log })
  const files: BackupFile[] = []
  for (const { name: partName, part } of parts) {
    const copied = await copyPart(part, upload, task)
    files.push({ name: partName, bytes: part.bytes, format: frozen.version, ...copied })
  }
  return files
}

async function copyPart({ bytes, read }: FrozenPart, upload: Upload, { onProgress }: Task) {
  const whole = new Bun.CryptoHasher('sha256')
  const blocks: string[] = []
  const buffer = new Uint8Array(BLOCK_BYTES)
  for (let at = 0; at < bytes; at += BLOCK_BYTES) {
    const block = buffer.subarray(0, blockBytes(bytes, blocks.length))
    read(at, block)
    whole.update(block)
    const digest = digestOf(block)
    blocks.push(digest)
    await upload.put(digest, block)
    onProgress?.(at + block.length, bytes)
  }
  return { sha256: whole.digest('hex'), blocks }
}

type Upload = ReturnType<typeof createUpload>

function createUpload(store: BackupStore, known: Map<string, number>) {
  const running = new Set<Promise<void>>()
  let failure: { error: unknown } | undefined

  function check(): void {
    if (failure !== undefined) throw failure.error
  }
  return {
    /** Resolves when another block may be put; copies the block. */
    async put(digest: string, block: Uint8Array): Promise<void> {
      const path = blockPath(digest)
      if (known.get(path) === block.length) return
      known.set(path, block.length)
      const done = store.put(path, block.slice()).catch((error: unknown) => {
        failure ??= { error }
      })
      running.add(done)
      void done.then(() => running.delete(done))
      if (running.size >= BLOCKS_IN_FLIGHT) await Promise.race(running)
      check()
    },
    async end(): Promise<void> {
      await Promise.all(running)
      check()
    },
  }
}

/** Another backup to the same place may have removed blocks that were there at the start. */
async function assertThere(store: BackupStore, files: readonly BackupFile[]): Promise<void> {
  const known = await store.list(BLOCKS)
  for (const { bytes, blocks } of files)
    for (const [index, digest] of blocks.entries())
      if (known.get(blockPath(digest)) !== blockBytes(bytes, index))
        throw new Fault(
          'Blocks of the backup were removed while it was made: another backup uses the same place. Use one place per data folder, and try again.',
          { kind: 'backup' },
        )
}

/** Removes all but the newest backups, and the blocks that no backup needs. */
export async function pruneBackups(store: BackupStore, keep: number): Promise<string[]> {
  const names = await listBackups(store)
  const gone = names.slice(keep)
  // All manifests are read before anything is removed: one that cannot be read may need any block.
  const manifests: Manifest[] = []
  for (const name of names.slice(0, keep)) manifests.push(await readManifest(store, name))
  const needed = new Set(
    manifests.flatMap(({ files }) => files.flatMap(({ blocks }) => blocks.map(blockPath))),
  )
  for (const name of gone) await removeManifest(store, name)
  for (const path of (await store.list(BLOCKS)).keys())
    if (!needed.has(path)) await store.remove(path)
  return gone
}
