/** A disk that has no room for some writes of a process, which `strace` fails in its place. */
import { join } from 'node:path'

/** Of each thread by itself; numbers are of its writes, from 1 on. */
export type Failing = { first: number; last: number }

/** The files that are to be written: both databases and their logs. */
const files = ['history.db', 'history.db-wal', 'ledger.db', 'ledger.db-wal']

/**
 * The command that starts a server on a folder whose files cannot take these writes (ENOSPC), and
 * tells each that failed in a file; the process is its own.
 */
export const failingDisk = (folder: string, { first, last }: Failing, told: string): string[] => [
  'strace',
  '-D',
  '-f',
  '-qq',
  '-s',
  '0',
  '-e',
  'signal=none',
  '-o',
  told,
  ...files.flatMap((file) => ['-P', join(folder, file)]),
  '-e',
  'trace=pwrite64',
  '-e',
  'status=failed',
  '-e',
  `inject=pwrite64:error=ENOSPC:when=${first}..${last}`,
]
