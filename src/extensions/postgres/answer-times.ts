/** How long PostgreSQL took to answer this process, by store. */
import type { StoreName } from '#src/database/stores.ts'
import { createAnswerTimes } from '#src/platform/answer-times.ts'

/** `commit` is the end of a transaction that a standby has to confirm, `read` everything else. */
export const operations = ['read', 'commit'] as const
export type Operation = (typeof operations)[number]

/** Of the first thread. The thread that copies writes into the memory of these. */
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

/** The same times in another thread. */
export const openTimes = ({ read, commit }: TimesMemory): StoreTimes => ({
  read: createAnswerTimes(read),
  commit: createAnswerTimes(commit),
})
