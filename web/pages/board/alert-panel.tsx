/** The panel in which alerts are set, and the message of one that fired. */

import { useEffect, useState } from 'preact/hooks'

import { facts } from '../../lib/facts.ts'
import { showTime } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import {
  type Alert,
  alertKinds,
  change,
  type Fired,
  kindTexts,
  play,
  settings,
  sounds,
  units,
  watchAlerts,
} from './alerts.ts'
import type { FollowedBoard } from './follow-board.ts'

const NAME = 'alert-panel'
const lengths = ['5m', '15m', '1h', '4h', '1d']
const allSeries = Object.keys(facts.coins ?? {}).flatMap((coin) =>
  lengths.map((length) => `${coin}-${length}`),
)
const seriesName = (series: string): string =>
  series === ''
    ? 'any window'
    : series.replace('-', ' ').replace(/^\w+/, (coin) => coin.toUpperCase())
const SHOWN_MAX = 4

export function Alerts({ board }: { board: FollowedBoard | undefined }) {
  const { alerts } = useStore(settings.store)
  const armed = alerts.filter(({ fired }) => fired === undefined).length
  const [news, setNews] = useState<readonly Fired[]>([])
  useEffect(
    () =>
      board &&
      watchAlerts(board, (fired) => {
        setNews((before) => [fired, ...before].slice(0, SHOWN_MAX))
        notify(fired)
      }),
    [board],
  )
  return (
    <>
      <Button look="tiny" popovertarget={NAME}>
        Alerts{armed > 0 && ` (${armed})`}
      </Button>
      <div
        id={NAME}
        class="panel alert-panel stack"
        popover="auto"
        role="dialog"
        aria-label="Alerts"
      >
        <AlertForm />
        <AlertList alerts={alerts} />
        <AlertMeans />
      </div>
      <div role="alert">
        <ul class="alert-news">
          {news.map((fired) => (
            <li key={`${fired.atMs} ${fired.text}`}>
              <a href={fired.href}>{fired.text}</a>{' '}
              <span class="note num">{showTime(fired.atMs)} UTC</span>
              <button
                type="button"
                class="icon-button"
                aria-label="Dismiss"
                onClick={() => setNews((before) => before.filter((each) => each !== fired))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}

function notify({ text, href }: Fired): void {
  const { sound, notifies } = settings.store.get()
  play(sound)
  if (!notifies || Notification.permission !== 'granted') return
  const shown = new Notification('Bookfeed', { body: text, tag: href })
  shown.addEventListener('click', () => window.focus())
}

function AlertForm() {
  const [kind, setKind] = useState<Alert['kind']>('above')
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const data = new FormData(event.currentTarget)
    const value = Number(data.get('value') ?? 0)
    const series = String(data.get('series') ?? '')
    const alert = { id: crypto.randomUUID(), kind, value, series }
    change({ alerts: [...settings.store.get().alerts, alert] })
  }
  return (
    <form class="alert-form" onSubmit={add}>
      <label class="field">
        <span>Tell me when</span>
        <select
          value={kind}
          onChange={({ currentTarget }) =>
            setKind(alertKinds.find((each) => each === currentTarget.value) ?? 'above')
          }
        >
          {alertKinds.map((each) => (
            <option value={each}>{kindTexts[each]}</option>
          ))}
        </select>
      </label>
      {units[kind] !== undefined && (
        <label class="field">
          <span>{units[kind] === '%' ? 'Percent' : 'Cents'}</span>
          <input
            key={kind}
            name="value"
            type="number"
            required
            min="0.1"
            max="99.9"
            step="0.1"
            defaultValue={{ above: '80', below: '20', edge: '5' }[String(kind)]}
          />
        </label>
      )}
      <label class="field">
        <span>In</span>
        <select name="series">
          <option value="">any window</option>
          {allSeries.map((series) => (
            <option value={series}>{seriesName(series)}</option>
          ))}
        </select>
      </label>
      <Button text="Add" type="submit" look="primary" />
    </form>
  )
}

function AlertList({ alerts }: { alerts: readonly Alert[] }) {
  if (alerts.length === 0) return <p class="note">No alert is set.</p>
  const arm = (alert: Alert) => {
    const { id, kind, value, series } = alert
    change({ alerts: alerts.map((each) => (each === alert ? { id, kind, value, series } : each)) })
  }
  return (
    <ul class="alert-list">
      {alerts.map((alert) => (
        <li key={alert.id}>
          <span>
            {seriesName(alert.series)}: {kindTexts[alert.kind]}
            {units[alert.kind] !== undefined && ` ${alert.value} ${units[alert.kind]}`}
            {alert.fired && (
              <span class="note">
                <a href={alert.fired.href}>{alert.fired.text}</a>, {showTime(alert.fired.atMs)} UTC
              </span>
            )}
          </span>
          {alert.fired && <Button look="tiny" text="Set again" onClick={() => arm(alert)} />}
          <Button
            look="tiny"
            text="Delete"
            onClick={() => change({ alerts: alerts.filter((each) => each !== alert) })}
          />
        </li>
      ))}
    </ul>
  )
}

/** Sound and notifications of alerts. */
function AlertMeans() {
  const { sound, notifies } = useStore(settings.store)
  const [refused, setRefused] = useState(false)
  const choose = async (isOn: boolean) => {
    const isGranted = isOn && (await Notification.requestPermission()) === 'granted'
    setRefused(isOn && !isGranted)
    change({ notifies: isGranted })
  }
  return (
    <>
      <div class="row">
        <label class="field alert-sound">
          <span>Sound</span>
          <select
            value={sound}
            onChange={({ currentTarget }) => {
              const chosen = sounds.find((each) => each === currentTarget.value) ?? 'none'
              change({ sound: chosen })
              play(chosen)
            }}
          >
            {sounds.map((each) => (
              <option value={each}>{each}</option>
            ))}
          </select>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={notifies}
            onChange={({ currentTarget }) => void choose(currentTarget.checked)}
          />{' '}
          Notifications of the browser
        </label>
      </div>
      {refused && <p class="fault">The browser does not allow notifications of this page.</p>}
      <p class="note">
        Alerts are kept in this browser, and work while the board is open in a tab. Each fires once.
        Sounds are heard once you have clicked in the page.
      </p>
    </>
  )
}
