import type { Usage } from '../../lib/billing.ts'
import { useSecondsUntil } from '../../lib/clock.ts'
import { showBytes, showCount, showDate, showSome } from '../../lib/format.ts'
import { apiKey, isTestKey } from '../../lib/key.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'

type Window = Usage['windows']['data']
const DAYS_SHOWN = 30
const BAR_WIDTH = 10
const BARS_HEIGHT = 64

export function Limits({ usage, onRefresh }: { usage: Usage; onRefresh: () => void }) {
  const { limit } = usage.windows.data
  const isTest = isTestKey(useStore(apiKey.store))
  return (
    <Card title="This minute" tools={<Button text="Refresh" look="small" onClick={onRefresh} />}>
      <Gauge name="Data" window={usage.windows.data} />
      <Gauge name="Billing" window={usage.windows.billing} />
      <p class="note">
        {isTest
          ? `All test keys of a network address share ${showSome(limit, 'request')} a minute.`
          : 'Requests this key has left. Each key has its own allowance.'}
      </p>
    </Card>
  )
}

function Gauge({ name, window: { limit, remaining, resetsAt } }: { name: string; window: Window }) {
  const seconds = useSecondsUntil(Date.parse(resetsAt))
  const left = seconds === 0 ? limit : remaining
  return (
    <label class="gauge">
      <span class="row spread">
        <span>{name}</span>
        <span class="num">
          {showCount(left)} of {showCount(limit)} left
          {seconds > 0 && <span class="note"> · full again in {seconds} s</span>}
        </span>
      </span>
      <meter min={0} max={limit} low={limit / 5} optimum={limit} value={left} />
    </label>
  )
}

type Day = Pick<Usage['days'][number], 'date' | 'requests' | 'bytes'>
const sumUp = ({ date, requests, bytes }: Day): string =>
  `${showDate(Date.parse(date))}: ${showSome(requests, 'request')}, ${showBytes(bytes)}`

export function UsageDays({ usage: { days } }: { usage: Usage }) {
  const shown = days.slice(0, DAYS_SHOWN)
  const most = Math.max(1, ...shown.map(({ requests }) => requests))
  const [today] = shown
  return (
    <Card title="Usage by day (UTC)" tools={<span class="note num">{today && sumUp(today)}</span>}>
      {shown.length === 0 && <p class="note">No requests yet.</p>}
      {shown.length > 0 && (
        <svg
          class="bars"
          viewBox={`0 0 ${DAYS_SHOWN * BAR_WIDTH} ${BARS_HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Requests by day, ${showCount(most)} at most`}
        >
          {shown.map(({ date, requests, bytes }, index) => {
            const height = Math.max(2, (requests / most) * BARS_HEIGHT)
            const x = (DAYS_SHOWN - 1 - index) * BAR_WIDTH + 1
            return (
              <rect key={date} x={x} y={BARS_HEIGHT - height} width={BAR_WIDTH - 2} height={height}>
                <title>{sumUp({ date, requests, bytes })}</title>
              </rect>
            )
          })}
        </svg>
      )}
      {today && <Routes day={today} />}
    </Card>
  )
}

const Routes = ({ day }: { day: Usage['days'][number] }) => (
  <details>
    <summary>By route on {showDate(Date.parse(day.date))}</summary>
    <div class="table-wrap">
      <table>
        <thead>
          <tr>
            <th>Route</th>
            <th class="right">Requests</th>
            <th class="right">Sent</th>
          </tr>
        </thead>
        <tbody>
          {day.routes.map(({ route, requests, bytes }) => (
            <tr key={route}>
              <td>{route}</td>
              <td class="right num">{showCount(requests)}</td>
              <td class="right num">{showBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
)
