/** Automatic backups: of a server by the clock, and before files are upgraded. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { formatOf } from '#src/database/migrations.ts'
import {
  assertUnused,
  historyFormat,
  ledgerFormat,
  openDatabase,
  versionOf,
} from '#src/database/sqlite/database.ts'
import { isAddress } from '#src/database/stores.ts'
import { createReportedJob, type JobReport } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { backUp, readBackupNote } from './backups.ts'
import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'
import { historyOf, ledgerOf } from './open-data-folder.ts'
import { startTimer } from './server-jobs.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** A start has enough to do without one. */
const FIRST_MS = MINUTE_MS
const RETRY_MS = 10 * MINUTE_MS
/** More than a first copy takes; the next try goes on with what it has stored. */
const LIMIT_MS = 24 * HOUR_MS

/** Undefined where none are to be made. */
export function startBackups(
  context: CliContext,
  report?: JobReport,
  { firstMs = FIRST_MS, limitMs = LIMIT_MS } = {},
) {
  const { clock, config, printError } = context
  const { backupTo, backupHours, dataPath } = config()
  if (backupTo === '' || backupTo === 'off') return undefined
  const everyMs = backupHours * HOUR_MS
  let child: ReturnType<typeof spawn> | undefined
  let isDisposed = false

  function dueInMs(): number {
    const last = readBackupNote(dataPath)
    return last?.place === backupTo ? last.startedMs + everyMs - clock() : 0
  }
  const job = createReportedJob({ startTimer, clock, report }, async () => {
    // In a process of its own: see `frozen-file.ts`.
    child = spawn(context, ['backup'], limitMs)
    try {
      const outcome = await outcomeOf(child)
      if (outcome.includes('damaged')) printError(`bookfeed: ${outcome}`, 'error')
      return { outcome, waitMs: everyMs }
    } catch (error) {
      const outcome = messageOf(error)
      if (!isDisposed) printError(`bookfeed: no backup could be made: ${outcome}`, 'error')
      return { outcome, isFailed: true, waitMs: RETRY_MS }
    }
  })
  job.hasten(Math.min(Math.max(firstMs, dueInMs()), everyMs))
  return {
    async dispose(): Promise<void> {
      isDisposed = true
      child?.kill()
      await job.dispose()
    },
  }
}

/** Throws what a command says when it fails. */
export async function outcomeOf(child: ReturnType<typeof spawn>): Promise<string> {
  const [said = '', error = ''] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => new Response(stream).text()),
  )
  if ((await child.exited) === 0) return said.trim().split('\n')[0] ?? ''
  if (child.signalCode === 'SIGKILL') throw new Error('It was killed, or took too long.')
  throw new Error(
    error
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^bookfeed: /, ''),
  )
}

/** Runs a command of this program, also where it is one executable. */
export function spawn({ program, env }: CliContext, args: string[], timeout = 0) {
  const own = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, program]
  return Bun.spawn([...own, ...args], {
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // One that is stuck may not hear anything else.
    ...(timeout > 0 && { timeout, killSignal: 'SIGKILL' }),
  })
}

/**
 * Backs up the files if this program will change their format. Throws a `storage_unavailable` error
 * or a `command` fault, and leaves them as they are, while another process has them open, or if they
 * cannot be backed up.
 */
export async function backUpBeforeUpgrade(context: CliContext): Promise<void> {
  if (!isUpgradeDue(context)) return
  for (const { path, format } of filesOf(context)) assertUnused(path, format)
  const { backupTo, dataPath } = context.config()
  if (backupTo === 'off') return
  const place = backupTo || join(dataPath, 'backups')
  context.printError(`bookfeed: the files are of an older version. Backing them up in ${place}.`)
  try {
    const { name } = await backUp(context, place)
    context.printError(`bookfeed: ${name} is made. The files are being upgraded.`)
  } catch (cause) {
    throw commandError(
      `The files are of an older version, and were left as they are, because they cannot be backed up: ${messageOf(cause)} Set BOOKFEED_BACKUP_TO to a place with room, or to off to upgrade without a backup.`,
      { cause },
    )
  }
}

/** A file whose store is at an address is not used, and stays as it is. */
const filesOf = (context: CliContext) =>
  [
    { path: historyOf(context), format: historyFormat },
    { path: ledgerOf(context), format: ledgerFormat },
  ].filter(({ path }) => !isAddress(path) && existsSync(path))

function isUpgradeDue(context: CliContext): boolean {
  return filesOf(context).some(({ path, format }) => {
    try {
      const db = openDatabase(path, { format, isReadOnly: true })
      const version = versionOf(db)
      db.close()
      // A file that was made and not used is of format 0.
      return version > 0 && version < formatOf(format.migrations)
    } catch {
      // The command that opens it says what is wrong with it.
      return false
    }
  })
}
