/** A disk without room for some writes of a process, simulated by `strace`. */
import { join } from 'node:path'

/** The failing writes of each thread, numbered from 1. */
export type Failing = { first: number; last: number }

/** The written files: both databases and their logs. */
const files = ['history.db', 'history.db-wal', 'ledger.db', 'ledger.db-wal']

/**
 * The command that starts a server whose writes to the files of a folder fail (ENOSPC), and logs
 * each failure to a file; it becomes the process itself.
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
