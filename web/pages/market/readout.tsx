/** The state at the crosshair, in numbers. */

import { useMemo } from 'preact/hooks'

import { indexAt } from '../../charts/find-at.ts'
import { type LineData, outcomesIn } from '../../charts/line-data.ts'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Market, Outcome, Spot } from '../../lib/bodies.ts'
import { serverNowMs, useNow } from '../../lib/clock.ts'
import { outcomeNames, showCoinPrice, showLength, showPrice } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { Facts } from '../../parts/facts.tsx'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  mids: LineData
  spreads: LineData
  ticks: Spot[]
}

export function Readout({ axis, market, outcome, mids, spreads, ticks }: Props) {
  const ms = useStore(axis.cursorMs)
  const times = useMemo(() => ticks.map(({ timestamp }) => Date.parse(timestamp)), [ticks])
  const at = indexAt(mids[0], ms / 1000)
  const spreadAt = indexAt(spreads[0], ms / 1000)
  const tickAt = indexAt(times, ms)
  const spot = ticks[tickAt]?.price ?? null
  const ageMs = ms - (times[tickAt] ?? ms)
  const { strike, finalPrice, windowEnd } = market
  const known = useMemo(() => outcomesIn(mids), [mids])
  const prices = { up: mids[1]?.[at], down: mids[2]?.[at] }
  useNow()
  // Before its start, no moment of the window has come.
  const atMs = market.status === 'upcoming' ? Math.min(ms, serverNowMs()) : ms
  const isOver = market.status === 'closed' || market.status === 'resolved'
  const left = windowEnd === null ? null : Date.parse(windowEnd) - atMs
  const facts: [name: string, value: string, tone?: string][] = [
    ...sides.flatMap((each): [string, string, string][] => {
      const other = prices[each === 'up' ? 'down' : 'up']
      const name = outcomeNames[each]
      if (known.includes(each)) return [[name, showPrice(prices[each]), each]]
      // Derived from the books of the other outcome.
      if (other != null) return [[`${name} (mirror)`, showPrice(1 - other), each]]
      return each === outcome ? [[name, showPrice(undefined), each]] : []
    }),
    [`${outcomeNames[outcome]} spread`, showPrice(spreads[outcome === 'up' ? 1 : 2]?.[spreadAt])],
    ['Strike', showCoinPrice(strike)],
    // Before the end, the winner is unknown.
    left !== null && left <= 0 && finalPrice !== null
      ? ['Final', showCoinPrice(finalPrice)]
      : [nameOf(ageMs), showCoinPrice(spot), toneOf(spot, strike)],
    [isOver ? 'Before the end' : 'Time left', left === null ? '–' : showLength(left)],
  ]
  return <Facts look="readout num" rows={facts} />
}

const sides = ['up', 'down'] as const
const FRESH_MS = 10_000
const nameOf = (ageMs: number): string =>
  ageMs < FRESH_MS ? 'Spot' : `Spot, ${showLength(ageMs)} old`

const toneOf = (spot: number | null, strike: number | null): string => {
  if (spot === null || strike === null) return ''
  return spot >= strike ? 'up' : 'down'
}
