/** What became of the exports of the last while, so that whoever took one can check it. */
import { type Clock, toIso } from '#src/core/time.ts'
import { createCache } from '#src/lib/cache.ts'

import type { ExportBody, Format } from './model.ts'
import type { Progress } from './source.ts'

/** Accounts whose exports are remembered, and how many of each; about 500 bytes an export. */
const ACCOUNTS_MAX = 1000
const EXPORTS_MAX = 20

type Plan = { name: string; format: Format; contentEncoding: 'gzip' | null }

export type ExportRecord = Plan & {
  exportId: string
  state: ExportBody['state']
  progress: Progress
  bytes: number
  sha256: string | null
  startedMs: number
  endedMs: number | undefined
}

/** Keeps the newest records of each account in memory. */
export function createExportRecords({ clock, mint }: { clock: Clock; mint: () => string }) {
  const records = createCache<string, ExportRecord[]>(ACCOUNTS_MAX)

  return {
    /** Names an export that is not listed yet. */
    create: (plan: Plan): ExportRecord => ({
      ...plan,
      exportId: `exp_${mint()}`,
      state: 'running',
      progress: { snapshots: 0 },
      bytes: 0,
      sha256: null,
      startedMs: clock(),
      endedMs: undefined,
    }),

    /** Lists an export whose first byte is asked for; beyond the newest only those that run stay. */
    begin(accountId: string, record: ExportRecord): void {
      const older = records.get(accountId) ?? []
      const kept = older.filter(({ state }, at) => state === 'running' || at < EXPORTS_MAX - 1)
      records.set(accountId, [record, ...kept], { size: 1 })
    },

    end(record: ExportRecord, sha256: string | undefined): void {
      record.state = sha256 === undefined ? 'broken_off' : 'complete'
      record.sha256 = sha256 ?? null
      record.endedMs = clock()
    },

    /** Those of an account, newest first. */
    list: (accountId: string): ExportBody[] => (records.get(accountId) ?? []).map(toBody),
  }
}

export type ExportRecords = ReturnType<typeof createExportRecords>

const toBody = (record: ExportRecord): ExportBody => ({
  exportId: record.exportId,
  name: record.name,
  state: record.state,
  format: record.format,
  contentEncoding: record.contentEncoding,
  snapshots: record.progress.snapshots,
  bytes: record.bytes,
  sha256: record.sha256,
  startedAt: toIso(record.startedMs),
  endedAt: record.endedMs === undefined ? null : toIso(record.endedMs),
})
