import { useState } from 'preact/hooks'

import { act, type AuditList, type Job, type Overview, useAdmin } from '../../lib/admin.ts'
import { Confirm, Facts, Pager, Shown, showNumber, showWhen, Table } from './parts.tsx'

type Sanctions = Overview['sanctions'] | undefined

export function Jobs({ sanctions }: { sanctions: Sanctions }) {
  const asked = useAdmin<{ data: Job[] }>('/jobs', undefined, 1_500)
  return (
    <>
      <section class="card stack">
        <h2>Jobs</h2>
        <Shown asked={asked}>
          {({ data }: { data: Job[] }) => (
            <Table
              caption="What is done in the background"
              columns={['Job', 'State', 'Last run', 'Next run', '']}
              none="There is none."
              rows={data.map((job) => ({ key: job.name, cells: toCells(job) }))}
            />
          )}
        </Shown>
      </section>
      <section class="card">
        <h2>Sanctions list</h2>
        {sanctions ? (
          <Facts
            rows={[
              ['Published on', sanctions.publishedOn],
              ['Addresses', showNumber(sanctions.entryCount)],
              ['Confirmed', showWhen(sanctions.confirmedAt)],
              ['State', sanctions.isStale ? 'stale: it admits nobody' : 'current'],
            ]}
          />
        ) : (
          <p class="note">There is none (BOOKFEED_SANCTIONS_LIST).</p>
        )}
      </section>
    </>
  )
}

function toCells(job: Job) {
  const { name, about, isRunning, isFailed, canRun, outcome, endedAt, nextAt, progress } = job
  const run = (more: object = {}) => act<object>('/jobs/run', { name, ...more })
  return [
    <div>
      {name}
      <div class="note">{about}</div>
    </div>,
    isRunning ? (
      <div>
        <span class="tag live">running</span>
        {progress && (
          <>
            <progress
              value={progress.done}
              max={progress.total}
              aria-label={`Progress of ${name}`}
            />
            <div class="note">
              {showNumber(progress.done)} of {showNumber(progress.total)}
            </div>
          </>
        )}
      </div>
    ) : (
      <div>
        {outcome !== null && isFailed && <span class="tag down">failed</span>}{' '}
        {outcome ?? 'not yet'}
      </div>
    ),
    showWhen(endedAt),
    showWhen(nextAt),
    canRun ? (
      <div class="row">
        <button type="button" class="button small" disabled={isRunning} onClick={() => run()}>
          Run now<span class="sr">: {name}</span>
        </button>
        {name === 'sanctions-list' && isFailed && (
          <Confirm
            name="Accept loss"
            title="Take a list that lacks many addresses?"
            onConfirm={() => run({ acceptLoss: 'yes' })}
          >
            <p>Only after a delisting that you know of: check the list first.</p>
          </Confirm>
        )}
      </div>
    ) : (
      ''
    ),
  ]
}

export function Audit() {
  const [before, setBefore] = useState<number>()
  const asked = useAdmin<AuditList>('/audit', { before: before?.toString() })
  return (
    <section class="card stack">
      <h2>Audit log</h2>
      <Shown asked={asked}>
        {({ data, next, head }: AuditList) => (
          <>
            <p class="note mono">Head: {head ?? 'none'}. Note it elsewhere.</p>
            <Table
              caption="What was done, newest first"
              columns={['No.', 'Time', 'Actor', 'Action', 'Subject', 'State']}
              none="Nothing was done yet."
              rows={data.map(({ seq, time, actor, action, subject, state }) => ({
                key: String(seq),
                cells: [
                  ...[seq, showWhen(time), actor, action, <code>{subject}</code>],
                  <details>
                    <summary>show</summary>
                    <code>{state}</code>
                  </details>,
                ],
              }))}
            />
            <Pager isFirst={before === undefined} next={next} onTurn={setBefore} />
          </>
        )}
      </Shown>
    </section>
  )
}

const commands = `sqlite3 data/history.db "VACUUM INTO 'history-backup.db'"
sqlite3 data/ledger.db "VACUUM INTO 'ledger-backup.db'"`

/** The server makes none yet, so nothing is shown but how they are made. */
export const Backups = () => (
  <section class="card">
    <h2>Backups</h2>
    <p>
      The server makes none by itself. With SQLite 3.51.3 or newer, these may run while it serves:
    </p>
    <pre>{commands}</pre>
    <p class="note">
      The ledger is small and holds what cannot be recorded again: back it up often. To restore, put
      the files back while no process has them open.
    </p>
  </section>
)
