/** Puts a backup back: into an empty folder, and only after every byte of it was compared. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

import { type FileFormat, openDatabase } from '#src/sqlite/database.ts'

import { syncFolder } from './folder-store.ts'
import {
  type BackupFile,
  blockBytes,
  blockPath,
  digestOf,
  type Manifest,
  readManifest,
} from './manifest.ts'
import { BackupFault, type BackupStore } from './store.ts'

/** In the folder, as long as the restore is not finished: no command uses what is there. */
export const RESTORING = 'restoring'

type Task = {
  store: BackupStore
  name: string
  folder: string
  formats: Readonly<Record<string, FileFormat>>
  onProgress?: (done: number, total: number) => void
}

/** Throws `BackupFault`, and leaves the folder as it was. */
export async function restoreBackup(task: Task): Promise<Manifest> {
  const { store, name, folder, formats } = task
  const manifest = await readManifest(store, name)
  const staging = join(folder, RESTORING)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  assertEmpty(folder, formats)
  rmSync(staging, { recursive: true, force: true })
  mkdirSync(staging, { mode: 0o700 })
  const databases = await fetchAll(task, manifest, staging).catch((error: unknown) => {
    // What takes up the last room helps nobody.
    rmSync(staging, { recursive: true, force: true })
    throw error instanceof Error && 'syscall' in error ? unwritten(folder, error) : error
  })
  for (const each of databases) renameSync(join(staging, each), join(folder, each))
  await syncFolder(folder)
  rmSync(staging, { recursive: true })
  return manifest
}

/** Returns the names of the databases that are whole, and without a log. */
async function fetchAll(task: Task, { files }: Manifest, staging: string): Promise<string[]> {
  for (const file of files) await fetchFile(task, file, staging)
  const databases = Object.entries(task.formats).filter(([each]) => existsSync(join(staging, each)))
  for (const [each, format] of databases) {
    // Brings the log into the file, and refuses what is not ours, or newer than this program.
    const db = openDatabase(join(staging, each), { format, isAsItIs: true })
    db.engine.close(db)
    for (const beside of ['-wal', '-shm']) rmSync(join(staging, each + beside), { force: true })
    await syncFile(join(staging, each))
  }
  return databases.map(([each]) => each)
}

const unwritten = (folder: string, cause: Error): BackupFault =>
  new BackupFault(
    `${folder} cannot be written (${cause.message}), and nothing was put in place. Make room, or choose another folder with BOOKFEED_DATA, and run it again.`,
    { cause },
  )

/** A restore that was killed may have put one of the files in place. */
function assertEmpty(folder: string, formats: Task['formats']): void {
  const isUnfinished = existsSync(join(folder, RESTORING))
  const isOurs = (name: string): boolean =>
    name === RESTORING || name === 'lost+found' || (isUnfinished && name in formats)
  if (readdirSync(folder).every(isOurs)) return
  throw new BackupFault(
    `${folder} is not empty. Set BOOKFEED_DATA to a new folder; nothing is ever written over.`,
  )
}

async function fetchFile({ store, onProgress }: Task, file: BackupFile, staging: string) {
  const whole = new Bun.CryptoHasher('sha256')
  const target = await open(join(staging, file.name), 'wx', 0o600)
  try {
    let done = 0
    for (const [index, digest] of file.blocks.entries()) {
      const block = await store.get(blockPath(digest))
      if (block.length !== blockBytes(file.bytes, index) || digestOf(block) !== digest)
        throw new BackupFault(
          `Block ${digest} of ${file.name} is damaged where it is kept. Use another backup: bookfeed backup list.`,
        )
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
  throw new BackupFault(`${file.name} is not what the backup says it is. Use another backup.`)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}
