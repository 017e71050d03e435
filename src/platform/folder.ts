import { statSync } from 'node:fs'

import { codeOf, messageOf } from './message.ts'

/** Whether something is at the path that is no folder. */
export const isFile = (path: string): boolean => {
  try {
    return !statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Why a folder cannot be made or used, for the parentheses of a message. */
export function describeFolderFault(folder: string, cause: unknown): string {
  if (isFile(folder)) return 'it is a file'
  return codeOf(cause) === 'ENOTDIR' ? 'a part of its path is a file' : messageOf(cause)
}
