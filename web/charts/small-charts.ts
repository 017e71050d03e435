/** Lines of a few pixels: a price against its strike, and a probability. */

export type Point = readonly [timeMs: number, value: number | null]

type Ink = Record<'line' | 'soft' | 'accent' | 'bid' | 'ask' | 'average', string>

type Frame = { fromMs: number; toMs: number; min: number; max: number }

const PADDING = 3
/** What a price moves at least, as a share of it, to fill the height. */
const MOVE_MIN = 0.0002

type Pen = {
  context: CanvasRenderingContext2D
  x: (ms: number) => number
  y: (v: number) => number
  width: number
}

/** Clears a canvas and fits it to its place; undefined while it has none. */
function begin(canvas: HTMLCanvasElement, { fromMs, toMs, min, max }: Frame): Pen | undefined {
  const { clientWidth: width, clientHeight: height } = canvas
  const context = canvas.getContext('2d')
  if (context === null || width === 0) return undefined
  const pixels = Math.round(width * devicePixelRatio)
  if (canvas.width !== pixels) {
    canvas.width = pixels
    canvas.height = Math.round(height * devicePixelRatio)
  }
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
  context.clearRect(0, 0, width, height)
  const room = height - 2 * PADDING
  return {
    context,
    width,
    x: (ms) => PADDING + ((ms - fromMs) / (toMs - fromMs)) * (width - 2 * PADDING),
    y: (value) => PADDING + (1 - (value - min) / (max - min)) * room,
  }
}

/** A null breaks the line. */
function stroke({ context, x, y }: Pen, points: readonly Point[], color: string): void {
  context.beginPath()
  let isDrawing = false
  for (const [timeMs, value] of points) {
    if (value === null) isDrawing = false
    else if (isDrawing) context.lineTo(x(timeMs), y(value))
    else {
      context.moveTo(x(timeMs), y(value))
      isDrawing = true
    }
  }
  context.strokeStyle = color
  context.lineWidth = 1.5
  context.lineJoin = 'round'
  context.stroke()
}

function level({ context, y, width }: Pen, value: number, color: string, dash: number[]): void {
  context.beginPath()
  context.setLineDash(dash)
  context.moveTo(0, Math.round(y(value)) + 0.5)
  context.lineTo(width, Math.round(y(value)) + 0.5)
  context.strokeStyle = color
  context.lineWidth = 1
  context.stroke()
  context.setLineDash([])
}

function dot({ context, x, y }: Pen, points: readonly Point[], color: string): void {
  const last = points.findLast(([, value]) => value !== null)
  if (last === undefined) return
  context.beginPath()
  context.arc(x(last[0]), y(last[1] ?? 0), 2.5, 0, 2 * Math.PI)
  context.fillStyle = color
  context.fill()
}

export type PriceLines = {
  fromMs: number
  toMs: number
  spot: readonly Point[]
  average: readonly Point[]
  strike: number | null
}

/** The price of a coin and its average from the start of a window, and the strike across it. */
export function drawPrices(canvas: HTMLCanvasElement, lines: PriceLines, ink: Ink): void {
  const { fromMs, toMs, spot, average, strike } = lines
  const values = [...spot, ...average].flatMap(([, value]) => value ?? [])
  if (strike !== null) values.push(strike)
  const low = Math.min(...values)
  const high = Math.max(...values)
  const margin = Math.max(0, (high * MOVE_MIN - (high - low)) / 2)
  const frame = { fromMs, toMs, min: low - margin, max: high + margin }
  const pen = begin(canvas, values.length === 0 ? { fromMs, toMs, min: 0, max: 1 } : frame)
  if (pen === undefined || values.length === 0) return
  if (strike !== null) level(pen, strike, ink.soft, [4, 3])
  stroke(pen, average, ink.average)
  stroke(pen, spot, ink.accent)
  dot(pen, spot, ink.accent)
}

export type ProbabilityLine = { fromMs: number; toMs: number; mid: readonly Point[] }

/** The probability of up from the start of a window, from 0 to 1. */
export function drawProbability(
  canvas: HTMLCanvasElement,
  { fromMs, toMs, mid }: ProbabilityLine,
  ink: Ink,
): void {
  const pen = begin(canvas, { fromMs, toMs, min: 0, max: 1 })
  if (pen === undefined) return
  level(pen, 0.5, ink.line, [])
  const last = mid.findLast(([, value]) => value !== null)?.[1] ?? 0.5
  const color = last < 0.5 ? ink.ask : ink.bid
  stroke(pen, mid, color)
  dot(pen, mid, color)
}

export type { Ink }
