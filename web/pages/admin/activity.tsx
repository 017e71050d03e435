/** Activity of all servers over time: a small chart for each measure, with one crosshair. */
import { useState } from 'preact/hooks'

import { type ActivitySeries, useAdmin } from '../../lib/admin.ts'
import {
  showCount,
  showDayMinute,
  showDollars,
  showDuration,
  showMinute,
} from '../../lib/format.ts'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Records } from '../../parts/records.tsx'
import { Shown } from './parts.tsx'

type Step = ActivitySeries['steps'][number]
type Range = 'day' | 'week' | 'month'

/** Steps of a week and of a month are longer, and adding them up is more work. */
const everyMs: Record<Range, number> = { day: 30_000, week: 300_000, month: 300_000 }
const ranges = [
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
] as const
const lengths: Record<Range, string> = { day: '24 hours', week: '7 days', month: '30 days' }

type Measure = {
  name: string
  color: string
  read: (step: Step) => number | null
  show: (value: number) => string
  /** True if the sum over the whole time is shown, false for the last value. */
  sum?: boolean
}

/** All longer durations are in one bucket. */
const BOUND_MS_MAX = 10_000
const showBound = (ms: number): string => (ms > BOUND_MS_MAX ? 'over 10 s' : showDuration(ms))

const measures: readonly Measure[] = [
  {
    name: 'Requests',
    color: '--accent',
    read: (step) => step.requests,
    show: showCount,
    sum: true,
  },
  {
    name: 'Errors (500 and above)',
    color: '--ask',
    read: (step) => step.errors,
    show: showCount,
    sum: true,
  },
  {
    name: 'p99',
    color: '--warn',
    read: (step) => step.p99Ms,
    show: showBound,
  },
  {
    name: 'Revenue',
    color: '--bid',
    read: (step) => Number(step.revenue),
    show: showDollars,
    sum: true,
  },
  {
    name: 'Failed payments',
    color: '--ask',
    read: (step) => step.failedPayments,
    show: showCount,
    sum: true,
  },
  { name: 'Sign-ups', color: '--accent', read: (step) => step.signups, show: showCount, sum: true },
  {
    name: 'States recorded a second',
    color: '--bid',
    read: (step) => step.statesPerSecond,
    show: showCount,
  },
  {
    name: 'Largest lag to the disk',
    color: '--warn',
    read: (step) => step.lagMs,
    show: showDuration,
  },
]

export function ActivityPart() {
  const [range, setRange] = useState<Range>('day')
  const asked = useAdmin<ActivitySeries>('/activity', { range }, everyMs[range])
  const choice = (
    <Choice label="Time" options={ranges} value={range} onChoose={setRange} look="small" />
  )
  return (
    <Card title={`The last ${lengths[range]}`} tools={choice}>
      <Shown asked={asked}>
        {(series: ActivitySeries) => <Charts series={series} range={range} />}
      </Shown>
    </Card>
  )
}

function Charts({ series, range }: { series: ActivitySeries; range: Range }) {
  /** Index of the step that is pointed at. */
  const [pointed, setPointed] = useState<number>()
  const { steps, stepSeconds, servers, problems } = series
  const step = pointed === undefined ? undefined : steps[pointed]
  return (
    <>
      <p class="note activity-moment" aria-live="polite">
        {step === undefined
          ? `Last 24 hours, ${showCount(servers)} ${servers === 1 ? 'process' : 'processes'}; requests with test keys are not counted. Point at a chart, or move the slider, to see one moment.`
          : `${showMoment(step.at)} – ${showEnd(step.at, stepSeconds)} UTC`}
      </p>
      <div class="activity">
        {measures.map((measure) => (
          <Chart
            key={measure.name}
            measure={measure}
            steps={steps}
            length={lengths[range]}
            pointed={pointed}
            onPoint={setPointed}
          />
        ))}
      </div>
      <label class="activity-slider">
        <span class="sr">Moment that all charts show</span>
        <input
          type="range"
          min={0}
          max={steps.length - 1}
          value={pointed ?? steps.length - 1}
          aria-valuetext={showMoment((step ?? steps.at(-1))?.at ?? series.to)}
          onInput={(event) => setPointed(event.currentTarget.valueAsNumber)}
          onBlur={() => setPointed(undefined)}
        />
      </label>
      <h3>Refusals and failures of requests</h3>
      <Records
        caption={`Refusals and failures of the last ${lengths[range]}`}
        columns={['What', 'Status', 'How often']}
        none="None in this time."
        rows={problems.map(({ code, title, status, count }) => ({
          key: code,
          cells: [
            <div>
              {title} <a href={`/docs/errors#${code}`}>{code}</a>
            </div>,
            <div>
              <span class={status >= 500 ? 'tag down' : 'tag'}>{status}</span>
            </div>,
            showCount(count),
          ],
        }))}
      />
    </>
  )
}

type ChartProps = {
  measure: Measure
  steps: readonly Step[]
  length: string
  pointed: number | undefined
  onPoint: (index: number | undefined) => void
}

const WIDTH = 288
const HEIGHT = 64

/** A bar for each step; time without a server is shaded. */
function Chart({ measure, steps, length, pointed, onPoint }: ChartProps) {
  const { name, color, read, show, sum } = measure
  const values = steps.map(read)
  const known = values.filter((value) => value !== null)
  const max = Math.max(...known, 0)
  const total = known.reduce((all, value) => all + value, 0)
  const whole = sum ? total : known.at(-1)
  const shown = pointed === undefined ? whole : values[pointed]
  const barWidth = WIDTH / steps.length
  const toX = (index: number) => index * barWidth
  const bars = values
    .map((value, index) => {
      if (value === null || value === 0) return ''
      const height = Math.max(1.5, (value / max) * (HEIGHT - 2))
      return `M${toX(index)} ${HEIGHT}v${-height}h${barWidth}v${height}z`
    })
    .join('')
  const unknown = values
    .map((value, index) =>
      value === null ? `M${toX(index)} 0h${barWidth}v${HEIGHT}h${-barWidth}z` : '',
    )
    .join('')
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect()
    const index = Math.floor(((event.clientX - left) / width) * steps.length)
    onPoint(Math.min(steps.length - 1, Math.max(0, index)))
  }
  const text = shown === null || shown === undefined ? '–' : show(shown)
  const highest = known.length === 0 ? 'nothing counted' : `highest ${show(max)}`
  const when = sum ? `in ${length}` : 'last'
  return (
    <figure>
      <figcaption>
        <span>{name}</span>
        <strong class="num">
          {!sum && pointed === undefined && <span>last </span>}
          {text}
        </strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${name}: ${text} ${pointed === undefined ? when : 'then'}; ${highest}${known.length === 0 ? '' : ' in a step'}.`}
        onPointerMove={point}
        onPointerLeave={() => onPoint(undefined)}
      >
        <path d={unknown} class="activity-unknown" />
        <path d={bars} style={{ fill: `var(${color})` }} />
        {pointed !== undefined && (
          <rect
            class="activity-point"
            x={toX(pointed)}
            width={Math.max(1, barWidth)}
            y={0}
            height={HEIGHT}
          />
        )}
      </svg>
      <div class="activity-axis num">
        <span>{showMoment(steps[0]?.at ?? '')}</span>
        <span>{highest}</span>
        <span>{showMoment(steps.at(-1)?.at ?? '')}</span>
      </div>
    </figure>
  )
}

const showMoment = (iso: string): string => (iso === '' ? '' : showDayMinute(Date.parse(iso)))

const showEnd = (iso: string, seconds: number): string =>
  showMinute(Date.parse(iso) + seconds * 1000)
