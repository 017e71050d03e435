/** Lines of a few pixels: a price against its strike, and a probability. */

export type Point = readonly [timeMs: number, value: number | null]

/** A coordinate is a share of the width or height, in thousandths. */
const FULL = 1_000
/** Leaves room for half of a dot beside the lines. */
const VIEW = '-30 -80 1060 1160'
/** The smallest move, as a share of the price, that fills the height. */
const MOVE_MIN = 0.0002

type Frame = { fromMs: number; toMs: number; min: number; max: number }

/** The path of a line; a null breaks it. */
function pathOf(points: readonly Point[], { fromMs, toMs, min, max }: Frame): string {
  let path = ''
  let isDrawing = false
  for (const [timeMs, value] of points) {
    if (value !== null) {
      const x = Math.round((FULL * (timeMs - fromMs)) / (toMs - fromMs))
      // A line beyond an edge runs along the edge.
      const y = Math.min(FULL, Math.max(0, Math.round((FULL * (max - value)) / (max - min))))
      path += `${isDrawing ? 'L' : 'M'}${x} ${y}`
    }
    isDrawing = value !== null
  }
  return path
}

/** The path of the last point of a line: it has no length, and its round cap is a dot. */
function dotOf(points: readonly Point[], frame: Frame): string {
  const last = points.findLast(([, value]) => value !== null)
  return last === undefined ? '' : `${pathOf([last], frame)}h0`
}

/** The path of a level line. */
const levelOf = (value: number, { min, max }: Frame): string =>
  `M0 ${Math.round((FULL * (max - value)) / (max - min))}h${FULL}`

type PriceLines = {
  fromMs: number
  toMs: number
  spot: readonly Point[]
  average: readonly Point[]
  strike: number | null
  /** Distance of the edges from the strike, as a share of it; without it, all prices are shown. */
  reach?: number | undefined
}

/** The price of a coin and its average from the start of a window, and the strike across it. */
export function PriceChart({ lines, label }: { lines: PriceLines; label: string }) {
  const { spot, average, strike } = lines
  const frame = frameOf(lines)
  return (
    <svg
      class="small-chart"
      viewBox={VIEW}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {strike !== null && <path class="strike" d={levelOf(strike, frame)} />}
      <path class="average" d={pathOf(average, frame)} />
      <path class="spot" d={pathOf(spot, frame)} />
      <path class="spot dot" d={dotOf(spot, frame)} />
    </svg>
  )
}

function frameOf({ fromMs, toMs, spot, average, strike, reach }: PriceLines): Frame {
  if (strike !== null && reach !== undefined)
    return { fromMs, toMs, min: strike * (1 - reach), max: strike * (1 + reach) }
  const values = [...spot, ...average].flatMap(([, value]) => value ?? [])
  if (strike !== null) values.push(strike)
  const low = Math.min(...values)
  const high = Math.max(...values)
  const margin = Math.max(0, (high * MOVE_MIN - (high - low)) / 2)
  return { fromMs, toMs, min: low - margin, max: high + margin }
}

type ProbabilityLine = { fromMs: number; toMs: number; mid: readonly Point[] }

/** The probability of up from the start of a window, from 0 to 1, and the half across it. */
export function ProbabilityChart({ line, label }: { line: ProbabilityLine; label: string }) {
  const { fromMs, toMs, mid } = line
  const frame = { fromMs, toMs, min: 0, max: 1 }
  const last = mid.findLast(([, value]) => value !== null)?.[1] ?? 0.5
  const side = last < 0.5 ? 'ask' : 'bid'
  return (
    <svg
      class="small-chart spark"
      viewBox={VIEW}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="half" d={levelOf(0.5, frame)} />
      <path class={side} d={pathOf(mid, frame)} />
      <path class={`${side} dot`} d={dotOf(mid, frame)} />
    </svg>
  )
}
