import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'

import type { Heatmap, Trade } from '../lib/bodies.ts'
import { outcomeNames } from '../lib/format.ts'
import { createFrame } from '../lib/frame.ts'
import { createStore, type Store, useStore } from '../lib/store.ts'
import { themeStore } from '../lib/theme.ts'
import {
  AXIS_HEIGHT,
  AXIS_WIDTH,
  createPainter,
  type Layer,
  readColors,
  type Shading,
} from './heat-canvas.ts'
import { binOf, cellAt, finestOf, priceOfBin } from './heat-columns.ts'
import { baseOf, type Edge } from './heat-live.ts'
import { markSizes, removedMarks, tradeMarks } from './heat-marks.ts'
import { type BestPrices, readoutAt } from './heat-readout.ts'
import type { Marks } from './merge-marks.ts'
import { panPrices, pricesOf, zoomPrices } from './price-view.ts'
import { pan, pointAt, type Prices, type TimeAxis, zoom } from './time-axis.ts'

type Props = {
  axis: TimeAxis
  heat: Heatmap
  /** Finer columns of a part of it. */
  finer: Heatmap | undefined
  /** Best prices for the readout. */
  best: BestPrices
  trades: readonly Trade[]
  edge: () => Edge
  shading: Shading
  /** True if removed sizes are marked. */
  hasMarks: boolean
  canvasRef: { current: HTMLCanvasElement | null }
}

const ZOOM = 1.2

export function HeatMap(props: Props) {
  const { axis, heat, finer, best, trades, edge, shading, hasMarks, canvasRef } = props
  const { cutOff, scale } = shading
  const theme = useStore(themeStore)
  // Only when the theme changes: reading a colour makes the browser compute styles.
  const colors = useMemo(() => readColors(), [theme])
  const wholeMarks = useRemoved(heat, cutOff, hasMarks)
  const finerMarks = useRemoved(finer, cutOff, hasMarks)
  const layers = useMemo((): Layer[] => {
    const whole = { heat, removed: wholeMarks }
    return finer === undefined ? [whole] : [whole, { heat: finer, removed: finerMarks }]
  }, [heat, wholeMarks, finer, finerMarks])
  const dots = useMemo(() => tradeMarks(trades, heat), [trades, heat.outcome])
  const price = useMemo(() => createStore<number | undefined>(undefined), [axis])
  const readout = useRef<HTMLOutputElement>(null)
  const spoken = useRef<HTMLParagraphElement>(null)
  const latest = { layers, cutOff, scale, colors, trades: dots, edge, best }
  const scene = useRef(latest)
  scene.current = latest

  const crosshair: Crosshair = {
    axis,
    price,
    heats: () => scene.current.layers.map((layer) => layer.heat),
    best: () => scene.current.best,
    prices: () => {
      const view = axis.view.get()
      return pricesOf(axis.prices.get(), finestOf(crosshair.heats(), view), view)
    },
    edge: () => scene.current.edge(),
    say: (text) => {
      if (spoken.current) spoken.current.textContent = text
    },
  }

  const redraw = useRef(() => {})
  useLayoutEffect(() => {
    const canvas = canvasRef.current
    if (canvas === null) return
    const paint = createPainter(canvas)
    const draw = () => {
      const cursorMs = axis.cursorMs.get()
      const { edge: edgeNow, best: bestNow, ...parts } = scene.current
      const now = edgeNow()
      const drawn = {
        ...parts,
        missingToMs: now.missingToMs,
        view: axis.view.get(),
        prices: crosshair.prices(),
        marked: axis.marked.get(),
      }
      paint(drawn, { cursorMs, price: price.get() })
      const text = readoutAt(crosshair.heats(), bestNow, cursorMs, price.get(), now)
      if (readout.current && readout.current.textContent !== text)
        readout.current.textContent = text
      performance.mark('heat-drawn')
    }
    const frame = createFrame(draw)
    const resize = new ResizeObserver(() => fit(canvas) && draw())
    resize.observe(canvas)
    const ends = [
      axis.view.subscribe(frame.request),
      axis.prices.subscribe(frame.request),
      axis.cursorMs.subscribe(frame.request),
      axis.marked.subscribe(frame.request),
      price.subscribe(frame.request),
      steer(canvas, crosshair),
    ]
    redraw.current = frame.request
    return () => {
      resize.disconnect()
      frame.cancel()
      for (const end of ends) end()
    }
  }, [axis])
  useLayoutEffect(() => redraw.current(), [axis, layers, cutOff, scale, colors, dots, best])

  return (
    <>
      <output ref={readout} class="heat-readout note num" aria-live="off" />
      <div
        class="heat-frame"
        tabIndex={0}
        role="application"
        aria-label={`Sizes of bids and asks of ${outcomeNames[heat.outcome]} by price and time. Arrow keys move the crosshair, plus and minus zoom, F fits the prices to the mid.`}
        onKeyDown={(event) => press(event, crosshair)}
      >
        <canvas ref={canvasRef} class="heat" />
      </div>
      <p ref={spoken} class="sr" role="status" />
    </>
  )
}

/** Marks of removed sizes. Later books change none of them. */
function useRemoved(heat: Heatmap | undefined, cutOff: number, hasMarks: boolean): Marks {
  const base = heat && baseOf(heat)
  return useMemo(
    () => (base && hasMarks ? removedMarks(base, markSizes(cutOff)) : nothing),
    [base, cutOff, hasMarks],
  )
}

const nothing: Marks = {
  times: new Float64Array(0),
  prices: new Float64Array(0),
  radii: new Float64Array(0),
  groups: new Uint8Array(0),
}

/** Sets the size of the canvas to the device pixels that it covers; false if it already has it. */
export function fit(canvas: HTMLCanvasElement): boolean {
  const width = Math.round(canvas.clientWidth * devicePixelRatio)
  const height = Math.round(canvas.clientHeight * devicePixelRatio)
  if (canvas.width === width && canvas.height === height) return false
  Object.assign(canvas, { width, height })
  return true
}

/** The crosshair: a moment, which all charts share, and a price. */
type Crosshair = {
  axis: TimeAxis
  price: Store<number | undefined>
  /** The drawn heat maps, the finest last. */
  heats: () => Heatmap[]
  best: () => BestPrices
  /** The prices in view. */
  prices: () => Prices
  edge: () => Edge
  /** Announces the crosshair to a screen reader. */
  say: (text: string) => void
}

/** Fingers that are closer do not zoom. */
const PINCH_PX_MIN = 20

/**
 * Points with the mouse or a finger, drags to pan, zooms with the wheel or two fingers. One finger
 * that moves up or down scrolls the page: the browser takes it away by `pointercancel`. With Shift,
 * and beside the prices, the wheel and two fingers zoom prices; a double click shows all of them.
 */
function steer(canvas: HTMLCanvasElement, { axis, price, prices }: Crosshair): () => void {
  /** Positions of pressed pointers, at most two. */
  const down = new Map<number, { x: number; y: number }>()
  const width = () => canvas.clientWidth - AXIS_WIDTH
  const height = () => canvas.clientHeight - AXIS_HEIGHT
  const timeAt = (x: number) => {
    const { fromMs, toMs } = axis.view.get()
    return fromMs + (Math.min(Math.max(x, 0), width()) / width()) * (toMs - fromMs)
  }
  const priceAt = (y: number) => {
    const { low, high } = prices()
    return Math.min(high, Math.max(low, high - (y / height()) * (high - low)))
  }
  const zoomPrice = (y: number, factor: number) =>
    axis.prices.set(zoomPrices(prices(), priceAt(y), factor))
  const point = ({ offsetX, offsetY }: MouseEvent) => {
    axis.cursorMs.set(timeAt(offsetX))
    price.set(priceAt(offsetY))
  }
  /** Keeps the point between two fingers in place. */
  const drag = ({ pointerId, offsetX: x, offsetY: y }: PointerEvent) => {
    const before = down.get(pointerId)
    if (before === undefined) return
    const [, still] = [...down].find(([id]) => id !== pointerId) ?? []
    down.set(pointerId, { x, y })
    if (still === undefined) {
      const { fromMs, toMs } = axis.view.get()
      pan(axis, ((before.x - x) / width()) * (toMs - fromMs))
      const { low, high } = prices()
      const by = ((y - before.y) / height()) * (high - low)
      if (typeof axis.prices.get() === 'object') axis.prices.set(panPrices(prices(), by))
      return
    }
    const spreadTo = (at: typeof still) =>
      Math.max(PINCH_PX_MIN, Math.hypot(at.x - still.x, at.y - still.y))
    if (Math.min(x, still.x) > width()) {
      zoomPrice((y + still.y) / 2, spreadTo(before) / spreadTo({ x, y }))
      return
    }
    const middleMs = timeAt((before.x + still.x) / 2)
    const part = (x + still.x) / 2 / width()
    zoom(axis, middleMs, spreadTo(before) / spreadTo({ x, y }), part)
  }
  const aborter = new AbortController()
  const { signal } = aborter
  canvas.addEventListener(
    'pointermove',
    (event) => {
      if (event.buttons === 0) down.delete(event.pointerId)
      if (down.has(event.pointerId)) drag(event)
      else if (down.size === 0) point(event)
    },
    { signal },
  )
  canvas.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0 || down.size === 2) return
      if (down.size === 0) point(event)
      down.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
      canvas.setPointerCapture(event.pointerId)
    },
    { signal },
  )
  const lift = ({ pointerId }: PointerEvent) => void down.delete(pointerId)
  canvas.addEventListener('pointerup', lift, { signal })
  canvas.addEventListener('pointercancel', lift, { signal })
  canvas.addEventListener(
    'touchmove',
    // Two fingers zoom; the page would scroll with them.
    (event) => event.touches.length > 1 && event.preventDefault(),
    { signal, passive: false },
  )
  canvas.addEventListener(
    'pointerleave',
    // A finger that is lifted leaves the crosshair where it was.
    ({ pointerType }) => pointerType !== 'touch' && price.set(undefined),
    { signal },
  )
  canvas.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault()
      // With Shift, some systems turn the wheel sideways.
      const factor = event.deltaY + event.deltaX > 0 ? ZOOM : 1 / ZOOM
      if (event.shiftKey || event.offsetX > width()) zoomPrice(event.offsetY, factor)
      else zoom(axis, timeAt(event.offsetX), factor)
    },
    { signal, passive: false },
  )
  canvas.addEventListener('dblclick', () => axis.prices.set('all'), { signal })
  return () => aborter.abort()
}

/** Moves by columns, and by bins of price. */
function move({ axis, price, heats }: Crosshair, columns: number, bins: number): void {
  const { whole } = axis
  const ms = axis.cursorMs.get()
  const heat = finestOf(heats(), { fromMs: ms, toMs: ms })
  if (heat === undefined) return
  const nextMs = Math.min(whole.toMs, Math.max(whole.fromMs, ms + columns * heat.stepMs))
  pointAt(axis, nextMs)
  const now = price.get()
  // It appears at the best bid.
  const start = cellAt(heat, nextMs, 0)?.column?.bid ?? 0.5
  const bin = now === undefined ? binOf(heat, start) : binOf(heat, now) + bins
  const last = Math.round(1 / heat.priceStep) - 1
  // The middle of a bin.
  price.set(priceOfBin(heat, Math.min(last, Math.max(0, bin)) + 0.5))
}

/** Arrow keys move by a column or a bin of price, with Shift by ten; plus, minus and zero zoom. */
function press(event: KeyboardEvent, crosshair: Crosshair): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const { axis, price, heats, best, edge, say } = crosshair
  const steps = event.shiftKey ? 10 : 1
  const deeds: Record<string, () => void> = {
    ArrowLeft: () => move(crosshair, -steps, 0),
    ArrowRight: () => move(crosshair, steps, 0),
    ArrowUp: () => move(crosshair, 0, steps),
    ArrowDown: () => move(crosshair, 0, -steps),
    '+': () => zoom(axis, axis.cursorMs.get(), 1 / ZOOM),
    '=': () => zoom(axis, axis.cursorMs.get(), 1 / ZOOM),
    '-': () => zoom(axis, axis.cursorMs.get(), ZOOM),
    '0': () => axis.view.set(axis.whole),
    f: () => axis.prices.set(axis.prices.get() === 'fit' ? 'all' : 'fit'),
    Escape: () => price.set(undefined),
  }
  const deed = deeds[event.key]
  if (deed === undefined) return
  event.preventDefault()
  // The player moves by seconds.
  event.stopPropagation()
  deed()
  say(readoutAt(heats(), best(), axis.cursorMs.get(), price.get(), edge()))
}
