/** Findings that an operator should see first. */
import type { Overview } from '../../lib/admin.ts'
import { lostStore } from '../../lib/connection.ts'
import { showTime } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { Card } from '../../parts/card.tsx'

const looks = { fault: 'tag down', warning: 'tag warn', notice: 'tag', ok: 'tag up' } as const
const words = { fault: 'Fault', warning: 'Warning', notice: 'Note', ok: 'Works' } as const
const abouts = {
  sales: 'Sales',
  'sign-ups': 'Sign-ups',
  recorder: 'Recorder',
  server: 'Server',
} as const

type Props = {
  findings: Overview['findings']
  /** The time of these findings, if the server does not answer now. */
  staleSince: string | undefined
}

export function Findings({ findings, staleSince }: Props) {
  // The note at the bottom of the page says so then.
  const isOffline = useStore(lostStore) !== undefined
  const urgent = findings.filter(({ level }) => level === 'fault' || level === 'warning').length
  const title = urgent === 0 ? 'Nothing needs your attention' : 'What needs your attention'
  const time = staleSince === undefined ? '' : `${showTime(Date.parse(staleSince))} UTC`
  return (
    <Card title={staleSince === undefined ? title : `State of the server as of ${time}`}>
      {staleSince !== undefined && !isOffline && (
        <p class="note" role="status">
          The server does not answer. All values are as of {time}; this page keeps trying.
        </p>
      )}
      <ul class="findings">
        {findings.map(({ level, about, text, todo, link }) => (
          <li key={text}>
            <span class={looks[level]}>{words[level]}</span>
            <div>
              <p>
                <strong>{abouts[about]}.</strong> {text}
              </p>
              {todo !== null && <p class="note">{todo}</p>}
            </div>
            {link !== null && (
              <a href={link}>
                Show<span class="sr"> more about: {text}</span>
              </a>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}
