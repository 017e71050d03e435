import type { Usage } from '../../lib/billing.ts'
import { useSecondsUntil } from '../../lib/clock.ts'

type Window = Usage['windows']['data']
const DAYS_SHOWN = 30
const BAR_WIDTH = 10
const BARS_HEIGHT = 64

export function Limits({ usage, onRefresh }: { usage: Usage; onRefresh: () => void }) {
  return (
    <section class="card stack" aria-labelledby="limits-title">
      <div class="row spread">
        <h2 id="limits-title">This minute</h2>
        <button type="button" class="button small" onClick={onRefresh}>
          Refresh
        </button>
      </div>
      <Gauge name="Data" window={usage.windows.data} />
      <Gauge name="Billing" window={usage.windows.billing} />
      <p class="note">Requests this key has left. Each key has its own allowance.</p>
    </section>
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
          {left} of {limit} left
          {seconds > 0 && <span class="note"> · full again in {seconds} s</span>}
        </span>
      </span>
      <meter min={0} max={limit} low={limit / 5} optimum={limit} value={left} />
    </label>
  )
}

const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** In decimal units, three digits at most. */
export function formatBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1)
  const value = bytes / 1000 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

export function UsageDays({ usage: { days } }: { usage: Usage }) {
  const shown = days.slice(0, DAYS_SHOWN)
  const most = Math.max(1, ...shown.map(({ requests }) => requests))
  const [today] = shown
  return (
    <section class="card stack" aria-labelledby="usage-title">
      <div class="row spread">
        <h2 id="usage-title">Usage by day</h2>
        <span class="note num">
          {today && `${today.date}: ${today.requests} requests, ${formatBytes(today.bytes)}`}
        </span>
      </div>
      {shown.length === 0 && <p class="note">Nothing was asked for yet.</p>}
      {shown.length > 0 && (
        <svg
          class="bars"
          viewBox={`0 0 ${DAYS_SHOWN * BAR_WIDTH} ${BARS_HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Requests by day, ${most} at most`}
        >
          {shown.map(({ date, requests, bytes }, index) => {
            const height = Math.max(2, (requests / most) * BARS_HEIGHT)
            const x = (DAYS_SHOWN - 1 - index) * BAR_WIDTH + 1
            return (
              <rect key={date} x={x} y={BARS_HEIGHT - height} width={BAR_WIDTH - 2} height={height}>
                <title>{`${date}: ${requests} requests, ${formatBytes(bytes)}`}</title>
              </rect>
            )
          })}
        </svg>
      )}
      {today && <Routes day={today} />}
    </section>
  )
}

const Routes = ({ day }: { day: Usage['days'][number] }) => (
  <details>
    <summary>By route on {day.date}</summary>
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
              <td class="right num">{requests}</td>
              <td class="right num">{formatBytes(bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
)
