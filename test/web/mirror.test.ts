import { describe, expect, test } from 'bun:test'

import { mirrorBook, mirrorHeat, mirrorQuote } from '#web/charts/mirror.ts'
import type { Heatmap } from '#web/lib/bodies.ts'

const timestamp = '2026-01-01T00:00:00.000Z'

const heatOf = (bids: [bin: number, size: number][], asks: [bin: number, size: number][]) => {
  const sideOf = (cells: [bin: number, size: number][]) => {
    const from = Math.min(...cells.map(([bin]) => bin))
    const to = Math.max(...cells.map(([bin]) => bin))
    const sizes = Array.from({ length: to - from + 1 }, (_, index) => {
      const cell = cells.find(([bin]) => bin === from + index)
      return cell?.[1] ?? 0
    })
    return cells.length === 0 ? { from: 0, sizes: [] } : { from, sizes }
  }
  const column = { covered: 1, bid: 0.41, ask: 0.43, bids: sideOf(bids), asks: sideOf(asks) }
  return {
    outcome: 'down',
    priceStep: 0.01,
    columns: [null, column],
  } as unknown as Heatmap
}

/** Sizes by bin. */
const cellsOf = ({ from, sizes }: { from: number; sizes: number[] }) =>
  sizes.flatMap((size, index) => (size > 0 ? [[from + index, size]] : []))

describe('the mirror of an outcome', () => {
  test('default: a bid at a price is an ask at its complement, without noise of floats', () => {
    const down = { outcome: 'down', timestamp, bid: 0.41, ask: 0.43, mid: 0.42 } as const
    expect(mirrorQuote(down)).toEqual({
      outcome: 'up',
      timestamp,
      bid: 0.57,
      ask: 0.59,
      mid: 0.58,
    })
    expect(mirrorQuote({ ...down, ask: null, mid: null })).toMatchObject({
      bid: null,
      ask: 0.59,
      mid: null,
    })
    const book = {
      outcome: 'down',
      timestamp,
      bids: [{ price: 0.41, size: 7 }],
      asks: [
        { price: 0.43, size: 1.5 },
        { price: 0.999, size: 2 },
      ],
    } as const
    const own = { ...book, bids: [...book.bids], asks: [...book.asks] }
    expect(mirrorBook(own)).toEqual({
      outcome: 'up',
      timestamp,
      bids: [
        { price: 0.57, size: 1.5 },
        { price: 0.001, size: 2 },
      ],
      asks: [{ price: 0.59, size: 7 }],
    })
    expect(mirrorBook(mirrorBook(own))).toEqual(own)
  })

  test('default: cells of whole prices are at their complements, and nothing leaves the map', () => {
    const heat = heatOf(
      [
        [41, 5],
        [39, 3],
      ],
      [
        [43, 1],
        [99, 4],
      ],
    )
    const [unknown, column] = mirrorHeat(heat).columns
    expect(unknown).toBeNull()
    expect(column?.bid).toBe(0.57)
    expect(column?.ask).toBe(0.59)
    expect(cellsOf(column?.asks ?? heat.columns[1]?.asks ?? { from: 0, sizes: [] })).toEqual([
      [59, 5],
      [61, 3],
    ])
    expect(cellsOf(column?.bids ?? { from: 0, sizes: [] })).toEqual([
      [1, 4],
      [57, 1],
    ])
    // The lowest bin has prices below a cent alone: they are in the highest one.
    const low = mirrorHeat(
      heatOf(
        [
          [0, 2],
          [1, 6],
        ],
        [],
      ),
    ).columns[1]
    expect(cellsOf(low?.asks ?? { from: 0, sizes: [] })).toEqual([[99, 8]])
    expect(mirrorHeat(heatOf([[0, 2]], [])).columns[1]?.asks).toEqual({ from: 99, sizes: [2] })
    expect(low?.bids).toEqual({ from: 0, sizes: [] })
  })
})
