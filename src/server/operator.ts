/** The operator's page: its access, and what this process knows of its jobs and files. */

import { statSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '#src/config/config.ts'
import type { Silences } from '#src/history/reads/with-downtime.ts'
import { createJobBoard } from '#src/operator/jobs.ts'
import { Fault } from '#src/platform/fault.ts'
import { isLoopbackAddress } from '#src/platform/network.ts'
import { readSecretFile } from '#src/platform/secret-file.ts'

import type { ActivityLog } from './activity.ts'
import type { CliContext, ServerExtension } from './extension.ts'
import { historyOf, ledgerOf } from './open-data-folder.ts'
import { readRecorderStatus } from './recorder-status.ts'
import { freeBytesOf } from './room.ts'
import { isLoopback } from './screening.ts'
import { silentRecorderSince } from './silences.ts'
import { verifyInWorker } from './verify-in-worker.ts'

const TOKEN = 'BOOKFEED_ADMIN_TOKEN'

/** Throws a `secret_file` fault and a `config` fault. */
export function readToken(setting: string): string {
  if (!setting.includes('/')) return setting
  const token = readSecretFile(setting, `The file of ${TOKEN}`)
  if (/^[\w~=-]{32,256}$/.test(token)) return token
  throw new Fault(`The file of ${TOKEN} must hold 32 to 256 letters, digits, _, -, ~ or =.`, {
    kind: 'config',
  })
}

/** True if requests come through a proxy on this machine, so that all seem to be local. */
function isProxied({ publicUrl, trustedProxies }: Config): boolean {
  const { hostname = 'localhost' } = URL.parse(publicUrl) ?? {}
  return trustedProxies.length > 0 || !(isLoopback(hostname) || isLoopbackAddress(hostname))
}

/** Undefined if the page is off. */
export function createOperator(
  context: CliContext,
  extensions: readonly ServerExtension[],
  { activity, silences }: { activity: Pick<ActivityLog, 'listUnwritten'>; silences: Silences },
) {
  const config = context.config()
  const { admin, dataPath, adminToken } = config
  if (admin === 'off') return undefined
  const jobs = createJobBoard(context.clock)
  const report = {
    list: jobs.add('sanctions-list', 'Fetches the sanctions list, every six hours.'),
    accounts: jobs.add('screening', 'Screens every account again, each day.'),
    reconciliation: jobs.add('reconciliation', 'Checks open payments on the chain.'),
    forgetting: jobs.add('forgetting', 'Deletes accounts that never paid, 30 days after use.'),
    backup: jobs.add('backup', 'Backs up both files to BOOKFEED_BACKUP_TO.'),
    retention: jobs.add(
      'retention',
      'Deletes the oldest markets beyond BOOKFEED_KEEP_DAYS and BOOKFEED_KEEP_GB.',
    ),
  }
  const ofExtensions = extensions.flatMap((extension) => extension.jobs ?? [])
  const reports = new Map(ofExtensions.map(({ name, about }) => [name, jobs.add(name, about)]))
  const verify = (verifies: 'history' | 'ledger', path: string) =>
    jobs.add(
      verifies === 'history' ? 'verify' : 'audit-verify',
      verifies === 'history'
        ? 'Re-reads the whole history, and reports damage.'
        : 'Re-reads the audit chain, and compares accounts, keys and tiers with it.',
      (job) => verifyInWorker(context, { verifies, path, dataPath, nowMs: context.clock() }, job),
    )
  verify('history', historyOf(context))
  verify('ledger', ledgerOf(context))
  const startedMs = context.clock()
  return {
    access: {
      token: readToken(adminToken),
      trustsLoopback: admin === 'loopback' || (admin === 'auto' && !isProxied(config)),
    },
    startedMs,
    jobs,
    report,
    /** The reports of extensions' jobs, by their name. */
    reports,
    recorder: () => readRecorderStatus(dataPath, context.clock()),
    silentMs: () => silentRecorderSince(silences()),
    disk: () => diskOf(dataPath),
    activity,
  }
}

const diskOf = (dataPath: string) => ({
  files: filesOf(dataPath),
  freeBytes: freeBytesOf(dataPath) ?? null,
})

const storeFiles = ['history.db', 'history.db-wal', 'ledger.db', 'ledger.db-wal']

/** The files with these names that exist in a folder, and their sizes. */
export const filesOf = (folder: string, names: readonly string[] = storeFiles) =>
  names.flatMap((name) => {
    const status = statSync(join(folder, name), { throwIfNoEntry: false })
    return status === undefined ? [] : [{ name, bytes: status.size }]
  })
