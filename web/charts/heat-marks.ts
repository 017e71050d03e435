/** Marks over the cells: trades by side and size, and liquidity that was pulled or traded. */

import type { HeatColumn, Heatmap, Trade } from '../lib/bodies.ts'
import { indexAt } from './find-at.ts'
import { sizeIn } from './heat-columns.ts'
import { DOT_MAX, type Mark, MARK_MAX, type Marks, removedKinds, toMarks } from './merge-marks.ts'
import type { Range } from './time-axis.ts'

export const tradeGroups = ['bid', 'ask', 'soft'] as const

/** The indexes of the marks of a range; `end` is exclusive. */
export const marksIn = ({ times }: Marks, { fromMs, toMs }: Range) => ({
  first: indexAt(times, fromMs - 1) + 1,
  end: indexAt(times, toMs) + 1,
})

const DOT_MIN = 1

export const largestOf = (trades: readonly Trade[]): number =>
  trades.reduce((most, { size }) => Math.max(most, size ?? 0), 0)

export const dotRadius = (size: number, largest: number): number =>
  Math.max(DOT_MIN, DOT_MAX * Math.sqrt(size / largest))

/** A trade of the other outcome is drawn where it met this book. */
export function tradeMarks(trades: readonly Trade[], heat: Heatmap): Marks {
  const largest = Math.max(1, largestOf(trades))
  return toMarks(
    trades.map(({ timestamp, price, size, side, outcome }) => {
      const isOwn = outcome === null || outcome === heat.outcome
      const color = (side === 'buy') === isOwn ? 'bid' : 'ask'
      return {
        ms: Date.parse(timestamp),
        price: isOwn ? price : 1 - price,
        radius: dotRadius(size ?? 0, largest),
        group: tradeGroups.indexOf(side === null ? 'soft' : color),
      }
    }),
  )
}

const MARK_MIN = 2.5

/** The smallest removed sizes that are marked. */
export type MarkSizes = Record<(typeof removedKinds)[number], number>

/**
 * Derives the sizes from that of the full colour: a pulled size is marked from half of the colour
 * on, a traded one from a quarter on, because trades are smaller than resting orders.
 */
export const markSizes = (cutOff: number): MarkSizes => ({
  pulled: cutOff / 4,
  traded: cutOff / 16,
})

/** Marks of removed sizes; a cell has the mark of the larger part. */
export function removedMarks(heat: Heatmap, sizes: MarkSizes): Marks {
  const marks: Mark[] = []
  const startMs = Date.parse(heat.from)
  for (const [index, column] of heat.columns.entries()) {
    if (!column?.pulled || !column.traded) continue
    const ms = startMs + (index + 0.5) * heat.stepMs
    for (const side of ['bids', 'asks'] as const) addMarks(marks, heat, { column, side, sizes, ms })
  }
  return toMarks(marks)
}

type Column = { column: HeatColumn; side: 'bids' | 'asks'; sizes: MarkSizes; ms: number }

function addMarks(
  marks: Mark[],
  { priceStep }: Heatmap,
  { column, side, sizes, ms }: Column,
): void {
  const pulled = column.pulled?.[side]
  const traded = column.traded?.[side]
  if (pulled === undefined || traded === undefined) return
  const from = Math.min(pulled.from, traded.from)
  const to = Math.max(pulled.from + pulled.sizes.length, traded.from + traded.sizes.length)
  for (let bin = from; bin < to; bin++) {
    const withdrawn = sizeIn(pulled, bin)
    const taken = sizeIn(traded, bin)
    const kind = taken >= withdrawn ? 'traded' : 'pulled'
    const size = Math.max(withdrawn, taken)
    if (size < sizes[kind] || size === 0) continue
    marks.push({
      ms,
      price: (bin + 0.5) * priceStep,
      radius: Math.min(MARK_MAX, MARK_MIN * Math.sqrt(size / sizes[kind])),
      group: removedKinds.indexOf(kind),
    })
  }
}

/** Dots are smaller on a narrow screen, by this factor, as is `.dot-key`. */
export const dotScale = (): number => (matchMedia('(max-width: 720px)').matches ? 0.65 : 1)
