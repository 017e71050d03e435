/** Room on a disk. Work that can wait stops before the disk is full, so that payments never must. */

import { statfsSync } from 'node:fs'

import { type Fault, isFault } from '#src/platform/fault.ts'

import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'

const LOOK_MS = 1000
const MIB = 1024 * 1024

/** Undefined if the system does not report it; then the disk is not watched. */
export function freeBytesOf(path: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return undefined
  }
}

/** The fault of a folder whose disk has less room than it must keep; undefined if it has enough. */
export function roomFault({ config }: CliContext, folder: string): Fault | undefined {
  const { freeBytesMin } = config()
  const free = freeBytesOf(folder)
  if (free === undefined || free >= freeBytesMin) return undefined
  return commandError(
    `Less than ${Math.round(freeBytesMin / MIB)} MiB (BOOKFEED_FREE_MB) are free for ${folder}. Free space, or use another disk; then run the same command again.`,
  )
}

/** As `stopSignal`, and also aborted if the data folder has no room, with the fault as reason. */
export function workSignal(context: CliContext): Disposable & { signal: AbortSignal } {
  const end = new AbortController()
  const look = (): void => {
    const fault = roomFault(context, context.config().dataPath)
    if (fault !== undefined) end.abort(fault)
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  const forget = context.onStop(() => end.abort())
  return {
    signal: end.signal,
    [Symbol.dispose]() {
      clearInterval(timer)
      forget()
    },
  }
}

/** Throws the fault that ended the work, if any. */
export function assertRoomLeft({ aborted, reason }: AbortSignal): void {
  if (aborted && isFault(reason, 'command', 'usage')) throw reason
}
