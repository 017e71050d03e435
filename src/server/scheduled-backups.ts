/** Automatic backups: by the clock beside a server, and before files are upgraded. */

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { formatOf } from '#src/database/migrations.ts'
import {
  assertUnused,
  formatOfFile,
  historyFormat,
  ledgerFormat,
} from '#src/database/sqlite/database.ts'
import { createReportedJob, type JobReport, startTimer } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { backUp, readBackupNote } from './backups.ts'
import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'
import { placeOf } from './open-data-folder.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** The first backup does not delay the start. */
const FIRST_MS = MINUTE_MS
const RETRY_MS = 10 * MINUTE_MS
/** Longer than a first copy takes; the next try continues with the blocks that it has stored. */
const LIMIT_MS = 24 * HOUR_MS
const GB = 1e9
/** A start waits for the backup, so larger files are backed up only on the operator's request. */
const UPGRADE_BYTES_MAX = 10 * GB

/** Starts the job; undefined if no backups are configured. */
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
    // A separate process: see `frozen-file.ts`.
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

/** Returns the first line of a command's output; throws the last line of its errors. */
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

/** Runs a command of this program. */
export function spawn({ program, env }: CliContext, args: string[], timeout = 0) {
  const own = Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, program]
  return Bun.spawn([...own, ...args], {
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // A process that hangs may not handle SIGTERM.
    ...(timeout > 0 && { timeout, killSignal: 'SIGKILL' }),
  })
}

/**
 * Backs up the files if this program will change their format. If another process has them open, if
 * they are larger than `bytesMax`, or if they cannot be backed up, throws a `storage_unavailable`
 * error or a `command` fault, and leaves them as they are.
 */
export async function backUpBeforeUpgrade(
  context: CliContext,
  { bytesMax = UPGRADE_BYTES_MAX } = {},
): Promise<void> {
  if (!isUpgradeDue(context)) return
  for (const { path, format } of filesOf(context)) assertUnused(path, format)
  const { backupTo, dataPath } = context.config()
  if (backupTo === 'off') return
  const bytes = filesOf(context).reduce((sum, { path }) => sum + statSync(path).size, 0)
  if (bytes > bytesMax) {
    throw commandError(
      `The files are of an older version, and were left as they are: with ${(bytes / GB).toFixed(1)} GB they are too large to be backed up at a start. Run bookfeed backup --to PLACE, then bookfeed migrate --backed-up.`,
    )
  }
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

/** The files of stores that are not in a database. */
const filesOf = (context: CliContext) =>
  [
    { ...placeOf(context, 'history'), format: historyFormat },
    { ...placeOf(context, 'ledger'), format: ledgerFormat },
  ].filter(({ path, address }) => address === undefined && existsSync(path))

function isUpgradeDue(context: CliContext): boolean {
  return filesOf(context).some(({ path, format }) => {
    try {
      const version = formatOfFile(path, format)
      return version > 0 && version < formatOf(format.migrations)
    } catch {
      // The command that opens the file reports the fault.
      return false
    }
  })
}
