/** Files that hold one secret, read only if no other user can access them. */

import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

import { Fault } from './fault.ts'

/** Larger than any key; a wrong path may lead to any file. */
const BYTES_MAX = 1024
const OTHERS = 0o077

/**
 * Reads a secret and trims white space. Messages call the file `name`: the path itself may be a
 * secret that was put in the wrong place. Throws a `secret_file` fault.
 */
export function readSecretFile(path: string, name: string): string {
  const file = open(path)
  if (typeof file === 'string')
    throw new Fault(`${name} cannot be read (${file}).`, { kind: 'secret_file' })
  try {
    // Checks the open file, so that nothing can be swapped in after the check.
    const status = fstatSync(file)
    if (!status.isFile() || status.size > BYTES_MAX) {
      throw new Fault(`${name} must be a file that contains only a key.`, { kind: 'secret_file' })
    }
    if ((status.mode & OTHERS) === 0) return readFileSync(file, 'utf8').trim()
    const mode = (status.mode & 0o777).toString(8)
    throw new Fault(
      `${name} can be accessed by other users (mode ${mode}). Run chmod 600 on it; if others may have read it, use a new key.`,
      { kind: 'secret_file' },
    )
  } finally {
    closeSync(file)
  }
}

/** The open file, or the error code: the error itself would show the path. */
function open(path: string): number | string {
  try {
    // O_NONBLOCK: does not wait for a writer if the file is a pipe.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  }
}
