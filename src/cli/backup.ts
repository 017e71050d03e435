import { statSync } from 'node:fs'
import { join } from 'node:path'

import { Command } from 'commander'

import { type BackupReport, pruneBackups } from '#src/backup/backup.ts'
import { type BackupState, examineBackups } from '#src/backup/compare.ts'
import { listBackups } from '#src/backup/manifest.ts'
import { restoreBackup } from '#src/backup/restore.ts'
import { variables } from '#src/config/variables.ts'
import { type FileFormat, historyFormat, ledgerFormat } from '#src/database/sqlite/database.ts'
import { toIso } from '#src/domain/time.ts'
import { count } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'

import { backUp, examineQuickly, openPlace, progressOf } from '../server/backups.ts'
import { commandError, usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { asTyped } from '../server/invocation.ts'
import { printFaults, printTable, renderJson } from './command-line.ts'

const formats: Readonly<Record<string, FileFormat>> = {
  'history.db': historyFormat,
  'ledger.db': ledgerFormat,
}

const help = `
Copies both files as they are at one moment, in blocks of 4 MiB. A block that the location already has is not stored
again. Servers and recorders keep running without waiting. If a backup does not finish, the next one uses the blocks
that it stored. After a backup, all but the newest BOOKFEED_BACKUP_KEEP are deleted.

Each backup first reads back 1 GiB or an eighth of the stored blocks, whichever is more, so eight backups read all of
them. A damaged block is stored again if the files still contain it; otherwise it is reported.

A server with BOOKFEED_BACKUP_TO makes a backup every BOOKFEED_BACKUP_HOURS.

Examples:
  bookfeed backup --to /mnt/backups/bookfeed
  S3_ENDPOINT=https://s3.example.com bookfeed backup --to s3://bucket/bookfeed
  bookfeed backup list

Exit code: 0 if a new backup was made, 1 if not.`

const restoreHelp = `
Fetches everything and compares it with its SHA-256 before any file is put in place. Existing files are never
overwritten: BOOKFEED_DATA must be empty or absent. If a restore was killed, run it again.

If a file is damaged in the backup, nothing is put in place. With --partial, the other file is restored from it, and the
damaged one from the newest older backup that has a whole copy, if there is one; each is printed with its time. Keys
that were revoked after the backup are valid again.

Examples:
  BOOKFEED_DATA=./restored bookfeed restore --from s3://bucket/bookfeed
  BOOKFEED_DATA=./restored bookfeed verify
  BOOKFEED_DATA=./restored bookfeed audit verify

Exit code: 0 if files were put in place, both as of the backup unless --partial was given; 1 if nothing was.`

const place: [string, string] = [
  '<place>',
  'a folder or s3://bucket/prefix; default: BOOKFEED_BACKUP_TO',
]

export function backupCommand(context: CliContext): Command {
  const backup = new Command('backup')
    .description('back up the data folder, also while a server uses it')
    .option(`--to ${place[0]}`, place[1])
    .addHelpText('after', help)
    .action(({ to }: { to?: string }) => backupNow(context, to))
  // `backup list --to` selects the same backups as `--from`.
  const givenTo = (): string | undefined => backup.opts<{ to?: string }>().to
  backup
    .command('list')
    .description('list backups, newest first')
    .option(`--from ${place[0]}`, place[1])
    .option('--json', 'print a JSON array')
    .action(({ from, json }: { from?: string; json?: true }) =>
      list(context, { from: from ?? givenTo(), json }),
    )
  backup
    .command('verify')
    .description('read every block of every backup, and report damaged backups')
    .option(`--from ${place[0]}`, place[1])
    .action(({ from }: { from?: string }) => verify(context, { from: from ?? givenTo() }))
  return backup
}

export const restoreCommand = (context: CliContext): Command =>
  new Command('restore')
    .description('put a backup into an empty data folder')
    .option(`--from ${place[0]}`, place[1])
    .option('--backup <name>', 'name of the backup, as backup list prints it; default: the newest')
    .option('--partial', 'restore what is whole, although another file of the backup is damaged')
    .addHelpText('after', restoreHelp)
    .action((flags: RestoreFlags) => restore(context, flags))

async function backupNow(context: CliContext, to: string | undefined): Promise<void> {
  const where = placeOf(context, '--to', to)
  const report = await backUp(context, where)
  context.print(describe(report, where))
  const { backupsKept } = context.config()
  try {
    const gone = await pruneBackups(openPlace(context, where), backupsKept)
    if (gone.length > 0) context.print(`${count(gone.length, 'older backup')} deleted.`)
  } catch (error) {
    if (!isFault(error, 'backup')) throw error
    context.printError(`bookfeed: no older backup was deleted: ${error.message}`)
  }
}

function describe(report: BackupReport, where: string): string {
  const { name, bytes, newBytes, files, compared, repaired, damaged } = report
  const names = files.map(({ name: file }) => file).join(', ')
  const made = `${name} in ${where}: ${names}, ${count(bytes, 'byte')}, of which ${count(newBytes, 'byte')} were new.`
  const readBack = compared === 0 ? '' : ` ${count(compared, 'earlier block')} read back`
  const found = [
    ...(repaired > 0 ? [`${count(repaired, 'damaged block')} stored again`] : []),
    ...(damaged.length > 0
      ? [
          `${count(damaged.length, 'block')} of older backups damaged: see ${'bookfeed backup verify'}`,
        ]
      : []),
  ]
  const outcome = found.length === 0 ? 'all sound' : found.join(', ')
  return readBack === '' && found.length === 0 ? made : `${made}${readBack}: ${outcome}.`
}

function placeOf({ config }: CliContext, option: string, given: string | undefined): string {
  if (given !== undefined && variables.backupTo.parse(given) === undefined)
    throw usageError(`${option} must be a folder or s3://bucket/prefix.`)
  const { backupTo } = config()
  const found = given ?? (backupTo === 'off' ? '' : backupTo)
  if (found !== '') return found
  throw usageError(`Name a folder or s3://bucket/prefix with ${option}, or set BOOKFEED_BACKUP_TO.`)
}

function stateOf({ faults, isCompared }: BackupState): 'sound' | 'damaged' | 'not compared' {
  if (faults.length > 0) return 'damaged'
  return isCompared ? 'sound' : 'not compared'
}

async function list(
  context: CliContext,
  { from, json }: { from?: string | undefined; json?: true | undefined },
) {
  const states = await examineQuickly(context, placeOf(context, '--from', from))
  const found = states.map((each) => {
    const { name, manifest, faults } = each
    const files = manifest?.files.map(({ blocks: _, ...file }) => file) ?? []
    const time = manifest === undefined ? null : toIso(manifest.startedMs)
    return { name, time, version: manifest?.version ?? null, files, state: stateOf(each), faults }
  })
  if (json) {
    context.print(renderJson(found))
    return
  }
  printTable(
    context,
    ['backup', 'time', 'version', 'bytes', 'state'],
    found.map(({ name, time, version, files, state }) => {
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return [name, time ?? '', version ?? '', String(bytes), state]
    }),
  )
  for (const { name, faults } of found)
    for (const fault of faults) context.printError(`bookfeed: ${name}: ${fault}`)
}

/** Reads every block of every backup. */
async function verify(context: CliContext, { from }: { from?: string | undefined }): Promise<void> {
  const where = placeOf(context, '--from', from)
  const progress = await progressOf(context, 'backup verify', 'blocks')
  const states = await examineBackups(openPlace(context, where), {
    mayRead: () => true,
    onProgress: (done, total) => progress.update(done, done / total),
  }).finally(() => progress.end())
  const faults = states.flatMap(({ name, faults: own }) => own.map((fault) => `${name}: ${fault}`))
  if (printFaults(context, faults) > 0)
    throw commandError(
      `${count(faults.length, 'fault')} in ${count(states.length, 'backup')} of ${where}. If the files still contain a damaged block, a new backup stores it again: bookfeed backup`,
    )
  context.print(`sound: ${count(states.length, 'backup')} of ${where}`)
}

type RestoreFlags = { from?: string; backup?: string; partial?: true }

async function restore(context: CliContext, flags: RestoreFlags) {
  const { dataPath: folder } = context.config()
  const where = placeOf(context, '--from', flags.from)
  const store = openPlace(context, where)
  const names = await listBackups(store)
  const name = flags.backup ?? names[0]
  if (name === undefined || !names.includes(name)) {
    throw commandError(`There is no ${name ?? 'backup'} in ${where}. See: bookfeed backup list`)
  }
  const progress = await progressOf(context, 'restore')
  const { restored, faults } = await restoreBackup({
    store,
    name,
    folder,
    formats,
    isPartial: flags.partial === true,
    onProgress: (done, total) => progress.update(done, done / total),
  }).finally(() => progress.end())
  for (const fault of faults) context.printError(`warning: ${fault}`)
  for (const { name: file, startedMs, version } of restored) {
    const bytes = count(statSync(join(folder, file)).size, 'byte')
    context.print(`${folder}: ${file} is as of ${toIso(startedMs)} (${bytes}), by ${version}.`)
  }
  const ledger = restored.find((each) => each.name === 'ledger.db')
  if (ledger !== undefined) {
    const time = toIso(ledger.startedMs)
    const keys = `Keys that were revoked after ${time} are valid again: revoke them with bookfeed keys revoke. Keys that were made later do not exist.`
    context.print(asTyped(keys, context))
  }
  const check =
    'Check the restored data: bookfeed verify, and bookfeed audit verify with the head that you stored.'
  context.print(asTyped(check, context))
}
