/** Cumulative depth of a book: the shares that can be sold down to a price, or bought up to one. */

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'

import type { Book, Level } from '../lib/bodies.ts'
import { showCompact } from '../lib/format.ts'
import { createFrame } from '../lib/frame.ts'
import { useStore } from '../lib/store.ts'
import { colorOf, themeStore } from '../lib/theme.ts'
import { setFont } from './heat-canvas.ts'
import { fit } from './heat-map.tsx'

type Props = { book: Book | undefined; canvasRef: { current: HTMLCanvasElement | null } }
const AXIS = 18

export function DepthChart({ book, canvasRef }: Props) {
  const theme = useStore(themeStore)
  const colors = useMemo(() => readColors(), [theme])
  const redraw = useRef(() => {})
  redraw.current = () => canvasRef.current && draw(canvasRef.current, book, colors)
  // In the frame of the ladder, which shows the same book. Text on a canvas computes styles, which
  // the other charts of that frame then share.
  const frame = useMemo(() => createFrame(() => redraw.current()), [])
  useLayoutEffect(frame.request, [book, colors])
  useLayoutEffect(() => {
    const canvas = canvasRef.current
    if (canvas === null) return
    const resize = new ResizeObserver(() => fit(canvas) && redraw.current())
    resize.observe(canvas)
    return () => resize.disconnect()
  }, [])
  return (
    <canvas ref={canvasRef} class="depth" role="img" aria-label="Cumulative depth of the book" />
  )
}

type Point = { price: number; total: number }

function accumulate(levels: readonly Level[]): Point[] {
  let total = 0
  return levels.map(({ price, size }) => {
    total += size
    return { price, total }
  })
}

type Colors = ReturnType<typeof readColors>

const readColors = () => ({
  bid: colorOf('--bid'),
  ask: colorOf('--ask'),
  soft: colorOf('--ink-soft'),
  line: colorOf('--line'),
})

function draw(canvas: HTMLCanvasElement, book: Book | undefined, colors: Colors): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const width = canvas.width / devicePixelRatio
  const height = canvas.height / devicePixelRatio
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
  context.clearRect(0, 0, width, height)
  const [bids, asks] = [accumulate(book?.bids ?? []), accumulate(book?.asks ?? [])]
  const most = Math.max(bids.at(-1)?.total ?? 0, asks.at(-1)?.total ?? 0, 1)
  const floor = height - AXIS
  const toX = (price: number) => price * width
  const toY = (total: number) => floor - (total / most) * (floor - 14)
  setFont(context)
  context.fillStyle = colors.soft
  context.textAlign = 'center'
  for (const price of [0.25, 0.5, 0.75]) {
    context.strokeStyle = colors.line
    context.strokeRect(Math.round(toX(price)) + 0.5, 0, 0, floor)
    context.fillText(`${price * 100}¢`, toX(price), height - 4)
  }
  for (const [points, color, edge] of [
    [bids, colors.bid, 0],
    [asks, colors.ask, 1],
  ] as const) {
    const [first] = points
    if (first === undefined) continue
    context.beginPath()
    context.moveTo(toX(first.price), floor)
    let y = floor
    for (const { price, total } of points) {
      context.lineTo(toX(price), y)
      y = toY(total)
      context.lineTo(toX(price), y)
    }
    context.lineTo(toX(edge), y)
    context.strokeStyle = color
    context.lineWidth = 1.6
    context.stroke()
    context.lineTo(toX(edge), floor)
    context.globalAlpha = 0.16
    context.fillStyle = color
    context.fill()
    context.globalAlpha = 1
  }
  if (book === undefined) return
  context.fillStyle = colors.soft
  context.textAlign = 'left'
  context.fillText(`${showCompact(bids.at(-1)?.total ?? 0)} shares bid`, 4, 11)
  context.textAlign = 'right'
  context.fillText(`${showCompact(asks.at(-1)?.total ?? 0)} offered`, width - 4, 11)
}
