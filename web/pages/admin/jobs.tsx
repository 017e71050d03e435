import { useState } from 'preact/hooks'

import {
  act,
  type AuditList,
  isProblem,
  type Job,
  type Overview,
  useAdmin,
} from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { showCount, showStamp } from '../../lib/format.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Pager, Records } from '../../parts/records.tsx'
import { Confirm, Name, Shown } from './parts.tsx'

type Sanctions = Overview['sanctions'] | undefined

type JobTableProps = { caption: string; isShown?: (job: Job) => boolean }

function JobTable({ caption, isShown = () => true }: JobTableProps) {
  const asked = useAdmin<{ data: Job[] }>('/jobs', undefined, 1_500)
  const [problem, setProblem] = useState<Problem>()
  const run: Run = async (body) => {
    const answer = await act<object>('/jobs/run', body)
    setProblem(isProblem(answer) ? answer : undefined)
    return answer
  }
  return (
    <Shown asked={asked}>
      {({ data }: { data: Job[] }) => (
        <>
          {problem && <ProblemCard problem={problem} />}
          <Records
            caption={caption}
            columns={['Job', 'State', 'Last run', 'Next run', '']}
            none="No jobs."
            rows={data.filter(isShown).map((job) => ({ key: job.name, cells: toCells(job, run) }))}
          />
        </>
      )}
    </Shown>
  )
}

export function Jobs({ sanctions }: { sanctions: Sanctions }) {
  return (
    <>
      <Card title="Jobs">
        <JobTable caption="Jobs in the background" />
      </Card>
      <Card title="Sanctions list" look="">
        {sanctions ? (
          <Facts
            rows={[
              ['Published on', sanctions.publishedOn],
              ['Addresses', showCount(sanctions.entryCount)],
              ['Confirmed', showStamp(sanctions.confirmedAt)],
              ['State', sanctions.isStale ? 'stale: signups and payments are refused' : 'current'],
            ]}
          />
        ) : (
          <p class="note">No list is configured (BOOKFEED_SANCTIONS_LIST).</p>
        )}
      </Card>
    </>
  )
}

type Run = (body: { name: string; acceptLoss?: 'yes' }) => Promise<object>

function toCells(job: Job, run: Run) {
  const { name, about, isRunning, isFailed, canRun, outcome, endedAt, nextAt, progress } = job
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
              {showCount(progress.done)} of {showCount(progress.total)}
            </div>
          </>
        )}
      </div>
    ) : (
      <div>
        {outcome !== null && isFailed && <span class="tag down">failed</span>}{' '}
        {outcome ?? (nextAt === null && !canRun ? 'off' : 'not yet')}
      </div>
    ),
    showStamp(endedAt),
    showStamp(nextAt),
    canRun ? (
      <div class="row">
        <Button look="small" disabled={isRunning} onClick={() => run({ name })}>
          Run now<span class="sr">: {name}</span>
        </Button>
        {name === 'sanctions-list' && isFailed && (
          <Confirm
            name="Accept loss"
            title="Accept a list that lacks many addresses?"
            onConfirm={() => run({ name, acceptLoss: 'yes' })}
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
    <Card title="Audit log">
      <Shown asked={asked}>
        {({ data, next, head }: AuditList) => (
          <>
            <p class="note mono">Head: {head ?? 'none'}. Store it elsewhere.</p>
            <Records
              caption="Changes, newest first"
              columns={['No.', 'Time', 'Actor', 'Action', 'Subject', 'State']}
              none="No changes yet."
              rows={data.map(({ seq, time, action, subject, subjectName, state, ...row }) => ({
                key: String(seq),
                cells: [
                  seq,
                  showStamp(time),
                  <div>
                    {row.actorName === null ? row.actorKind : <Name name={row.actorName} />}
                    {row.actorId !== null && (
                      <div class="note mono">
                        {row.actorName !== null && `${row.actorKind} `}
                        {row.actorId}
                      </div>
                    )}
                  </div>,
                  action,
                  <div>
                    {subjectName !== null && <Name name={subjectName} />}
                    <div class="note mono">{subject}</div>
                  </div>,
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
    </Card>
  )
}

const commands = `bookfeed backup list
bookfeed backup --to s3://bucket/prefix
BOOKFEED_DATA=./restored bookfeed restore --from s3://bucket/prefix`

export const Backups = () => (
  <Card title="Backups">
    <JobTable caption="Scheduled backups" isShown={({ name }) => name === 'backup'} />
    <p>
      With BOOKFEED_BACKUP_TO, the server makes a backup every BOOKFEED_BACKUP_HOURS, and keeps the
      newest BOOKFEED_BACKUP_KEEP. To make a backup yourself, also while the server runs:
    </p>
    <pre>{commands}</pre>
  </Card>
)
