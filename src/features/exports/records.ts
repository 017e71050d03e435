/** What became of the exports of each account, whichever thread sends them. */
import { type Clock, toIso } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'

import type { ExportBody } from './schema.ts'

/** Accounts whose exports are remembered, and how many of each; about 500 bytes an export. */
const ACCOUNTS_MAX = 1000
const EXPORTS_MAX = 20

/** An export as it is now. */
export type ExportReport = { accountId: string; record: ExportBody }

export type ExportRecords = ReturnType<typeof createExportRecords>

export function createExportRecords(clock: Clock) {
  /** Newest first. */
  const accounts = createCache<string, ExportBody[]>(ACCOUNTS_MAX)
  /** Those that run, by thread. */
  const running = new Map<number, Set<ExportBody>>()

  function note(record: ExportBody, thread: number): void {
    const own = running.get(thread) ?? new Set()
    running.set(thread, own)
    if (record.state === 'running') own.add(record)
    else own.delete(record)
  }

  return {
    /** Lists an export, or what is known of it now; beyond the newest only those that run stay. */
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

    /** A thread has ended, and with it what it was sending. */
    endThread(thread: number): void {
      for (const record of running.get(thread) ?? [])
        Object.assign(record, { state: 'broken_off', endedAt: toIso(clock()) })
      running.delete(thread)
    },

    list: (accountId: string): ExportBody[] => accounts.get(accountId) ?? [],
  }
}
