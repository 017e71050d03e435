/** What prevailed at the crosshair, in numbers. */

import { useMemo } from 'preact/hooks'

import { indexAt } from '../../charts/find-at.ts'
import type { LineData } from '../../charts/line-chart.tsx'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Market, Spot } from '../../lib/bodies.ts'
import { showDollars, showLength, showPrice } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'

type Props = { axis: TimeAxis; market: Market; mids: LineData; spreads: LineData; ticks: Spot[] }

export function Readout({ axis, market, mids, spreads, ticks }: Props) {
  const ms = useStore(axis.cursorMs)
  const times = useMemo(() => ticks.map(({ timestamp }) => Date.parse(timestamp)), [ticks])
  const at = indexAt(mids[0], ms / 1000)
  const spreadAt = indexAt(spreads[0], ms / 1000)
  const spot = ticks[indexAt(times, ms)]?.price ?? null
  const { strike, finalPrice, windowEnd } = market
  const left = windowEnd === null ? null : Date.parse(windowEnd) - ms
  const facts: [name: string, value: string, tone?: string][] = [
    ['Up', showPrice(mids[1]?.[at]), 'up'],
    ['Down', showPrice(mids[2]?.[at]), 'down'],
    ['Spread up', showPrice(spreads[1]?.[spreadAt])],
    ['Strike', showDollars(strike)],
    spot === null && finalPrice !== null
      ? ['Final', showDollars(finalPrice)]
      : ['Spot', showDollars(spot), toneOf(spot, strike)],
    ['To the close', left === null ? '–' : showLength(left)],
  ]
  return (
    <dl class="readout">
      {facts.map(([name, value, tone]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={`num ${tone ?? ''}`}>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const toneOf = (spot: number | null, strike: number | null): string => {
  if (spot === null || strike === null) return ''
  return spot >= strike ? 'up' : 'down'
}
