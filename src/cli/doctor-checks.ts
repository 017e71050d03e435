/** The checks of `bookfeed doctor` on this machine. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

import { CONVERT } from '#src/database/database.ts'
import { formatOf } from '#src/database/migrations.ts'
import {
  type FileFormat,
  historyFormat,
  ledgerFormat,
  openDatabase,
  versionOf,
} from '#src/database/sqlite/database.ts'
import { loadEngine, type StoreName } from '#src/database/stores.ts'
import { openHistory } from '#src/history/open.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { messageOf } from '#src/platform/message.ts'

import { examineQuickly, readBackupNote } from '../server/backups.ts'
import { type CliContext, finder, type Finding } from '../server/extension.ts'
import { historyOf, ledgerOf, placeOf } from '../server/open-data-folder.ts'
import { readRecorderStatus } from '../server/recorder-status.ts'
import { freeBytesOf } from '../server/room.ts'

const HOUR_MS = 3_600_000
const MIB = 1024 * 1024

const OTHERS = 0o077
const ours = /^(history|ledger)\.db|^(recorder|backup)\.|^(backups|restoring|files)$/

export function checkPermissions(folder: string): Finding[] {
  const found = finder('permissions')
  if (!existsSync(folder)) return [found('skipped', `${folder} is made at the first start.`)]
  const names = readdirSync(folder).filter((name) => ours.test(name))
  const paths = [folder, ...names.map((name) => join(folder, name))].filter(existsSync)
  const open = paths.filter((path) => (statSync(path).mode & OTHERS) !== 0)
  const others = paths.filter((path) => statSync(path).uid !== process.getuid?.())
  return [
    ...open.map((path) => {
      const mode = (statSync(path).mode & 0o777).toString(8)
      const right = statSync(path).isDirectory() ? '700' : '600'
      return found(
        'wrong',
        `Other users can access ${path} (mode ${mode}).`,
        `chmod ${right} ${path}`,
      )
    }),
    ...others.map((path) =>
      found(
        'warning',
        `${path} belongs to another user.`,
        `Run bookfeed as that user, or change the owner with chown.`,
      ),
    ),
    ...(open.length + others.length === 0
      ? [found('ok', 'Only the owner can access the data.')]
      : []),
  ]
}

/** Each account, key and payment waits for such a write. */
const SYNC_ROUNDS = 16
const SYNC_MS_MAX = 50

export function checkDisk(folder: string, freeBytesMin: number): Finding[] {
  const free = freeBytesOf(existsSync(folder) ? folder : '.')
  if (free === undefined) return [finder('disk')('skipped', 'The free space is unknown.')]
  const room = checkRoom(free, freeBytesMin)
  if (!existsSync(folder)) return [room]
  return [room, checkSpeed(folder)]
}

function checkRoom(free: number, freeBytesMin: number): Finding {
  const found = finder('disk')
  const text = `${formatCount(Math.floor(free / MIB))} MiB are free`
  const todo = 'Free space, or delete the oldest markets: bookfeed prune --help.'
  if (free < freeBytesMin)
    return found('wrong', `${text}, less than BOOKFEED_FREE_MB: nothing is recorded.`, todo)
  if (free >= 2 * freeBytesMin) return found('ok', `${text}.`)
  return found('warning', `${text}, hardly more than BOOKFEED_FREE_MB.`, todo)
}

function checkSpeed(folder: string): Finding {
  const found = finder('disk')
  const path = join(folder, 'doctor.tmp')
  try {
    const file = openSync(path, 'w', 0o600)
    const times: number[] = []
    for (let round = 0; round < SYNC_ROUNDS; round++) {
      const startedMs = performance.now()
      writeSync(file, new Uint8Array(4096), 0, 4096, round * 4096)
      fsyncSync(file)
      times.push(performance.now() - startedMs)
    }
    closeSync(file)
    const median = times.sort((a, b) => a - b)[SYNC_ROUNDS / 2] ?? 0
    const text = `A write that survives a power cut takes ${median.toFixed(1)} ms.`
    if (median <= SYNC_MS_MAX) return found('ok', text)
    return found(
      'warning',
      text,
      'Put the data on a faster disk: each sale waits for several such writes.',
    )
  } catch (error) {
    const todo = 'Let this user write the folder, or set BOOKFEED_DATA.'
    return found('wrong', `${folder} cannot be written (${messageOf(error)}).`, todo)
  } finally {
    removeQuietly(path)
  }
}

/** Removes a file; on a read-only disk there is nothing to remove. */
function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The finding reports the fault already.
  }
}

export async function checkHistory(context: CliContext): Promise<Finding> {
  const fault = await checkAddress(context, 'history')
  if (fault !== undefined) return fault
  const path = historyOf(context)
  return checkStore('history', { path, format: historyFormat }, () => {
    const history = openHistory(path, { isReadOnly: true, chunkCacheBytes: 0 })
    try {
      const { markets, snapshots } = history.totals()
      findExampleMarket(history)
      return `${count(snapshots, 'snapshot')} of ${count(markets, 'market')}. bookfeed verify re-reads all of them.`
    } finally {
      history.dispose()
    }
  })
}

/** Checks the ledger; `ledger` is undefined if there is none or it could not be opened. */
export async function checkLedger(
  context: CliContext,
  ledger: Ledger | undefined,
): Promise<Finding> {
  const fault = await checkAddress(context, 'ledger')
  if (fault !== undefined) return fault
  const place = ledger?.movedTo()
  if (place !== undefined) {
    const todo = 'Set BOOKFEED_LEDGER or BOOKFEED_DATA to the copy.'
    return finder('ledger')('wrong', `It was copied to ${place}, which is used in its place.`, todo)
  }
  return checkStore('ledger', { path: ledgerOf(context), format: ledgerFormat }, () => {
    // Throws the fault that prevented opening again.
    const held =
      ledger ?? openLedger(ledgerOf(context), { nowMs: context.clock(), isReadOnly: true })
    try {
      const faults = [...held.verifyAudit()]
      if (faults.length > 0) throw new Error(faults.slice(0, 3).join(' '))
      const head = held.auditHead()
      return head ? `${count(head.seq, 'audited change')}, head ${head.seq}:${head.hash}.` : 'New.'
    } finally {
      if (held !== ledger) held.dispose()
    }
  })
}

/** Checks the store at an address; undefined if none is configured. */
async function checkAddress(context: CliContext, store: StoreName): Promise<Finding | undefined> {
  const { address, ...place } = placeOf(context, store)
  if (address === undefined) return undefined
  const engine = await loadEngine()
  try {
    await engine.examine({ ...place, address })
    return undefined
  } catch (error) {
    return finder(store)('wrong', messageOf(error), engine.adviceOn(error, store))
  }
}

/** Checks a store; `look` describes its contents and throws any fault. */
function checkStore(
  check: 'history' | 'ledger',
  { path, format }: { path: string; format: FileFormat },
  look: () => string,
): Finding {
  const found = finder(check)
  const unopened = (error: unknown, todo: string | undefined): Finding => {
    const text = messageOf(error)
    // The text already contains the action.
    return found('wrong', text, text.includes(CONVERT) ? undefined : todo)
  }
  if (!existsSync(path)) return found('skipped', `${path} is made at the first start.`)
  try {
    const db = openDatabase(path, { format, isReadOnly: true })
    const version = versionOf(db)
    db.close()
    const known = formatOf(format.migrations)
    if (version < known) {
      return found(
        'warning',
        `${path} has format ${version}, and this release ${known}: the next start brings it up to date after a backup, or, above 10 GB, bookfeed migrate --backed-up.`,
      )
    }
    return found('ok', look())
  } catch (error) {
    if (!isWritable(dirname(path))) {
      const todo =
        'Let this user write the folder: SQLite keeps its log and its locks beside the file.'
      return found('wrong', `${path} cannot be opened in a read-only folder.`, todo)
    }
    return unopened(error, 'Stop all writers, and restore a backup: bookfeed restore --help.')
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

export async function checkBackup(context: CliContext): Promise<Finding[]> {
  const { backupTo, dataPath } = context.config()
  const isByHand = backupTo === '' || backupTo === 'off'
  const place = isByHand ? readBackupNote(dataPath)?.place : backupTo
  const age = checkBackupAge(context)
  return place === undefined ? [age] : [age, ...(await checkBackupPlace(context, place))]
}

/**
 * Checks a place of backups. Blocks of a folder are read for at most two seconds; see
 * `examineQuickly`.
 */
async function checkBackupPlace(context: CliContext, place: string): Promise<Finding[]> {
  const found = finder('backup')
  const repair =
    'Run bookfeed backup, which stores damaged blocks again, and bookfeed backup verify.'
  try {
    const states = await examineQuickly(context, place)
    const bad = states.filter(({ faults }) => faults.length > 0)
    const [first] = bad
    if (first !== undefined) {
      const text = `${bad.length} of ${count(states.length, 'backup')} in ${place} ${bad.length === 1 ? 'is' : 'are'} damaged: ${first.name}: ${first.faults.join('; ')}.`
      return [found(first === states[0] ? 'wrong' : 'warning', text, repair)]
    }
    if (states.length === 0) return []
    const isRead = states.every(({ isCompared }) => isCompared)
    const text = isRead
      ? `Every block of ${count(states.length, 'backup')} in ${place} is sound.`
      : `All blocks of ${count(states.length, 'backup')} in ${place} exist; bookfeed backup verify reads all of them.`
    return [found('ok', text)]
  } catch (error) {
    return [found('wrong', messageOf(error), 'Check the location, and BOOKFEED_BACKUP_TO.')]
  }
}

function checkBackupAge({ config, clock }: CliContext): Finding {
  const found = finder('backup')
  const { backupTo, backupHours, dataPath } = config()
  const note = readBackupNote(dataPath)
  const isByHand = backupTo === '' || backupTo === 'off'
  const last = isByHand || note?.place === backupTo ? note : undefined
  const hours = last && Math.floor((clock() - last.startedMs) / HOUR_MS)
  const text = last
    ? `${last.name} in ${last.place} is ${count(hours ?? 0, 'hour')} old.`
    : `There is no backup of this folder${isByHand ? '' : ` in ${backupTo}`}.`
  if (isByHand) {
    if (last !== undefined) return found('ok', `${text} No server makes backups.`)
    return found('warning', text, 'Set BOOKFEED_BACKUP_TO, or run bookfeed backup regularly.')
  }
  if (hours !== undefined && hours <= 2 * backupHours) return found('ok', text)
  return found(
    last === undefined ? 'warning' : 'wrong',
    text,
    'Run bookfeed backup, and read its output. A server with BOOKFEED_BACKUP_TO makes backups on its own.',
  )
}

export function checkRecorder({ config, clock }: CliContext): Finding {
  const found = finder('recorder')
  const status = readRecorderStatus(config().dataPath, clock())
  if (status === undefined) return found('skipped', 'No recorder runs on this folder.')
  const see = 'bookfeed status shows more.'
  if (status.fault !== undefined) return found('wrong', status.fault, see)
  if (status.warning !== undefined) return found('warning', status.warning, see)
  return found('ok', `${count(status.markets.length, 'market')} recorded now.`)
}
