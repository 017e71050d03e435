/** What is wrong with a PostgreSQL: as code knows it, and what the operator reads and is to do. */
import { storageError } from '#src/database/database.ts'
import type { StoreName } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { isUntrusted, sentenceOf } from '#src/platform/message.ts'

/** `code` is the SQLSTATE, or the driver's own; with `isLost` the connection is gone. */
export type Failure = { message: string; code: string; isLost: boolean }

export const NO_ANSWER: Failure = {
  message: 'PostgreSQL does not answer.',
  code: 'timeout',
  isLost: true,
}

/** Of what the driver threw, and of an answer that did not come in time. */
export function failureOf(error: unknown): Failure {
  if (isFault(error, 'no_answer')) return NO_ANSWER
  const { message, code = '', errno } = error as Error & { code?: string; errno?: string }
  // Of the server: it has no connection left, an administrator ends this one, it stops, or this
  // process stood still within a transaction.
  const isLost = /CONNECTION|TIMEOUT/.test(code) || /^(08|25P0[34]|53300|57P)/.test(errno ?? '')
  return { message, code: errno ?? code, isLost }
}

/** By SQLSTATE: the message, where that of PostgreSQL does not do, and what is to be done about it. */
const faults: Partial<Record<string, { message?: string; advice: (variable: string) => string }>> =
  {
    '53100': {
      message: 'No room is left on the disk of the database. Free some space and try again.',
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
      message:
        'The schema belongs to another user, and the user of the database may not use it. It must own the schema.',
      advice: giveRight,
    },
    '42501': {
      message:
        'The user of the database lacks a right. It must own the schema, or may create it (GRANT CREATE ON DATABASE).',
      advice: giveRight,
    },
    '53300': {
      message:
        'The database has no connection left. Raise its max_connections, or run fewer servers.',
      advice: () => 'Raise max_connections, or run fewer servers and threads.',
    },
    '57P03': { advice: () => 'Wait until it has started, and read its log.' },
  }

function giveRight(variable: string): string {
  return `Name the owner of the schema in ${variable}, or give the user that right.`
}

const OTHER_CERTIFICATE =
  'This machine does not trust its certificate. If a private authority signed it, set BOOKFEED_CA_FILE to the file with the certificate of that authority.'
/** What a statement fails with, and a COMMIT does not, behind one that has failed. */
const IN_FAILED_TRANSACTION = '25P02'
export const NOTHING_KEPT = 'A statement of the transaction has failed, so nothing of it is kept.'
/** Conflicts, lack of something, locks, and what was cancelled: it may work another time. */
const passing = /^(40|53|55P03|57)/
const LOCK_TIMEOUT = '55P03'
export const FAILOVER = 'docs/scale.md#failover'

/** No number, so that the statement of `assertVersion` fails, and its message says which format it is. */
const OTHER_VERSION = 'format '
const otherVersion = new RegExp(`"${OTHER_VERSION}(\\d+)"`)

/** A statement that fails on tables of another format. */
export const assertVersion = (version: number): string =>
  `SELECT CAST(
    CASE version WHEN ${version} THEN '${version}' ELSE '${OTHER_VERSION}' || version END AS bigint)
    FROM format`

const toChanged = (format: string): string =>
  `Another version of bookfeed has changed the tables (format ${format}). This process writes nothing any more: replace it by that version.`

type FailureCause = Error & Pick<Failure, 'code' | 'isLost'>

/** What is thrown for a failure; `adviceOn` finds the code in its cause. */
export function errorOf({ message, code, isLost }: Failure): Error {
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
      `The database ${isLost ? 'cannot be reached' : 'did not do it'}: ${why} Try again in a moment.`,
      { retryAfterSeconds: SOON_SECONDS, cause },
    )
  }
  return Object.assign(new Error(`PostgreSQL: ${message}`), { code })
}

/**
 * What the operator is to do about a database that cannot be used; undefined where the message says
 * so itself.
 */
export function adviceOn(error: unknown, store: StoreName): string | undefined {
  const failure = failureIn(error)
  if (failure === undefined) return undefined
  const variable = `BOOKFEED_${store.toUpperCase()}`
  if (isUntrusted(failure.message)) return `Set BOOKFEED_CA_FILE, or correct ${variable}.`
  const known = faults[failure.code]
  if (known !== undefined) return known.advice(variable)
  if (!failure.isLost) return undefined
  return `Look from another machine first. If another one reaches it, promote nothing: correct ${variable}, or the network between. If none does, start it; if the primary is lost, let the standby take its place: ${FAILOVER}.`
}

function failureIn(error: unknown): FailureCause | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('isLost' in cause) return cause as FailureCause
  return undefined
}
