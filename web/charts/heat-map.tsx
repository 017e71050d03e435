import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'

import type { Heatmap, Trade } from '../lib/bodies.ts'
import { useStore } from '../lib/store.ts'
import { themeStore } from '../lib/theme.ts'
import { AXIS_WIDTH, drawScene, paintCells, readColors, type Scene } from './heat-canvas.ts'
import { pan, type TimeAxis, zoom } from './time-axis.ts'

type Props = {
  axis: TimeAxis
  heat: Heatmap
  trades: readonly Trade[]
  cutOff: number
  canvasRef: { current: HTMLCanvasElement | null }
}

const ZOOM = 1.2

export function HeatMap({ axis, heat, trades, cutOff, canvasRef }: Props) {
  const theme = useStore(themeStore)
  // Colours are read when the theme changes, and at no other time: that asks for the layout.
  const colors = useMemo(() => (theme ? readColors() : readColors()), [theme])
  const cells = useMemo(() => paintCells(heat, cutOff, colors), [heat, cutOff, colors])
  const scene = useRef<Omit<Scene, 'view' | 'cursorMs'>>({ heat, cells, trades, colors })
  scene.current = { heat, cells, trades, colors }

  useLayoutEffect(() => {
    const canvas = canvasRef.current
    if (canvas === null) return
    let frame = 0
    const draw = () => {
      frame = 0
      const [view, cursorMs] = [axis.view.get(), axis.cursorMs.get()]
      drawScene(canvas, { ...scene.current, view, cursorMs })
      performance.mark('heat-drawn')
    }
    const ask = () => {
      if (frame === 0) frame = requestAnimationFrame(draw)
    }
    const resize = new ResizeObserver(() => fit(canvas) && draw())
    resize.observe(canvas)
    const ends = [axis.view.subscribe(ask), axis.cursorMs.subscribe(ask), steer(canvas, axis)]
    fit(canvas)
    draw()
    return () => {
      resize.disconnect()
      cancelAnimationFrame(frame)
      for (const end of ends) end()
    }
  }, [axis, heat, cells, trades])

  return (
    <canvas
      ref={canvasRef}
      class="heat"
      role="img"
      aria-label={`Sizes of bids and asks of ${heat.outcome} by price and time; the ladder shows the numbers of a moment`}
    />
  )
}

/** Gives the picture as many pixels as it is shown with; true where they were other ones. */
export function fit(canvas: HTMLCanvasElement): boolean {
  const width = Math.round(canvas.clientWidth * devicePixelRatio)
  const height = Math.round(canvas.clientHeight * devicePixelRatio)
  if (canvas.width === width && canvas.height === height) return false
  Object.assign(canvas, { width, height })
  return true
}

/** Points with the mouse or a finger, drags to pan, zooms with the wheel. */
function steer(canvas: HTMLCanvasElement, axis: TimeAxis): () => void {
  let draggedX: number | undefined
  const width = () => canvas.clientWidth - AXIS_WIDTH
  const timeAt = (x: number) => {
    const { fromMs, toMs } = axis.view.get()
    return fromMs + (Math.min(Math.max(x, 0), width()) / width()) * (toMs - fromMs)
  }
  const aborter = new AbortController()
  const { signal } = aborter
  canvas.addEventListener(
    'pointermove',
    ({ offsetX, buttons }) => {
      if (buttons === 1 && draggedX !== undefined) {
        const { fromMs, toMs } = axis.view.get()
        pan(axis, ((draggedX - offsetX) / width()) * (toMs - fromMs))
        draggedX = offsetX
      } else axis.cursorMs.set(timeAt(offsetX))
    },
    { signal },
  )
  canvas.addEventListener(
    'pointerdown',
    (event) => {
      draggedX = event.offsetX
      axis.cursorMs.set(timeAt(event.offsetX))
      canvas.setPointerCapture(event.pointerId)
    },
    { signal },
  )
  canvas.addEventListener('pointerup', () => (draggedX = undefined), { signal })
  canvas.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault()
      zoom(axis, timeAt(event.offsetX), event.deltaY > 0 ? ZOOM : 1 / ZOOM)
    },
    { signal, passive: false },
  )
  return () => aborter.abort()
}
