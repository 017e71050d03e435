/**
 * Draws heat maps over one another, the finest one last. The cells of each are a picture of their
 * own, a pixel each, made again when they or the colours change; to pan and zoom only draws it
 * elsewhere.
 */

import type { Heatmap } from '../lib/bodies.ts'
import { showMoment, showPrice, showTime } from '../lib/format.ts'
import { colorOf } from '../lib/theme.ts'
import { rampOf, type SizeScale, stepOf, toRgb } from './heat-colors.ts'
import { binOf, columnsIn, priceOfBin, spanOfHeat } from './heat-columns.ts'
import { dotScale, marksIn, tradeGroups } from './heat-marks.ts'
import {
  DIAMOND,
  type Marks,
  mergeMarks,
  type PixelSize,
  removedMerging,
  tradeMerging,
} from './merge-marks.ts'
import type { Prices, Range } from './time-axis.ts'

/** Room for `$104,000.00`. */
export const AXIS_WIDTH = 64
export const AXIS_HEIGHT = 22
/** Lengths between prices that are named, in thousandths. */
const PRICE_STEPS = [1, 2, 5, 10, 20, 50, 100, 250]
const PRICE_LINES_MAX = 6
const STRIPES = 8

type Colors = ReturnType<typeof readColors>

export const readColors = () => ({
  ground: colorOf('--surface'),
  bid: colorOf('--bid'),
  ask: colorOf('--ask'),
  line: colorOf('--line'),
  soft: colorOf('--ink-soft'),
  ink: colorOf('--ink'),
  raised: colorOf('--raised'),
  pulled: colorOf('--warn'),
  traded: colorOf('--accent'),
})

/** What colours say of sizes. */
export type Shading = { cutOff: number; scale: SizeScale }

/** The cells as a picture; a column in which nothing is known stays clear. */
export function paintCells(heat: Heatmap, shading: Shading, colors: Colors): HTMLCanvasElement {
  const { columns, priceStep } = heat
  const height = Math.round(1 / priceStep)
  const picture = document.createElement('canvas')
  picture.width = Math.max(1, columns.length)
  picture.height = height
  const context = picture.getContext('2d')
  const image = context?.createImageData(picture.width, height)
  if (context == null || image === undefined) return picture
  const pixels = new Uint32Array(image.data.buffer)
  const ground = toRgb(colors.ground)
  const ramps = {
    bids: rampOf(ground, toRgb(colors.bid)),
    asks: rampOf(ground, toRgb(colors.ask)),
  }
  for (const [x, column] of columns.entries()) {
    if (column === null) continue
    for (let y = 0; y < height; y++) pixels[y * picture.width + x] = ramps.bids[0] ?? 0
    for (const side of ['bids', 'asks'] as const) {
      const { from, sizes } = column[side]
      const bottom = (height - 1 - from) * picture.width + x
      paintSide(sizes, shading, (index, step) => {
        pixels[bottom - index * picture.width] = ramps[side][step] ?? 0
      })
    }
  }
  context.putImageData(image, 0, 0)
  return picture
}

function paintSide(
  sizes: readonly number[],
  { cutOff, scale }: Shading,
  put: (index: number, step: number) => void,
): void {
  for (let index = 0; index < sizes.length; index++) {
    const step = stepOf(sizes[index] ?? 0, cutOff, scale)
    if (step > 0) put(index, step)
  }
}

/** A heat map that is drawn, with what left its cells. */
export type Layer = { heat: Heatmap; cells: HTMLCanvasElement; removed: Marks }

export type Scene = {
  layers: readonly Layer[]
  trades: Marks
  view: Range
  prices: Prices
  cursorMs: number
  /** The price under the pointer; undefined while there is none. */
  price: number | undefined
  /** Before this, what has no column was not recorded. */
  missingToMs: number
  /** A part of the time that is marked. */
  marked: Range | undefined
  colors: Colors
}

export function drawScene(canvas: HTMLCanvasElement, scene: Scene): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const ratio = devicePixelRatio
  const width = canvas.width / ratio
  const height = canvas.height / ratio
  const plot = { width: width - AXIS_WIDTH, height: height - AXIS_HEIGHT }
  const { fromMs, toMs } = scene.view
  const toX = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * plot.width
  const { low, high } = scene.prices
  const toY = (price: number) => ((high - price) / (high - low)) * plot.height
  const draw: Drawing = { context, scene, plot, toX, toY }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  drawIn(draw, scene.view, () => {
    drawUnknown(draw)
    const parts = visibleParts(scene)
    for (const [range, layer] of parts) drawIn(draw, range, () => drawCells(draw, layer))
    drawMarked(draw)
    const dots = dotsIn(draw)
    drawDots(
      draw,
      dots.filter(({ radius }) => radius >= SMALL_DOT),
    )
    // Where liquidity was traded is the dot of a trade too.
    for (const [range, { removed }] of parts) drawRemoved(draw, removed, range)
    // A cross would hide them.
    drawDots(
      draw,
      dots.filter(({ radius }) => radius < SMALL_DOT),
    )
    // No dot and no mark hides what the market was at.
    for (const [range, layer] of parts) drawIn(draw, range, () => drawBest(draw, layer, range))
    drawCrosshair(draw)
  })
  drawAxes(draw)
}

type Drawing = {
  context: CanvasRenderingContext2D
  scene: Scene
  plot: { width: number; height: number }
  toX: (ms: number) => number
  toY: (price: number) => number
}

/** Draws only within a range of time. */
function drawIn({ context, plot, toX }: Drawing, { fromMs, toMs }: Range, draw: () => void): void {
  context.save()
  context.beginPath()
  context.rect(toX(fromMs), 0, toX(toMs) - toX(fromMs), plot.height)
  context.clip()
  draw()
  context.restore()
}

/** The parts of the view, each with the finest layer that has it. */
function visibleParts({ layers, view }: Scene): [Range, Layer][] {
  const [whole, finer] = layers
  if (whole === undefined) return []
  if (finer === undefined) return [[view, whole]]
  const span = spanOfHeat(finer.heat)
  const fromMs = Math.min(Math.max(span.fromMs, view.fromMs), view.toMs)
  const toMs = Math.max(fromMs, Math.min(span.toMs, view.toMs))
  const parts: [Range, Layer][] = [
    [{ fromMs: view.fromMs, toMs: fromMs }, whole],
    [{ fromMs, toMs }, finer],
    [{ fromMs: toMs, toMs: view.toMs }, whole],
  ]
  return parts.filter(([range]) => range.toMs > range.fromMs)
}

/** Stripes over all that may be missing; what is known covers them. */
function drawUnknown({ context, plot, scene, toX }: Drawing): void {
  context.save()
  context.beginPath()
  context.rect(0, 0, toX(scene.missingToMs), plot.height)
  context.clip()
  context.strokeStyle = scene.colors.soft
  context.globalAlpha = 0.45
  context.lineWidth = 1
  context.beginPath()
  for (let x = -plot.height; x < plot.width; x += STRIPES) {
    context.moveTo(x, plot.height)
    context.lineTo(x + plot.height, 0)
  }
  context.stroke()
  context.restore()
}

function drawCells({ context, toX, toY }: Drawing, { heat, cells }: Layer): void {
  const startMs = Date.parse(heat.from)
  const endMs = startMs + cells.width * heat.stepMs
  context.imageSmoothingEnabled = false
  const x = toX(startMs)
  context.drawImage(cells, x, toY(1), toX(endMs) - x, toY(0) - toY(1))
}

const BEST_WIDTH = 1.75

/** Best bid and ask as steps, broken where nothing is known. */
function drawBest({ context, scene, toX, toY }: Drawing, { heat }: Layer, range: Range): void {
  const startMs = Date.parse(heat.from)
  const { first, end } = columnsIn(heat, range)
  for (const side of ['bid', 'ask'] as const) {
    context.beginPath()
    let isDown = false
    for (let index = first; index < end; index++) {
      const fromMs = startMs + index * heat.stepMs
      const price = heat.columns[index]?.[side] ?? null
      if (price === null) {
        isDown = false
        continue
      }
      const y = toY(price)
      if (isDown) context.lineTo(toX(fromMs), y)
      else context.moveTo(toX(fromMs), y)
      context.lineTo(toX(fromMs + heat.stepMs), y)
      isDown = true
    }
    context.strokeStyle = scene.colors.ground
    context.lineWidth = BEST_WIDTH + HALO
    context.stroke()
    context.strokeStyle = scene.colors[side]
    context.lineWidth = BEST_WIDTH
    context.stroke()
  }
}

const pixelOf = ({ plot, scene }: Drawing, scale = 1): PixelSize => ({
  ms: ((scene.view.toMs - scene.view.fromMs) / plot.width) * scale,
  price: (scale * (scene.prices.high - scene.prices.low)) / plot.height,
})

const HALO = 1.5

/** A cross where liquidity was pulled, a diamond where it was traded. */
function drawRemoved(draw: Drawing, all: Marks, range: Range): void {
  const { context, scene, plot, toX, toY } = draw
  const marks = mergeMarks(all, pixelOf(draw), removedMerging)
  const { first, end } = marksIn(marks, range)
  const crosses = new Path2D()
  const diamonds = new Path2D()
  for (let index = first; index < end; index++) {
    const x = toX(marks.times[index] ?? 0)
    const radius = marks.radii[index] ?? 0
    const price = marks.prices[index] ?? 0
    if (price < scene.prices.low || price > scene.prices.high) continue
    // Whole at the edges too.
    const y = Math.min(plot.height - radius, Math.max(radius, toY(price)))
    if (marks.groups[index] === 0) {
      crosses.moveTo(x - radius, y - radius)
      crosses.lineTo(x + radius, y + radius)
      crosses.moveTo(x - radius, y + radius)
      crosses.lineTo(x + radius, y - radius)
    } else {
      diamonds.moveTo(x, y - radius * DIAMOND)
      diamonds.lineTo(x + radius * DIAMOND, y)
      diamonds.lineTo(x, y + radius * DIAMOND)
      diamonds.lineTo(x - radius * DIAMOND, y)
      diamonds.closePath()
    }
  }
  const { ground, pulled, traded } = scene.colors
  context.strokeStyle = ground
  context.lineWidth = 2 * HALO
  context.stroke(diamonds)
  context.fillStyle = traded
  context.fill(diamonds)
  // Above diamonds, which are larger and would hide them.
  context.lineWidth = 1.6 + 2 * HALO
  context.stroke(crosses)
  context.strokeStyle = pulled
  context.lineWidth = 1.6
  context.stroke(crosses)
}

/** Smaller dots have no edge, which would hide them. */
const EDGED_MIN = 2.5
/** Smaller dots are above crosses. */
const SMALL_DOT = 5

type Dot = { x: number; y: number; radius: number; color: string }

/** Trades that are seen, the largest first: a smaller one is above it. */
function dotsIn(draw: Drawing): Dot[] {
  const { scene, toX, toY } = draw
  const scale = dotScale()
  const trades = mergeMarks(scene.trades, pixelOf(draw, scale), tradeMerging)
  const { first, end } = marksIn(trades, scene.view)
  const dots: Dot[] = []
  for (let index = first; index < end; index++)
    dots.push({
      x: toX(trades.times[index] ?? 0),
      y: toY(trades.prices[index] ?? 0),
      radius: scale * (trades.radii[index] ?? 0),
      color: scene.colors[tradeGroups[trades.groups[index] ?? 0] ?? 'soft'],
    })
  return dots.sort((a, b) => b.radius - a.radius)
}

function drawDots({ context, scene }: Drawing, dots: readonly Dot[]): void {
  context.lineWidth = 1
  context.strokeStyle = scene.colors.ground
  for (const { x, y, radius, color } of dots) {
    context.beginPath()
    context.arc(x, y, radius, 0, 2 * Math.PI)
    context.fillStyle = color
    context.globalAlpha = radius < EDGED_MIN ? 1 : 0.8
    context.fill()
    context.globalAlpha = 1
    if (radius >= EDGED_MIN) context.stroke()
  }
}

function drawMarked({ context, scene, plot, toX }: Drawing): void {
  const { marked, colors } = scene
  if (marked) markRange(context, toX(marked.fromMs), toX(marked.toMs), plot.height, colors.traded)
}

/** A band of at least two pixels, with edges. */
export function markRange(
  context: CanvasRenderingContext2D,
  left: number,
  right: number,
  height: number,
  color: string,
): void {
  context.fillStyle = color
  context.globalAlpha = 0.16
  context.fillRect(left, 0, right - left, height)
  context.globalAlpha = 1
  for (const x of [left, right - 1]) context.fillRect(Math.round(x), 0, 1, height)
}

function drawCrosshair({ context, scene, plot, toX, toY }: Drawing): void {
  const x = Math.round(toX(scene.cursorMs)) + 0.5
  context.strokeStyle = scene.colors.ink
  context.lineWidth = 1
  context.setLineDash([4, 3])
  context.beginPath()
  context.moveTo(x, 0)
  context.lineTo(x, plot.height)
  if (scene.price !== undefined) {
    const y = Math.round(toY(scene.price)) + 0.5
    context.moveTo(0, y)
    context.lineTo(plot.width, y)
  }
  context.stroke()
  context.setLineDash([])
}

export const TICK_LENGTHS_MS = [
  ...[10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400].map((s) => s * 1000),
]
const TICK_PX = 90
const LABEL_HALF = 26

function linesIn({ low, high }: Prices): number[] {
  const length = 1000 * (high - low)
  const step = PRICE_STEPS.find((each) => length / each < PRICE_LINES_MAX) ?? 250
  const first = Math.ceil((1000 * low) / step - 1e-9)
  const last = Math.floor((1000 * high) / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, index) => ((first + index) * step) / 1000)
}

function drawAxes({ context, scene, plot, toX, toY }: Drawing): void {
  const { view, colors, price, cursorMs } = scene
  context.fillStyle = colors.soft
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  for (const line of linesIn(scene.prices)) {
    const y = Math.min(plot.height - 6, Math.max(6, toY(line)))
    context.fillText(`${Math.round(line * 1000) / 10}¢`, plot.width + 6, y)
  }
  context.textAlign = 'center'
  const wantedMs = ((view.toMs - view.fromMs) * TICK_PX) / plot.width
  const stepMs = TICK_LENGTHS_MS.find((length) => length >= wantedMs) ?? 86_400_000
  const show = stepMs < 1000 ? showMoment : showTime
  const middle = plot.height + AXIS_HEIGHT / 2 + 2
  for (let ms = Math.ceil(view.fromMs / stepMs) * stepMs; ms <= view.toMs; ms += stepMs) {
    const x = toX(ms)
    if (x < LABEL_HALF || x > plot.width - LABEL_HALF) continue
    context.fillText(show(ms), x, middle)
  }
  if (price === undefined) return
  const y = Math.min(plot.height - 8, Math.max(8, toY(price)))
  const label = { x: plot.width + AXIS_WIDTH / 2, y, width: AXIS_WIDTH - 2 }
  const [whole] = scene.layers
  const shown = whole ? priceOfBin(whole.heat, binOf(whole.heat, price)) : price
  drawLabel(context, colors, { ...label, text: showPrice(shown) })
  const x = Math.min(plot.width - 40, Math.max(40, toX(cursorMs)))
  drawLabel(context, colors, { x, y: middle, width: 80, text: showMoment(cursorMs) })
}

type Label = { x: number; y: number; width: number; text: string }

/** Where the crosshair meets an axis. */
function drawLabel(
  context: CanvasRenderingContext2D,
  colors: Colors,
  { x, y, width, text }: Label,
): void {
  context.fillStyle = colors.ink
  context.fillRect(x - width / 2, y - 8, width, 16)
  context.fillStyle = colors.ground
  context.textAlign = 'center'
  context.fillText(text, x, y + 0.5)
}
