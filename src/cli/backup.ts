import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'

import { Command } from 'commander'

import { type BackupReport, makeBackup, pruneBackups } from '#src/backup/backup.ts'
import { listBackups, readManifest } from '#src/backup/manifest.ts'
import { openStore } from '#src/backup/open-store.ts'
import { restoreBackup } from '#src/backup/restore.ts'
import type { BackupStore } from '#src/backup/store.ts'
import { toIso } from '#src/core/time.ts'
import { type FileFormat, historyFormat, holdLock, ledgerFormat } from '#src/sqlite/database.ts'

import { count, printTable, renderJson } from './command-line.ts'
import { type CliContext, CliError, usageError } from './context.ts'
import { asTyped } from './invocation.ts'
import { historyPathOf, ledgerPathOf } from './open-data-folder.ts'
import { roomFault } from './room.ts'

const LOW_PRIORITY = 10

const formats: Readonly<Record<string, FileFormat>> = {
  'history.db': historyFormat,
  'ledger.db': ledgerFormat,
}

const help = `
Both files are copied as they are at one moment, in blocks of 4 MiB; a block that the place has already
is not stored again. A server and a recorder may go on: nobody waits for it. What was stored by a
backup that did not finish is used by the next one. After it, all but the newest BOOKFEED_BACKUP_KEEP
are deleted.

A server with BOOKFEED_BACKUP_TO makes one every BOOKFEED_BACKUP_HOURS by itself.

Examples:
  bookfeed backup --to /mnt/backups/bookfeed
  S3_ENDPOINT=https://s3.example.com bookfeed backup --to s3://bucket/bookfeed
  bookfeed backup list

Exit code: 0 when there is a new backup, 1 when there is none.`

const restoreHelp = `
Everything is fetched and compared with its SHA-256 before any file is put in place. Nothing is ever
written over: BOOKFEED_DATA must be empty or absent. A restore that was killed is run again.

Examples:
  BOOKFEED_DATA=./restored bookfeed restore --from s3://bucket/bookfeed
  BOOKFEED_DATA=./restored bookfeed verify
  BOOKFEED_DATA=./restored bookfeed audit verify`

const place: [string, string] = [
  '<place>',
  'a folder or s3://bucket/prefix; BOOKFEED_BACKUP_TO if it is not given',
]

export function backupCommand(context: CliContext): Command {
  const backup = new Command('backup')
    .description('back up the data folder, also while a server runs on it')
    .option(`--to ${place[0]}`, place[1])
    .addHelpText('after', help)
    .action(({ to }: { to?: string }) => backupNow(context, to))
  backup
    .command('list')
    .description('list the backups of a place, the newest first')
    .option(`--from ${place[0]}`, place[1])
    .option('--json', 'print a JSON array')
    .action((flags: { from?: string; json?: true }) => list(context, flags))
  return backup
}

export const restoreCommand = (context: CliContext): Command =>
  new Command('restore')
    .description('put a backup into an empty data folder')
    .option(`--from ${place[0]}`, place[1])
    .option('--backup <name>', 'which one, as backup list names it; the newest if it is not given')
    .addHelpText('after', restoreHelp)
    .action((flags: { from?: string; backup?: string }) => restore(context, flags))

const sourcesOf = (dataPath: string) =>
  [
    { name: 'ledger.db', path: ledgerPathOf(dataPath), format: ledgerFormat },
    { name: 'history.db', path: historyPathOf(dataPath), format: historyFormat },
  ].filter(({ path }) => existsSync(path))

async function backupNow(context: CliContext, to: string | undefined): Promise<void> {
  const where = placeOf(context, to)
  const report = await backUp(context, where)
  context.print(describe(report, where))
  const { backupsKept } = context.config()
  const gone = await pruneBackups(open(context, where), backupsKept)
  if (gone.length > 0) context.print(`${count(gone.length, 'older backup')} deleted.`)
}

/** Makes a backup and notes it in the data folder. This process must not have the files open. */
export async function backUp(context: CliContext, where: string): Promise<BackupReport> {
  const { config, clock, version } = context
  const { dataPath } = config()
  const sources = sourcesOf(dataPath)
  if (sources.length === 0) {
    throw new CliError(`There is nothing in ${dataPath} to back up. Set BOOKFEED_DATA.`)
  }
  using _lock = holdLock(
    join(dataPath, 'backup.lock'),
    `Another backup of ${dataPath} is being made. Wait for it.`,
  )
  if (process.platform === 'linux') setPriority(LOW_PRIORITY)
  const startedMs = clock()
  const progress = await progressOf(context, 'backup')
  const report = await makeBackup({
    ...{ store: open(context, where), sources, startedMs, version },
    onProgress: (done, total) => progress.update(done, done / total),
  }).finally(() => progress.end())
  const note: BackupNote = { name: report.name, place: where, startedMs }
  writeFileSync(noteOf(dataPath), JSON.stringify(note), { mode: 0o600 })
  return report
}

const describe = ({ name, bytes, newBytes, files }: BackupReport, where: string): string =>
  `${name} in ${where}: ${files.map(({ name: file }) => file).join(', ')}, ${count(bytes, 'byte')}, of which ${count(newBytes, 'byte')} were new.`

/** Its bar is loaded when it is needed: each server schedules backups. */
async function progressOf(context: CliContext, activity: string) {
  const { createProgress } = await import('./progress.ts')
  return createProgress(context, activity, 'bytes')
}

/** Of the last backup that was made. */
export type BackupNote = { name: string; place: string; startedMs: number }
const noteOf = (dataPath: string): string => join(dataPath, 'backup.json')

export function readBackupNote(dataPath: string): BackupNote | undefined {
  try {
    return JSON.parse(readFileSync(noteOf(dataPath), 'utf8')) as BackupNote
  } catch {
    return undefined
  }
}

function placeOf({ config }: CliContext, given: string | undefined): string {
  const { backupTo } = config()
  const found = given ?? (backupTo === 'off' ? '' : backupTo)
  if (found !== '') return found
  throw usageError('Name a folder or s3://bucket/prefix, or set BOOKFEED_BACKUP_TO.')
}

/** A folder is not filled; its parent's disk is that of one that is not there yet. */
const open = (context: CliContext, where: string): BackupStore =>
  openStore(where, (folder) => {
    const fault = roomFault(context, existsSync(folder) ? folder : dirname(folder))
    if (fault !== undefined) throw fault
  })

async function list(context: CliContext, { from, json }: { from?: string; json?: true }) {
  const store = open(context, placeOf(context, from))
  const found = []
  for (const name of await listBackups(store)) {
    const { startedMs, version, files } = await readManifest(store, name)
    const parts = files.map(({ blocks: _, ...file }) => file)
    found.push({ name, time: toIso(startedMs), version, files: parts })
  }
  if (json) {
    context.print(renderJson(found))
    return
  }
  printTable(
    context,
    ['backup', 'time', 'version', 'bytes'],
    found.map(({ name, time, version, files }) => {
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return [name, time, version, String(bytes)]
    }),
  )
}

async function restore(context: CliContext, flags: { from?: string; backup?: string }) {
  const { dataPath: folder } = context.config()
  const where = placeOf(context, flags.from)
  const store = open(context, where)
  const names = await listBackups(store)
  const name = flags.backup ?? names[0]
  if (name === undefined || !names.includes(name)) {
    throw new CliError(`There is no ${name ?? 'backup'} in ${where}. See: bookfeed backup list`)
  }
  const progress = await progressOf(context, 'restore')
  const { startedMs, version, files } = await restoreBackup({
    ...{ store, name, folder, formats },
    onProgress: (done, total) => progress.update(done, done / total),
  }).finally(() => progress.end())
  const sizes = files
    .filter((file) => file.name in formats)
    .map((file) => `${file.name} (${count(statSync(join(folder, file.name)).size, 'byte')})`)
  context.print(`${folder} is as of ${toIso(startedMs)}: ${sizes.join(', ')}, by ${version}.`)
  const check = 'Check it: bookfeed verify, and bookfeed audit verify with the head you noted.'
  context.print(asTyped(check, context.invocation))
}
