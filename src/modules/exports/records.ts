/** What became of the exports of the last while, so that whoever took one can check it. */
import { type Clock, toIso } from '#src/core/time.ts'
import { createCache } from '#src/lib/cache.ts'

import type { ExportBody } from './model.ts'

/** Accounts whose exports are remembered, and how many of each; about 500 bytes an export. */
const ACCOUNTS_MAX = 1000
const EXPORTS_MAX = 20

type Plan = Pick<ExportBody, 'name' | 'format' | 'contentEncoding'>

/** Keeps the newest records of each account in memory. */
export function createExportRecords({ clock, mint }: { clock: Clock; mint: () => string }) {
  const records = createCache<string, ExportBody[]>(ACCOUNTS_MAX)

  return {
    /** Names an export that is not listed yet; whoever makes it counts in it what it sends. */
    create: ({ name, format, contentEncoding }: Plan): ExportBody => ({
      exportId: `exp_${mint()}`,
      name,
      state: 'running',
      format,
      contentEncoding,
      snapshots: 0,
      bytes: 0,
      sha256: null,
      startedAt: toIso(clock()),
      endedAt: null,
    }),

    /**
     * Lists an export whose first byte is asked for; beyond the newest only those that run stay.
     */
    begin(accountId: string, record: ExportBody): void {
      const older = records.get(accountId) ?? []
      const kept = older.filter(({ state }, at) => state === 'running' || at < EXPORTS_MAX - 1)
      records.set(accountId, [record, ...kept], { size: 1 })
    },

    end(record: ExportBody, sha256: string | undefined): void {
      record.state = sha256 === undefined ? 'broken_off' : 'complete'
      record.sha256 = sha256 ?? null
      record.endedAt = toIso(clock())
    },

    /** Those of an account, newest first. */
    list: (accountId: string): ExportBody[] => records.get(accountId) ?? [],
  }
}
