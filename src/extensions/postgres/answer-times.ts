/** Response times of PostgreSQL in this process, by store. */
import type { StoreName } from '#src/database/stores.ts'
import { createAnswerTimes } from '#src/platform/answer-times.ts'

/**
 * `commit` is the end of a transaction, which a standby may have to confirm; `read` is everything
 * else.
 */
export const operations = ['read', 'commit'] as const
export type Operation = (typeof operations)[number]

/** Times of the first thread. The copying thread writes into their memory. */
export const answerTimes = {
  history: { read: createAnswerTimes(), commit: createAnswerTimes() },
  ledger: { read: createAnswerTimes(), commit: createAnswerTimes() },
} satisfies Record<StoreName, unknown>

export type StoreTimes = (typeof answerTimes)[StoreName]
export type TimesMemory = Record<Operation, SharedArrayBuffer>

export const memoryOf = ({ read, commit }: StoreTimes): TimesMemory => ({
  read: read.memory,
  commit: commit.memory,
})

/** Opens the times of another thread. */
export const openTimes = ({ read, commit }: TimesMemory): StoreTimes => ({
  read: createAnswerTimes(read),
  commit: createAnswerTimes(commit),
})
