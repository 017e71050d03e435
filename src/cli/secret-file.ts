/** Files with secrets: read only if nobody else can, and never shown. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'

import { codeOf } from '#src/lib/message.ts'

import { CliError } from './context.ts'

/** More than any key; a wrong path may lead to anything. */
const BYTES_MAX = 4096
const OTHERS = 0o077

/** Reads a file that holds one secret. `option` is what the path was given with. */
export function readSecretFile(path: string, option: string): string {
  const handle = open(path, option)
  try {
    // Asked of what is open: another file could be under the path by now.
    const status = fstatSync(handle)
    if (!status.isFile() || status.size > BYTES_MAX) {
      throw new CliError(`${option}: ${path} is not a file that holds a key.`)
    }
    if ((status.mode & OTHERS) !== 0) {
      throw new CliError(
        `${option}: others than its owner may use ${path}. Run: chmod 600 ${JSON.stringify(path)}`,
      )
    }
    return readFileSync(handle, 'utf8').trim()
  } finally {
    closeSync(handle)
  }
}

function open(path: string, option: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new CliError(`${option}: ${path} cannot be read (${codeOf(cause)}).`, { cause })
  }
}
