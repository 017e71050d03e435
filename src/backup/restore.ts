/**
 * Restores a backup into an empty folder. Every byte is compared first, and the restore is all or
 * nothing. On request, a database that is damaged in this backup is taken from the newest older
 * backup that has it intact, and left out if none has.
 */

import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

import { closeFile, type FileFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { Fault, isFault } from '#src/platform/fault.ts'

import { isReadFault } from './compare.ts'
import {
  type BackupFile,
  blockBytes,
  blockPath,
  BLOCKS,
  digestOf,
  findManifest,
  listBackups,
  type Manifest,
  readManifest,
} from './manifest.ts'
import { type BackupStore, syncFolder } from './store.ts'

/** Subfolder that exists until the restore has finished: no command uses its contents. */
export const RESTORING = 'restoring'

type Task = {
  store: BackupStore
  name: string
  folder: string
  formats: Readonly<Record<string, FileFormat>>
  /** Restores the intact databases even if others are damaged. */
  isPartial?: boolean
  onProgress?: (done: number, total: number) => void
}

export type RestoreReport = {
  /** Databases that were put in place. */
  restored: { name: string; backup: string; startedMs: number; version: string }[]
  /** Faults of the named backup, a sentence each. */
  faults: string[]
}

/** Throws a `backup` fault if nothing can be restored, and then leaves the folder unchanged. */
export async function restoreBackup(task: Task): Promise<RestoreReport> {
  const { folder, formats } = task
  const staging = join(folder, RESTORING)
  // Read first, so that an unknown backup creates no folder.
  await readManifest(task.store, task.name)
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 })
  assertEmpty(folder, formats)
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  const report = await fetchAll(task, staging).catch((error: unknown) => {
    // Removed at once, so that useless files do not fill the disk.
    rmSync(staging, { recursive: true, force: true })
    if (made !== undefined) removeFolders(folder, made)
    throw error instanceof Error && 'syscall' in error ? unwritten(folder, error) : error
  })
  for (const { name } of report.restored) renameSync(join(staging, name), join(folder, name))
  await syncFolder(folder)
  rmSync(staging, { recursive: true })
  return report
}

/** Removes a folder that was created, and its parents up to `made`. */
function removeFolders(folder: string, made: string): void {
  for (let path = resolve(folder); path.startsWith(resolve(made)); path = dirname(path))
    rmdirSync(path)
}

/** Leaves the databases in `staging`, each intact and without a log. */
async function fetchAll(task: Task, staging: string): Promise<RestoreReport> {
  const { store, name, formats, isPartial = false } = task
  const manifest = await readManifest(store, name)
  const known = await store.list(BLOCKS)
  const restored: RestoreReport['restored'] = []
  const faults: string[] = []
  for (const [database, format] of Object.entries(formats)) {
    if (!hasDatabase(manifest, database)) continue
    const fault = await fetchDatabase(task, manifest, database, known, staging)
    const source =
      fault === undefined ? { name, manifest } : await fetchOlder(task, database, known, staging)
    if (fault !== undefined) {
      faults.push(
        source === undefined
          ? `${database} is lost: ${fault} No backup in this location has a whole copy. See: bookfeed backup verify.`
          : `${database} of ${name} is damaged: ${fault} The newest older backup with a whole copy is ${source.name}.`,
      )
    }
    if (source === undefined) continue
    // Checkpoints the log into the file, and refuses a file that is not ours, or newer than this
    // program.
    const db = openDatabase(join(staging, database), { format, isAsItIs: true })
    closeFile(db)
    for (const beside of ['-wal', '-shm']) rmSync(join(staging, database + beside), { force: true })
    await syncFile(join(staging, database))
    const { startedMs, version } = source.manifest
    restored.push({ name: database, backup: source.name, startedMs, version })
  }
  if (restored.length === 0) throw new Fault(faults.join(' '), { kind: 'backup' })
  if (faults.length > 0 && !isPartial) {
    const found = restored
      .map((each) => `${each.name} as of ${new Date(each.startedMs).toISOString()}`)
      .join(', ')
    throw new Fault(
      `${faults.join(' ')} Nothing was put in place. To restore ${found}, add --partial.`,
      {
        kind: 'backup',
      },
    )
  }
  return { restored, faults }
}

const hasDatabase = ({ files }: Manifest, database: string): boolean =>
  files.some((file) => file.name === database)

/** The newest older backup in which a database is intact; leaves the database in `staging`. */
async function fetchOlder(
  task: Task,
  database: string,
  known: ReadonlyMap<string, number>,
  staging: string,
): Promise<{ name: string; manifest: Manifest } | undefined> {
  const { store } = task
  for (const name of await listBackups(store)) {
    if (name >= task.name) continue
    const manifest = await findManifest(store, name)
    if (manifest === undefined || !hasDatabase(manifest, database)) continue
    const fault = await fetchDatabase(task, manifest, database, known, staging)
    if (fault === undefined) return { name, manifest }
  }
  return undefined
}

/**
 * Fetches a database and its log. If they are damaged, returns the fault and leaves no files.
 * `known` holds the sizes of the blocks in the place.
 */
async function fetchDatabase(
  task: Task,
  manifest: Manifest,
  database: string,
  known: ReadonlyMap<string, number>,
  staging: string,
): Promise<string | undefined> {
  const parts = manifest.files.filter(({ name }) => name === database || name === `${database}-wal`)
  try {
    for (const part of parts) await fetchFile(task, part, known, staging)
    return undefined
  } catch (error) {
    if (!isFault(error, 'damage')) throw error
    for (const { name } of parts) rmSync(join(staging, name), { force: true })
    return error.message
  }
}

const unwritten = (folder: string, cause: Error): Fault =>
  new Fault(
    `${folder} cannot be written (${cause.message}), and nothing was put in place. Make room, or choose another folder with BOOKFEED_DATA, and run the restore again.`,
    { kind: 'backup', cause },
  )

/** A restore that was killed may have put one of the files in place. */
function assertEmpty(folder: string, formats: Task['formats']): void {
  const isUnfinished = existsSync(join(folder, RESTORING))
  const isOurs = (name: string): boolean =>
    name === RESTORING || name === 'lost+found' || (isUnfinished && name in formats)
  if (readdirSync(folder).every(isOurs)) return
  throw new Fault(
    `${folder} is not empty. Set BOOKFEED_DATA to a new folder; existing files are never overwritten.`,
    { kind: 'backup' },
  )
}

async function fetchFile(
  { store, onProgress }: Task,
  file: BackupFile,
  known: ReadonlyMap<string, number>,
  staging: string,
): Promise<void> {
  const whole = new Bun.CryptoHasher('sha256')
  const target = await open(join(staging, file.name), 'wx', 0o600)
  try {
    let done = 0
    for (const [index, digest] of file.blocks.entries()) {
      const length = blockBytes(file.bytes, index)
      if (known.get(blockPath(digest)) === undefined)
        throw new Fault(`Block ${digest} of ${file.name} is missing.`, { kind: 'damage' })
      const block = await getBlock(store, digest)
      if (block?.length !== length || digestOf(block) !== digest)
        throw new Fault(`Block ${digest} of ${file.name} is damaged in the backup.`, {
          kind: 'damage',
        })
      whole.update(block)
      await target.writeFile(block)
      done += block.length
      onProgress?.(done, file.bytes)
    }
    await target.sync()
  } finally {
    await target.close()
  }
  if (whole.digest('hex') === file.sha256) return
  throw new Fault(`${file.name} does not match its SHA-256 in the backup.`, { kind: 'damage' })
}

/** Undefined if the disk of the place cannot read it. */
const getBlock = (store: BackupStore, digest: string): Promise<Uint8Array | undefined> =>
  store.get(blockPath(digest)).catch((error: unknown) => {
    if (isReadFault(error)) return undefined
    throw error
  })

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}
