/** Backups, as the command and the server make them. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'

import { type BackupReport, makeBackup } from '#src/backup/backup.ts'
import { type BackupState, examineBackups } from '#src/backup/compare.ts'
import { type BackupStore, openStore } from '#src/backup/store.ts'
import { historyFormat, holdLock, ledgerFormat } from '#src/database/sqlite/database.ts'
import { parseBucketPlace } from '#src/platform/bucket-place.ts'

import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'
import { historyPathOf, ledgerPathOf } from './open-data-folder.ts'
import { roomFault } from './room.ts'

const LOW_PRIORITY = 10

const sourcesOf = (dataPath: string) =>
  [
    { name: 'ledger.db', path: ledgerPathOf(dataPath), format: ledgerFormat },
    { name: 'history.db', path: historyPathOf(dataPath), format: historyFormat },
  ].filter(({ path }) => existsSync(path))

/** Makes a backup and records it in the data folder. This process must not have the files open. */
export async function backUp(context: CliContext, where: string): Promise<BackupReport> {
  const { config, clock, version } = context
  const { dataPath } = config()
  const sources = sourcesOf(dataPath)
  if (sources.length === 0) {
    throw commandError(
      `There is nothing in ${dataPath} to back up. Set BOOKFEED_DATA to the folder of a server.`,
    )
  }
  using _lock = holdLock(
    join(dataPath, 'backup.lock'),
    `Another backup of ${dataPath} is being made. Wait for it.`,
  )
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  const startedMs = clock()
  const progress = await progressOf(context, 'backup')
  const report = await makeBackup({
    store: openPlace(context, where),
    sources,
    startedMs,
    version,
    onProgress: (done, total) => progress.update(done, done / total),
  }).finally(() => progress.end())
  const { name, damaged } = report
  const note: BackupNote = { name, place: where, startedMs, damaged: damaged.length }
  writeFileSync(noteOf(dataPath), JSON.stringify(note), { mode: 0o600 })
  return report
}

/** Loads the progress bar on demand, because every server schedules backups. */
export async function progressOf(context: CliContext, activity: string, unit = 'bytes') {
  const { createProgress } = await import('./progress.ts')
  return createProgress(context, activity, unit)
}

/** The last backup that was made. */
export type BackupNote = {
  name: string
  place: string
  startedMs: number
  /** The number of damaged blocks of older backups that were not stored again. */
  damaged?: number
}
const noteOf = (dataPath: string): string => join(dataPath, 'backup.json')

export function readBackupNote(dataPath: string): BackupNote | undefined {
  try {
    return JSON.parse(readFileSync(noteOf(dataPath), 'utf8')) as BackupNote
  } catch {
    return undefined
  }
}

/** Opens a place for backups. A write fails if the disk of its folder has no room. */
export const openPlace = (context: CliContext, where: string): BackupStore =>
  openStore(where, (folder) => {
    const fault = roomFault(context, existsSync(folder) ? folder : dirname(folder))
    if (fault !== undefined) throw fault
  })

/** The time limit of `examineQuickly` for reading blocks. */
const QUICK_MS = 2000

/**
 * The state of the backups of a place, the newest first. Blocks of a folder are read for two seconds
 * at most; blocks of a bucket are not read.
 */
export function examineQuickly(context: CliContext, where: string): Promise<BackupState[]> {
  const startedMs = performance.now()
  const isFolder = parseBucketPlace(where) === undefined
  const mayRead = () => isFolder && performance.now() - startedMs < QUICK_MS
  return examineBackups(openPlace(context, where), { mayRead })
}
