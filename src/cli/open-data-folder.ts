import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import type { HistoryStore } from '#src/store/history.ts'
import { openHistory } from '#src/store/open.ts'

import { type CliContext, CliError } from './context.ts'

/** The file of the history in a data folder. */
export const historyPathOf = (dataPath: string): string => join(dataPath, 'history.db')

/** What another process writes, such as an import, shows after a millisecond at most. */
const LAG_MS = 1

/** Opens the history in the data folder, making both if absent. A failure says what to change. */
export function openDataFolder({ config }: CliContext): HistoryStore {
  const { dataPath, chunkCacheBytes } = config()
  try {
    mkdirSync(dataPath, { recursive: true })
    accessSync(dataPath, constants.W_OK)
  } catch (cause) {
    const message = `Cannot write to the data folder ${dataPath} (${toReason(cause)}). Set BOOKFEED_DATA to a folder that this user may write to.`
    throw new CliError(message, { cause })
  }
  return openHistory(historyPathOf(dataPath), { chunkCacheBytes, lagMs: LAG_MS })
}

const toReason = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
