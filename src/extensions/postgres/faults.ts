/**
 * Errors of PostgreSQL: their kind for code, their message for callers, and advice for the
 * operator.
 */
import { codeOf, diskFaultOf, storageError } from '#src/database/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import { type AppError, SOON_SECONDS } from '#src/domain/errors.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { isUntrusted, sentenceOf } from '#src/platform/message.ts'

/**
 * `code` is an SQLSTATE, a code of the driver or a code of SQLite; `isLost` means that the
 * connection is gone.
 */
export type Failure = { message: string; code: string; isLost: boolean }

export const NO_ANSWER: Failure = {
  message: 'PostgreSQL does not answer.',
  code: 'timeout',
  isLost: true,
}

/** Describes an error of the driver or of SQLite, or a timeout. */
export function failureOf(error: unknown): Failure {
  if (isFault(error, 'no_answer')) return NO_ANSWER
  const { message, code = '', errno } = error as Error & { code?: string; errno?: string }
  // Errors of SQLite, which has the copy, have a number `errno`.
  if (codeOf(error) !== '') return { message, code, isLost: false }
  // Errors of the server: too many connections, ended by an administrator, shutdown, or idle within
  // a transaction.
  const isLost = /CONNECTION|TIMEOUT/.test(code) || /^(08|25P0[34]|53300|57P)/.test(errno ?? '')
  return { message, code: errno ?? code, isLost }
}

/** By SQLSTATE: a clearer message, if needed, and advice. */
const faults: Partial<Record<string, { message?: string; advice: (variable: string) => string }>> =
  {
    '53100': {
      message: 'The disk of the database is full. Free some space and try again.',
      advice: () => 'Free some space on the disk of the database, or enlarge it.',
    },
    '25006': {
      message: 'The database is read-only. Use the address of the primary.',
      advice: (variable) => `Point ${variable} to the primary.`,
    },
    '28P01': {
      message: 'The database refuses the password.',
      advice: (variable) => `Correct the password in ${variable}.`,
    },
    '28000': {
      message: 'The database refuses the user.',
      advice: (variable) =>
        `Correct the user in ${variable}, or allow this machine in pg_hba.conf.`,
    },
    '3D000': {
      message: 'There is no such database. Create it first.',
      advice: (variable) => `Create the database, or correct ${variable}.`,
    },
    '3F000': {
      message: 'The schema belongs to another user. The user of the database must own the schema.',
      advice: giveRight,
    },
    '42501': {
      message:
        'The user of the database lacks a right: it must own the schema or be allowed to create it (GRANT CREATE ON DATABASE).',
      advice: giveRight,
    },
    '53300': {
      message:
        'The database has no free connection. Raise its max_connections, or run fewer servers.',
      advice: () => 'Raise max_connections, or run fewer servers and threads.',
    },
    '57P03': { advice: () => 'Wait until it has started, and read its log.' },
  }

function giveRight(variable: string): string {
  return `Name the owner of the schema in ${variable}, or give the user that right.`
}

const OTHER_CERTIFICATE =
  'This machine does not trust the certificate of the database. If a private authority signed it, set BOOKFEED_CA_FILE to the certificate of that authority.'
/** After a failed statement, further statements fail with this code; a COMMIT does not. */
const IN_FAILED_TRANSACTION = '25P02'
export const NOTHING_KEPT =
  'A statement of the transaction has failed, so the transaction was rolled back.'
/** Conflicts, lack of resources, locks and cancellations: a retry may succeed. */
const passing = /^(40|53|55P03|57)/
const LOCK_TIMEOUT = '55P03'
export const FAILOVER = 'docs/scale.md#failover'

/**
 * Not a number, so the statement of `assertVersion` fails with a message that contains the format.
 */
const OTHER_VERSION = 'format '
const otherVersion = new RegExp(`"${OTHER_VERSION}(\\d+)"`)

/** A statement that fails if the tables have another format. */
export const assertVersion = (version: number): string =>
  `SELECT CAST(
    CASE version WHEN ${version} THEN '${version}' ELSE '${OTHER_VERSION}' || version END AS bigint)
    FROM format`

const toChanged = (format: string): string =>
  `Another version of bookfeed has changed the tables (format ${format}). This process no longer writes: replace it with that version.`

const DAMAGED_COPY =
  'It is damaged. Stop all processes that use the folder, delete replica-history.db and replica-ledger.db, and start again: both are then copied again.'

/**
 * The fault for an error of SQLite, and so of the copy in the data folder of this machine.
 * Undefined if none of the error's causes is from SQLite.
 */
export function copyFaultIn(error: unknown, folder = 'the data folder'): AppError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = codeOf(cause)
    if (code === '') continue
    const isDamaged = code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB'
    const why = isDamaged ? DAMAGED_COPY : (diskFaultOf(cause) ?? sentenceOf(cause))
    return storageError(`The copy in ${folder} cannot be used: ${why}`, { cause })
  }
  return undefined
}

type FailureCause = Error & Pick<Failure, 'code' | 'isLost'>

/** Error for a failure; `adviceOn` finds the code in its cause. */
export function errorOf({ message, code, isLost }: Failure): Error {
  const ofCopy = copyFaultIn(Object.assign(new Error(message), { code }))
  if (ofCopy !== undefined) return ofCopy
  if (code === IN_FAILED_TRANSACTION) return Object.assign(new Error(NOTHING_KEPT), { code })
  if (code === 'XX001' || code === 'XX002')
    return new Fault(`PostgreSQL: ${message}`, { kind: 'damage' })
  const cause: FailureCause = Object.assign(new Error(message), { code, isLost })
  const known = isUntrusted(message) ? OTHER_CERTIFICATE : faults[code]?.message
  if (known !== undefined) return storageError(known, { cause })
  const format = code === '22P02' && otherVersion.exec(message)?.[1]
  if (format) return storageError(toChanged(format))
  if (isLost || passing.test(code)) {
    const why =
      code === LOCK_TIMEOUT
        ? 'Another transaction holds a lock that this one needs.'
        : sentenceOf(message)
    return storageError(
      `The database ${isLost ? 'cannot be reached' : 'failed'}: ${why} Try again in a moment.`,
      { retryAfterSeconds: SOON_SECONDS, cause },
    )
  }
  return Object.assign(new Error(`PostgreSQL: ${message}`), { code })
}

/** Advice for the operator about an unusable database; undefined if the message has it. */
export function adviceOn(error: unknown, store: StoreName): string | undefined {
  const failure = failureIn(error)
  if (failure === undefined) return undefined
  const variable = `BOOKFEED_${store.toUpperCase()}`
  if (isUntrusted(failure.message)) return `Set BOOKFEED_CA_FILE, or correct ${variable}.`
  const known = faults[failure.code]
  if (known !== undefined) return known.advice(variable)
  if (!failure.isLost) return undefined
  return `Check from another machine first. If the database answers there, do not promote a standby: correct ${variable}, or the network. If it does not, start it; if the primary is lost, promote the standby: ${FAILOVER}.`
}

function failureIn(error: unknown): FailureCause | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('isLost' in cause) return cause as FailureCause
  return undefined
}
