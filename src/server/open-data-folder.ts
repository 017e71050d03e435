import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'

import { RESTORING } from '#src/backup/restore.ts'
import { holdLock } from '#src/database/sqlite/database.ts'
import { engineOf, type StoreName, type StorePlace } from '#src/database/stores.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistoryAt } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedgerAt } from '#src/ledger/open.ts'
import { describeFolderFault } from '#src/platform/folder.ts'
import type { JobLock } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { commandError } from './command-end.ts'
import { type CliContext, historyOptionsOf } from './extension.ts'

export const historyPathOf = (dataPath: string): string => join(dataPath, 'history.db')
export const ledgerPathOf = (dataPath: string): string => join(dataPath, 'ledger.db')

type Configured = Pick<CliContext, 'config' | 'extensions'>

/** The place of a store: a file in the data folder, or a copy there of a database at an address. */
export function placeOf({ config, extensions }: Configured, store: StoreName): StorePlace {
  const address = extensions.map(({ places }) => places?.(config())[store]).find((place) => place)
  const name = address === undefined ? `${store}.db` : `replica-${store}.db`
  return { store, path: join(config().dataPath, name), address }
}

/** The file of the books. */
export const historyOf = (context: Configured): string => placeOf(context, 'history').path
/** The file of the ledger. */
export const ledgerOf = (context: Configured): string => placeOf(context, 'ledger').path

/** True if several processes may share the store. */
export const isShared = (context: Configured, store: StoreName): boolean =>
  placeOf(context, store).address !== undefined

/** The lock of a job on a store that several processes share; undefined if it is a file. */
export function jobLockFor(
  context: CliContext,
  store: StoreName,
  name: string,
): JobLock | undefined {
  const place = placeOf(context, store)
  const onFault = (error: Error): void =>
    context.printError(
      `bookfeed: the lock of ${name} cannot be taken: ${messageOf(error)}`,
      'error',
    )
  const { address } = place
  return address === undefined
    ? undefined
    : engineOf(place)?.createJobLock({ place: { ...place, address }, name, onFault })
}

/** The maximum delay until writes of another process, such as an import, are visible. */
export const LAG_MS = 1

/**
 * Locks the data folder for a server or a recorder: at most one of each uses it at a time. Other
 * commands run beside them. Throws `storage_unavailable` while another process holds the lock.
 */
export function holdDataFolder(context: CliContext, user: 'server' | 'recorder'): Disposable {
  const { dataPath } = context.config()
  makeFolder(dataPath)
  return holdLock(
    join(dataPath, `${user}.lock`),
    `Another ${user} uses the data folder ${dataPath}. Stop it, or set BOOKFEED_DATA to another folder.`,
  )
}

/**
 * Opens the history, and creates it and the data folder if they are absent. A process that records
 * or serves never waits for the disk, and waits for another machine for a few seconds at most. A
 * failure says what to change.
 */
export async function openDataFolder(
  context: CliContext,
  purpose?: 'record' | 'serve',
): Promise<MarketHistory & Disposable & AsyncDisposable> {
  const { config, clock, printError, extensions } = context
  const { dataPath, chunkCacheBytes } = config()
  const place = placeOf(context, 'history')
  makeFolder(dataPath, (line) => printError(line, 'warn'))
  const history = await openHistoryAt(place, {
    chunkCacheBytes,
    lagMs: LAG_MS,
    clock,
    hasCheckpointThread: purpose !== undefined,
    ledgerPath: purpose === 'serve' ? ledgerOf(context) : undefined,
    isServing: purpose === 'serve',
    isRecording: purpose !== undefined,
    say: printError,
    ...historyOptionsOf(config(), extensions),
  })
  return Object.assign(history, { [Symbol.dispose]: () => history.dispose() })
}

export async function openLedgerFile(
  context: CliContext,
  purpose?: 'serve' | 'verify',
): Promise<Ledger & AsyncDisposable> {
  const { config, clock } = context
  makeFolder(config().dataPath)
  const isServing = purpose === 'serve'
  const isAsItIs = purpose === 'verify'
  return openLedgerAt(placeOf(context, 'ledger'), {
    nowMs: clock(),
    lagMs: LAG_MS,
    isServing,
    isAsItIs,
  })
}

/** Rejects with a `command` fault if there is no ledger. To verify it, it is opened unchanged. */
export async function openExistingLedger(context: CliContext, purpose?: 'verify'): Promise<Ledger> {
  // Opening would create an empty ledger, which the caller did not mean.
  if (!isShared(context, 'ledger') && !existsSync(ledgerOf(context))) {
    throw commandError(
      `There is no ledger in ${context.config().dataPath}. Set BOOKFEED_DATA to its folder; bookfeed serve and bookfeed keys create make one.`,
    )
  }
  return openLedgerFile(context, purpose)
}

/** Creates the data folder if it is absent, and checks that it can be written. */
function makeFolder(dataPath: string, warn: (message: string) => void = () => {}): void {
  if (existsSync(join(dataPath, RESTORING))) {
    throw commandError(
      `The restore into ${dataPath} did not finish. Run bookfeed restore again, or empty the folder.`,
    )
  }
  try {
    keepPrivate(dataPath, warn)
    accessSync(dataPath, constants.W_OK)
  } catch (cause) {
    const message = `Cannot write to the data folder ${dataPath} (${describeFolderFault(dataPath, cause)}). Set BOOKFEED_DATA to a folder that this user may write to.`
    throw commandError(message, { cause })
  }
}

const OTHERS = 0o077
/** The mode of a folder that belongs to all users, such as /tmp. */
const STICKY = 0o1000
const ourFiles = /^((history|ledger|chunks)\.db|(server|recorder)\.lock|clock\.txt)/

/** Removes permissions of other users: the files contain the cursor key, digests of keys and usage. */
function keepPrivate(folder: string, warn: (message: string) => void): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const paths = readdirSync(folder).filter((name) => ourFiles.test(name))
  for (const path of [folder, ...paths.map((name) => join(folder, name))]) {
    try {
      const { mode } = statSync(path)
      if ((mode & OTHERS) === 0) continue
      if ((mode & STICKY) !== 0) throw new Error('all users can write to it')
      chmodSync(path, mode & 0o7777 & ~OTHERS)
    } catch (error) {
      warn(`Other users can access ${path} (${messageOf(error)}). Remove their permissions.`)
    }
  }
}
