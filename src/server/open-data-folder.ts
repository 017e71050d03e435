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
import { engineAt, isAddress, prepareStore, type StoreName } from '#src/database/stores.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { isFault } from '#src/platform/fault.ts'
import { describeFolderFault } from '#src/platform/folder.ts'
import type { JobLock } from '#src/platform/job.ts'
import { messageOf } from '#src/platform/message.ts'

import { commandError } from './command-end.ts'
import { type CliContext, historyOptionsOf } from './extension.ts'

export const historyPathOf = (dataPath: string): string => join(dataPath, 'history.db')
export const ledgerPathOf = (dataPath: string): string => join(dataPath, 'ledger.db')

type Configured = Pick<CliContext, 'config' | 'extensions'>

/** Where a store is in place of a file in the data folder; undefined where it is there. */
const addressOf = ({ config, extensions }: Configured, store: StoreName): string | undefined =>
  extensions.map(({ places }) => places?.(config())[store]).find((place) => place)

/** Where the books are: an address, or the file in the data folder. */
export const historyOf = (context: Configured): string =>
  addressOf(context, 'history') ?? historyPathOf(context.config().dataPath)
/** The same of the ledger. */
export const ledgerOf = (context: Configured): string =>
  addressOf(context, 'ledger') ?? ledgerPathOf(context.config().dataPath)

/** To be called before a store is opened. Where the configuration is wrong, that is said later. */
export async function prepareStores(context: Configured): Promise<void> {
  try {
    await prepareStore(historyOf(context), ledgerOf(context))
  } catch (error) {
    if (!isFault(error, 'config')) throw error
  }
}

/** Turns at a job on what several processes share; undefined where it is a file. */
export function jobLockFor(
  context: CliContext,
  store: StoreName,
  name: string,
): JobLock | undefined {
  const place = store === 'history' ? historyOf(context) : ledgerOf(context)
  const onFault = (error: Error): void =>
    context.printError(
      `bookfeed: the lock of ${name} cannot be taken: ${messageOf(error)}`,
      'error',
    )
  return engineAt(place)?.createJobLock({ place, store, name, onFault })
}

/** What another process writes, such as an import, shows after this at most. */
export const LAG_MS = 1

/**
 * Holds the data folder for a server or a recorder: one of each uses it at a time, and other
 * commands run beside them. Throws `storage_unavailable` while another process holds it.
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
 * Opens the history and the data folder, making both if absent. A server never waits for the disk in what
 * records and serves, and for another machine for seconds at most. A failure says what to change.
 */
export function openDataFolder(
  context: CliContext,
  purpose?: 'record' | 'serve',
): MarketHistory & Disposable {
  const { config, clock, printError, extensions } = context
  const { dataPath, chunkCacheBytes } = config()
  const place = historyOf(context)
  const ledger = ledgerOf(context)
  makeFolder(dataPath, (line) => printError(line, 'warn'))
  const history = openHistory(place, {
    chunkCacheBytes,
    lagMs: LAG_MS,
    clock,
    hasCheckpointThread: purpose !== undefined,
    ledgerPath: purpose === 'serve' && !isAddress(ledger) ? ledger : undefined,
    isServing: purpose === 'serve' && !isAddress(place),
    isRecording: purpose !== undefined,
    ...historyOptionsOf(config(), extensions),
  })
  return Object.assign(history, { [Symbol.dispose]: () => history.dispose() })
}

export function openLedgerFile(context: CliContext, purpose?: 'serve' | 'verify'): Ledger {
  const { config, clock } = context
  const place = ledgerOf(context)
  makeFolder(config().dataPath)
  const isServing = purpose === 'serve'
  const isAsItIs = purpose === 'verify'
  return openLedger(place, { nowMs: clock(), lagMs: LAG_MS, isServing, isAsItIs })
}

/**
 * Throws a `command` fault if there is no ledger yet. What is opened to be verified gets no row.
 */
export function openExistingLedger(context: CliContext, purpose?: 'verify'): Ledger {
  const place = ledgerOf(context)
  // Opening would make an empty one, which has no keys, is sound, and is not what was meant.
  if (!isAddress(place) && !existsSync(place)) {
    throw commandError(
      `There is no ledger in ${context.config().dataPath}. Set BOOKFEED_DATA to its folder; bookfeed serve and bookfeed keys create make one.`,
    )
  }
  return openLedgerFile(context, purpose)
}

/** A server opens both files, and warns once. */
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
/** Of a folder that belongs to all users, such as /tmp. */
const STICKY = 0o1000
const ourFiles = /^((history|ledger|chunks)\.db|(server|recorder)\.lock|clock\.txt)/

/** Keeps others out: the files, the WAL too, hold the key of cursors, digests of keys, and usage. */
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
