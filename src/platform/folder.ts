import { statSync } from 'node:fs'

import { codeOf, messageOf } from './message.ts'

/** True if the path exists and is not a folder. */
export const isFile = (path: string): boolean => {
  try {
    return !statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** The reason why a folder cannot be made or used, for the parentheses of a message. */
export function describeFolderFault(folder: string, cause: unknown): string {
  if (isFile(folder)) return 'it is a file'
  return codeOf(cause) === 'ENOTDIR' ? 'a part of its path is a file' : messageOf(cause)
}
