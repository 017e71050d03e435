/**
 * Draws heat maps over one another, the finest last. Each has its cells in a canvas of their own,
 * one pixel a cell, in which only changed columns are painted again. Everything but the crosshair
 * is drawn on a hidden canvas: when the crosshair moves, that is copied, and two lines are drawn.
 */

import type { HeatColumn, Heatmap } from '../lib/bodies.ts'
import { showMoment, showPrice, showTime } from '../lib/format.ts'
import { colorOf } from '../lib/theme.ts'
import { rampOf, type SizeScale, stepOf, toRgb } from './heat-colors.ts'
import { binOf, columnsIn, priceOfBin, spanOfHeat, unknownIn } from './heat-columns.ts'
import { baseOf } from './heat-live.ts'
import { dotScale, marksIn, tradeGroups } from './heat-marks.ts'
import {
  DIAMOND,
  type Marks,
  mergeMarks,
  type PixelSize,
  removedKinds,
  removedMerging,
  tradeMerging,
} from './merge-marks.ts'
import type { Prices, Range } from './time-axis.ts'

/** Room for `$104,000.00`. */
export const AXIS_WIDTH = 64
export const AXIS_HEIGHT = 22
/** Distances between labelled prices, in thousandths. */
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

/** `cutOff`: the size from which on a cell has the full colour. `scale`: the shades below it. */
export type Shading = { cutOff: number; scale: SizeScale }

type Look = Shading & { colors: Colors }
type CellPicture = Look & { canvas: HTMLCanvasElement; columns: Heatmap['columns'] }

/** The painted cells of each heat map of the server, with the columns that later books added. */
const cellPictures = new WeakMap<Heatmap, CellPicture>()

/** Paints the columns that changed; one without a known book stays clear. */
function paintCells(heat: Heatmap, { cutOff, scale, colors }: Look): HTMLCanvasElement {
  const base = baseOf(heat)
  const kept = cellPictures.get(base)
  const isKept = kept?.cutOff === cutOff && kept.scale === scale && kept.colors === colors
  const canvas = isKept ? kept.canvas : emptyPicture(heat)
  const { columns } = heat
  const isChanged = (column: HeatColumn | null, index: number) =>
    !isKept || column !== kept.columns[index]
  const picture = { canvas, columns, cutOff, scale, colors }
  cellPictures.set(base, picture)
  const first = columns.findIndex(isChanged)
  if (first >= 0) paintColumns(picture, first, columns.findLastIndex(isChanged) + 1)
  return canvas
}

function emptyPicture({ columns, priceStep }: Heatmap): HTMLCanvasElement {
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, columns.length)
  canvas.height = Math.round(1 / priceStep)
  return canvas
}

function paintColumns(
  { canvas, columns, cutOff, scale, colors }: CellPicture,
  first: number,
  end: number,
): void {
  const width = end - first
  const { height } = canvas
  const context = canvas.getContext('2d')
  const image = context?.createImageData(width, height)
  if (context == null || image === undefined) return
  const pixels = new Uint32Array(image.data.buffer)
  const ground = toRgb(colors.ground)
  const ramps = {
    bids: rampOf(ground, toRgb(colors.bid)),
    asks: rampOf(ground, toRgb(colors.ask)),
  }
  for (let x = 0; x < width; x++) {
    const column = columns[first + x]
    if (!column) continue
    for (let y = 0; y < height; y++) pixels[y * width + x] = ramps.bids[0] ?? 0
    for (const side of ['bids', 'asks'] as const) {
      const { from, sizes } = column[side]
      const bottom = (height - 1 - from) * width + x
      for (let index = 0; index < sizes.length; index++) {
        const step = stepOf(sizes[index] ?? 0, cutOff, scale)
        if (step > 0) pixels[bottom - index * width] = ramps[side][step] ?? 0
      }
    }
  }
  context.putImageData(image, first, 0)
}

/** A heat map with the marks of its removed sizes. */
export type Layer = { heat: Heatmap; removed: Marks }

/** Everything that is drawn except the crosshair. */
export type Scene = Look & {
  layers: readonly Layer[]
  trades: Marks
  view: Range
  prices: Prices
  /** A time before this without a column was not recorded. */
  missingToMs: number
  /** A part of the time that is marked. */
  marked: Range | undefined
}

export type Crosshair = {
  cursorMs: number
  /** The price under the pointer; undefined while there is none. */
  price: number | undefined
}

/** Returns a function that draws a scene with its crosshair. An unchanged scene is copied. */
export function createPainter(canvas: HTMLCanvasElement) {
  const picture = document.createElement('canvas')
  let kept: Scene | undefined
  return (scene: Scene, crosshair: Crosshair): void => {
    const context = canvas.getContext('2d')
    const below = picture.getContext('2d')
    if (context === null || below === null) return
    const { width, height } = canvas
    // An element that is not laid out has no size, and an empty canvas cannot be copied.
    if (width === 0 || height === 0) return
    const isResized = picture.width !== width || picture.height !== height
    if (isResized) Object.assign(picture, { width, height })
    if (isResized || kept === undefined || !isSame(kept, scene)) drawScene(drawingOf(below, scene))
    kept = scene
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, width, height)
    context.drawImage(picture, 0, 0)
    drawCrosshair(drawingOf(context, scene), crosshair)
  }
}

const isSame = (a: Scene, b: Scene): boolean =>
  a.layers === b.layers &&
  a.cutOff === b.cutOff &&
  a.scale === b.scale &&
  a.colors === b.colors &&
  a.trades === b.trades &&
  a.marked === b.marked &&
  a.view.fromMs === b.view.fromMs &&
  a.view.toMs === b.view.toMs &&
  a.prices.low === b.prices.low &&
  a.prices.high === b.prices.high &&
  // Nothing is drawn beyond the view.
  Math.min(a.missingToMs, a.view.toMs) === Math.min(b.missingToMs, b.view.toMs)

function drawingOf(context: CanvasRenderingContext2D, scene: Scene): Drawing {
  const ratio = devicePixelRatio
  const { width, height } = context.canvas
  const plot = { width: width / ratio - AXIS_WIDTH, height: height / ratio - AXIS_HEIGHT }
  const { fromMs, toMs } = scene.view
  const { low, high } = scene.prices
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  return {
    context,
    scene,
    plot,
    toX: (ms) => ((ms - fromMs) / (toMs - fromMs)) * plot.width,
    toY: (price) => ((high - price) / (high - low)) * plot.height,
  }
}

function drawScene(draw: Drawing): void {
  const { context, plot, scene } = draw
  context.clearRect(0, 0, plot.width + AXIS_WIDTH, plot.height + AXIS_HEIGHT)
  drawIn(draw, scene.view, () => {
    const parts = visibleParts(scene)
    drawUnknown(draw, parts)
    for (const [range, layer] of parts) drawIn(draw, range, () => drawCells(draw, layer))
    drawMarked(draw)
    const dots = dotsIn(draw)
    drawDots(
      draw,
      dots.filter(({ radius }) => radius >= SMALL_DOT),
    )
    // A diamond marks the liquidity that a trade took, so it is above the dot.
    for (const [range, { removed }] of parts) drawRemoved(draw, removed, range)
    // Crosses would hide small dots.
    drawDots(
      draw,
      dots.filter(({ radius }) => radius < SMALL_DOT),
    )
    // No dot and no mark hides the best prices.
    for (const [range, layer] of parts) drawIn(draw, range, () => drawBest(draw, layer, range))
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

type Part = [Range, Layer]

/** The parts of the view, each with the finest layer that has it. */
function visibleParts({ layers, view }: Scene): Part[] {
  const [whole, finer] = layers
  if (whole === undefined) return []
  if (finer === undefined) return [[view, whole]]
  const span = spanOfHeat(finer.heat)
  const fromMs = Math.min(Math.max(span.fromMs, view.fromMs), view.toMs)
  const toMs = Math.max(fromMs, Math.min(span.toMs, view.toMs))
  const parts: Part[] = [
    [{ fromMs: view.fromMs, toMs: fromMs }, whole],
    [{ fromMs, toMs }, finer],
    [{ fromMs: toMs, toMs: view.toMs }, whole],
  ]
  return parts.filter(([range]) => range.toMs > range.fromMs)
}

/** Stripes where nothing was recorded. */
function drawUnknown({ context, plot, scene, toX }: Drawing, parts: readonly Part[]): void {
  const unknown = parts
    .flatMap(([range, { heat }]) => unknownIn(heat, range))
    .filter(({ fromMs }) => fromMs < scene.missingToMs)
  // Stripes take longer than all other parts, and most scenes have none.
  if (unknown.length === 0) return
  context.save()
  context.beginPath()
  for (const { fromMs, toMs } of unknown) {
    const x = toX(fromMs)
    context.rect(x, 0, toX(Math.min(toMs, scene.missingToMs)) - x, plot.height)
  }
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

function drawCells({ context, scene, toX, toY }: Drawing, { heat }: Layer): void {
  const picture = paintCells(heat, scene)
  const startMs = Date.parse(heat.from)
  const endMs = startMs + picture.width * heat.stepMs
  context.imageSmoothingEnabled = false
  const x = toX(startMs)
  context.drawImage(picture, x, toY(1), toX(endMs) - x, toY(0) - toY(1))
}

const BEST_WIDTH = 1.75

type Step = { x: number; endX: number; y: number; beforeY: number }

/**
 * Best bid and ask as steps, broken where nothing is known. Rectangles, because a path of as many
 * lines takes ten times as long.
 */
function drawBest(draw: Drawing, { heat }: Layer, range: Range): void {
  const { context, scene } = draw
  for (const side of ['bid', 'ask'] as const) {
    const steps = stepsOf(draw, heat, range, side)
    for (const [color, width] of [
      [scene.colors.ground, BEST_WIDTH + HALO],
      [scene.colors[side], BEST_WIDTH],
    ] as const) {
      const half = width / 2
      context.fillStyle = color
      for (const { x, endX, y, beforeY } of steps) {
        context.fillRect(x - half, y - half, endX - x + width, width)
        const top = Math.min(y, beforeY)
        if (beforeY !== y)
          context.fillRect(x - half, top - half, width, Math.abs(y - beforeY) + width)
      }
    }
  }
}

/** Neighbouring columns of one price are one step. */
function stepsOf({ toX, toY }: Drawing, heat: Heatmap, range: Range, side: 'bid' | 'ask'): Step[] {
  const startMs = Date.parse(heat.from)
  const { first, end } = columnsIn(heat, range)
  const steps: Step[] = []
  let before: Step | undefined
  for (let index = first; index < end; index++) {
    const price = heat.columns[index]?.[side] ?? null
    if (price === null) {
      before = undefined
      continue
    }
    const y = toY(price)
    const endX = toX(startMs + (index + 1) * heat.stepMs)
    if (before?.y === y) before.endX = endX
    else {
      const x = toX(startMs + index * heat.stepMs)
      before = { x, endX, y, beforeY: before?.y ?? y }
      steps.push(before)
    }
  }
  return steps
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
  // Crosses above diamonds, which are larger and would hide them.
  for (const kind of ['traded', 'pulled'] as const) {
    for (let index = first; index < end; index++) {
      const price = marks.prices[index] ?? 0
      if (removedKinds[marks.groups[index] ?? 0] !== kind) continue
      if (price < scene.prices.low || price > scene.prices.high) continue
      const radius = marks.radii[index] ?? 0
      const stamp = stampOf(kind, radius, scene.colors)
      const size = stamp.width / devicePixelRatio
      // Not cut at the edges.
      const y = Math.min(plot.height - radius, Math.max(radius, toY(price)))
      const x = toX(marks.times[index] ?? 0)
      context.drawImage(stamp, toPixel(x - size / 2), toPixel(y - size / 2), size, size)
    }
  }
}

/** A stamp that lies between pixels would be blurred. */
const toPixel = (length: number): number => Math.round(length * devicePixelRatio) / devicePixelRatio

type RemovedKind = (typeof removedKinds)[number]

/** Marks as pictures to copy: as paths, some hundred marks take ten times as long. */
const stamps = new WeakMap<Colors, Map<string, HTMLCanvasElement>>()
const STAMP_STEPS = 4

function stampOf(kind: RemovedKind, wanted: number, colors: Colors): HTMLCanvasElement {
  const radius = Math.round(wanted * STAMP_STEPS) / STAMP_STEPS
  const ratio = devicePixelRatio
  const known = stamps.get(colors) ?? new Map<string, HTMLCanvasElement>()
  stamps.set(colors, known)
  const name = `${kind} ${radius} ${ratio}`
  const found = known.get(name)
  if (found !== undefined) return found
  const stamp = document.createElement('canvas')
  const half = Math.ceil(radius * DIAMOND + 2 * HALO)
  stamp.width = Math.round(2 * half * ratio)
  stamp.height = stamp.width
  const context = stamp.getContext('2d')
  known.set(name, stamp)
  if (context === null) return stamp
  context.setTransform(ratio, 0, 0, ratio, half * ratio, half * ratio)
  context.strokeStyle = colors.ground
  context.beginPath()
  if (kind === 'pulled') {
    context.moveTo(-radius, -radius)
    context.lineTo(radius, radius)
    context.moveTo(-radius, radius)
    context.lineTo(radius, -radius)
    context.lineWidth = CROSS_WIDTH + 2 * HALO
    context.stroke()
    context.lineWidth = CROSS_WIDTH
    context.strokeStyle = colors.pulled
    context.stroke()
  } else {
    const reach = radius * DIAMOND
    context.moveTo(0, -reach)
    context.lineTo(reach, 0)
    context.lineTo(0, reach)
    context.lineTo(-reach, 0)
    context.closePath()
    context.lineWidth = 2 * HALO
    context.stroke()
    context.fillStyle = colors.traded
    context.fill()
  }
  return stamp
}
const CROSS_WIDTH = 1.6

/** Smaller dots have no edge, which would hide them. */
const EDGED_MIN = 2.5
/** Smaller dots are above crosses. */
const SMALL_DOT = 5

type Dot = { x: number; y: number; radius: number; color: string }

/** Visible trades, the largest first, so that smaller ones are above them. */
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

/** Lines through a moment and a price, with both on the axes. */
function drawCrosshair(draw: Drawing, { cursorMs, price }: Crosshair): void {
  const { context, scene, plot, toX, toY } = draw
  const { colors } = scene
  drawIn(draw, scene.view, () => {
    const x = Math.round(toX(cursorMs)) + 0.5
    context.strokeStyle = colors.ink
    context.lineWidth = 1
    context.setLineDash([4, 3])
    context.beginPath()
    context.moveTo(x, 0)
    context.lineTo(x, plot.height)
    if (price !== undefined) {
      const y = Math.round(toY(price)) + 0.5
      context.moveTo(0, y)
      context.lineTo(plot.width, y)
    }
    context.stroke()
  })
  if (price === undefined) return
  setFont(context)
  context.textBaseline = 'middle'
  const y = Math.min(plot.height - 8, Math.max(8, toY(price)))
  const label = { x: plot.width + AXIS_WIDTH / 2, y, width: AXIS_WIDTH - 2 }
  const [whole] = scene.layers
  const shown = whole ? priceOfBin(whole.heat, binOf(whole.heat, price)) : price
  drawLabel(context, colors, { ...label, text: showPrice(shown) })
  const x = Math.min(plot.width - 40, Math.max(40, toX(cursorMs)))
  drawLabel(context, colors, { x, y: timeLabelY(plot), width: 80, text: showMoment(cursorMs) })
}

const AXIS_FONT = '11px system-ui, sans-serif'

/** Sets the font of charts if it is another: setting it makes the browser compute styles. */
export function setFont(context: CanvasRenderingContext2D): void {
  if (context.font !== AXIS_FONT) context.font = AXIS_FONT
}

const timeLabelY = ({ height }: Drawing['plot']): number => height + AXIS_HEIGHT / 2 + 2

export const TICK_LENGTHS_MS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
  14_400,
].map((seconds) => seconds * 1000)
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
  const { view, colors } = scene
  context.fillStyle = colors.soft
  setFont(context)
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
  for (let ms = Math.ceil(view.fromMs / stepMs) * stepMs; ms <= view.toMs; ms += stepMs) {
    const x = toX(ms)
    if (x < LABEL_HALF || x > plot.width - LABEL_HALF) continue
    context.fillText(show(ms), x, timeLabelY(plot))
  }
}

type Label = { x: number; y: number; width: number; text: string }

/** The value of the crosshair on an axis. */
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
