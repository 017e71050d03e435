/** The activity of servers in steps of five minutes: see `Ledger`. */
import { activity } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'

import type { Activity, LedgerReads, LedgerVerbs } from './ledger.ts'

type Stored = typeof activity.$inferSelect

export function createActivity(db: Database) {
  const sql = sqlOf(activity)
  const put = db.prepare<unknown, [Stored]>(
    `${sql.insert()} ON CONFLICT (step_ms, server) DO UPDATE SET ${sql.setExcluded([
      'requests',
      'errors',
      'durations',
      'problems',
      'recorderStartedMs',
      'recordedRows',
      'recorderLagMs',
    ])}`,
  )
  const removeBefore = db.prepare<unknown, [stepMs: number]>(
    'DELETE FROM activity WHERE step_ms < $1',
  )
  const listSince = db.prepare<Stored, [stepMs: number]>(
    `SELECT ${sql.columns()} FROM activity WHERE step_ms >= $1 ORDER BY step_ms, server`,
  )

  return {
    reads: {
      listActivity: (sinceMs) => listSince.all(sinceMs).map(toActivity),
    } satisfies Partial<LedgerReads>,

    counters: {
      putActivity(steps, keptSinceMs) {
        for (const { durations, problems, recorder, ...step } of steps)
          put.run({
            ...step,
            durations: JSON.stringify(durations),
            problems: JSON.stringify(problems),
            recorderStartedMs: recorder?.startedMs ?? null,
            recordedRows: recorder?.rows ?? 0,
            recorderLagMs: recorder?.lagMs ?? null,
          })
        removeBefore.run(keptSinceMs)
      },
    } satisfies Partial<LedgerVerbs>,
  }
}

const toActivity = ({ stepMs, server, requests, errors, ...row }: Stored): Activity => ({
  stepMs,
  server,
  requests,
  errors,
  durations: JSON.parse(row.durations),
  problems: JSON.parse(row.problems),
  recorder:
    row.recorderStartedMs === null
      ? undefined
      : {
          startedMs: row.recorderStartedMs,
          rows: row.recordedRows,
          lagMs: row.recorderLagMs ?? undefined,
        },
})
