/** Results of the exports of each account, from all threads. */
import { type Clock, toIso } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'

import type { ExportBody } from './schema.ts'

/** Accounts whose exports are kept, and exports for each; about 500 bytes an export. */
const ACCOUNTS_MAX = 1000
const EXPORTS_MAX = 20

/** The current state of an export. */
export type ExportReport = { accountId: string; record: ExportBody }

export type ExportRecords = ReturnType<typeof createExportRecords>

export function createExportRecords(clock: Clock) {
  /** Newest first. */
  const accounts = createCache<string, ExportBody[]>(ACCOUNTS_MAX)
  /** Running exports by thread. */
  const running = new Map<number, Set<ExportBody>>()

  function note(record: ExportBody, thread: number): void {
    const own = running.get(thread) ?? new Set()
    running.set(thread, own)
    if (record.state === 'running') own.add(record)
    else own.delete(record)
  }

  return {
    /** Adds or updates an export. Beyond the newest, only running exports are kept. */
    put({ accountId, record }: ExportReport, thread = 0): void {
      const all = accounts.get(accountId) ?? []
      const known = all.find(({ exportId }) => exportId === record.exportId)
      if (known !== undefined) {
        note(Object.assign(known, record), thread)
        return
      }
      note(record, thread)
      const kept = all.filter(({ state }, at) => state === 'running' || at < EXPORTS_MAX - 1)
      accounts.set(accountId, [record, ...kept], { size: 1 })
    },

    /** Marks the exports of a thread that has ended. */
    endThread(thread: number): void {
      for (const record of running.get(thread) ?? [])
        Object.assign(record, { state: 'broken_off', endedAt: toIso(clock()) })
      running.delete(thread)
    },

    list: (accountId: string): ExportBody[] => accounts.get(accountId) ?? [],
  }
}
