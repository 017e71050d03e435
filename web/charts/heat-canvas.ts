/**
 * Draws a heat map. The cells are a picture of their own, a pixel each, made again when they or
 * the colours change; to pan and zoom only draws it elsewhere.
 */

import type { Heatmap, Trade } from '../lib/bodies.ts'
import { nowMs } from '../lib/clock.ts'
import { colorOf } from '../lib/theme.ts'
import { rampOf, stepOf, toRgb } from './heat-colors.ts'
import type { Range } from './time-axis.ts'

export const AXIS_WIDTH = 48
export const AXIS_HEIGHT = 22
const PRICE_LINES = [0, 0.25, 0.5, 0.75, 1]
const DOT_MIN = 1.5
const DOT_MAX = 5.5
const STRIPES = 8

export type Cells = { picture: HTMLCanvasElement; known: boolean[] }
type Colors = ReturnType<typeof readColors>

export const readColors = () => ({
  ground: colorOf('--surface'),
  bid: colorOf('--bid'),
  ask: colorOf('--ask'),
  line: colorOf('--line'),
  soft: colorOf('--ink-soft'),
  ink: colorOf('--ink'),
  raised: colorOf('--raised'),
})

/** The cells as a picture; a column in which nothing is known stays clear. */
export function paintCells(heat: Heatmap, cutOff: number, colors: Colors): Cells {
  const { columns, priceStep } = heat
  const height = Math.round(1 / priceStep)
  const picture = document.createElement('canvas')
  picture.width = Math.max(1, columns.length)
  picture.height = height
  const context = picture.getContext('2d')
  const image = context?.createImageData(picture.width, height)
  if (context == null || image === undefined) return { picture, known: [] }
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
      paintSide(sizes, cutOff, (index, step) => {
        pixels[bottom - index * picture.width] = ramps[side][step] ?? 0
      })
    }
  }
  context.putImageData(image, 0, 0)
  return { picture, known: columns.map((column) => column !== null) }
}

function paintSide(
  sizes: readonly number[],
  cutOff: number,
  put: (index: number, step: number) => void,
): void {
  for (let index = 0; index < sizes.length; index++) {
    const step = stepOf(sizes[index] ?? 0, cutOff)
    if (step > 0) put(index, step)
  }
}

export type Scene = {
  heat: Heatmap
  cells: Cells
  trades: readonly Trade[]
  view: Range
  cursorMs: number
  colors: Colors
}

export function drawScene(canvas: HTMLCanvasElement, scene: Scene): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const ratio = devicePixelRatio
  const [width, height] = [canvas.width / ratio, canvas.height / ratio]
  const plot = { width: width - AXIS_WIDTH, height: height - AXIS_HEIGHT }
  const { fromMs, toMs } = scene.view
  const toX = (ms: number) => ((ms - fromMs) / (toMs - fromMs)) * plot.width
  const toY = (price: number) => (1 - price) * plot.height
  const draw: Drawing = { context, scene, plot, toX, toY }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  context.save()
  context.beginPath()
  context.rect(0, 0, plot.width, plot.height)
  context.clip()
  drawUnknown(draw)
  drawCells(draw)
  drawBest(draw)
  drawTrades(draw)
  drawCursor(draw)
  context.restore()
  drawAxes(draw)
}

type Drawing = {
  context: CanvasRenderingContext2D
  scene: Scene
  plot: { width: number; height: number }
  toX: (ms: number) => number
  toY: (price: number) => number
}

/** Stripes over all of the past; what is known covers them. */
function drawUnknown({ context, plot, scene, toX }: Drawing): void {
  context.save()
  context.beginPath()
  context.rect(0, 0, toX(nowMs()), plot.height)
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

function drawCells({ context, scene, plot, toX }: Drawing): void {
  const { heat, cells } = scene
  const startMs = Date.parse(heat.from)
  const endMs = startMs + cells.picture.width * heat.stepMs
  context.imageSmoothingEnabled = false
  const x = toX(startMs)
  context.drawImage(cells.picture, x, 0, toX(endMs) - x, plot.height)
}

/** Best bid and ask as steps, broken where nothing is known. */
function drawBest({ context, scene, toX, toY }: Drawing): void {
  const { heat, view, colors } = scene
  const startMs = Date.parse(heat.from)
  for (const side of ['bid', 'ask'] as const) {
    context.strokeStyle = colors[side]
    context.lineWidth = 1.75
    context.beginPath()
    let isDown = false
    for (const [index, column] of heat.columns.entries()) {
      const fromMs = startMs + index * heat.stepMs
      if (fromMs + heat.stepMs < view.fromMs || fromMs > view.toMs) continue
      const price = column?.[side] ?? null
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
    context.stroke()
  }
}

function drawTrades({ context, scene, toX, toY }: Drawing): void {
  const { heat, view, colors, trades } = scene
  for (const { timestamp, price, size, side, outcome } of trades) {
    const ms = Date.parse(timestamp)
    if (ms < view.fromMs || ms > view.toMs) continue
    const isOwn = outcome === null || outcome === heat.outcome
    const isBuy = (side === 'buy') === isOwn
    const radius = Math.min(DOT_MAX, DOT_MIN + Math.log10(1 + (size ?? 0)) * 1.1)
    context.beginPath()
    context.arc(toX(ms), toY(isOwn ? price : 1 - price), radius, 0, 2 * Math.PI)
    context.fillStyle = side === null ? colors.soft : colors[isBuy ? 'bid' : 'ask']
    context.fill()
    context.lineWidth = 1
    context.strokeStyle = colors.ground
    context.stroke()
  }
}

function drawCursor({ context, scene, plot, toX }: Drawing): void {
  const x = Math.round(toX(scene.cursorMs)) + 0.5
  context.strokeStyle = scene.colors.ink
  context.lineWidth = 1
  context.setLineDash([4, 3])
  context.beginPath()
  context.moveTo(x, 0)
  context.lineTo(x, plot.height)
  context.stroke()
  context.setLineDash([])
}

const TICK_LENGTHS_MS = [1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400].map((s) => s * 1000)
const TICK_PX = 90

function drawAxes({ context, scene, plot, toX, toY }: Drawing): void {
  const { view, colors } = scene
  context.fillStyle = colors.soft
  context.font = '11px system-ui, sans-serif'
  context.textBaseline = 'middle'
  context.textAlign = 'left'
  for (const price of PRICE_LINES) {
    const y = Math.min(plot.height - 6, Math.max(6, toY(price)))
    context.fillText(`${price * 100}¢`, plot.width + 6, y)
  }
  context.textAlign = 'center'
  const wantedMs = ((view.toMs - view.fromMs) * TICK_PX) / plot.width
  const stepMs = TICK_LENGTHS_MS.find((length) => length >= wantedMs) ?? 86_400_000
  for (let ms = Math.ceil(view.fromMs / stepMs) * stepMs; ms <= view.toMs; ms += stepMs) {
    const x = toX(ms)
    if (x < 26 || x > plot.width - 26) continue
    context.fillText(new Date(ms).toISOString().slice(11, 19), x, plot.height + AXIS_HEIGHT / 2 + 2)
  }
}
