/** Lines over time with the axis of the page; a null is a gap and is drawn as one. */

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

import 'uplot/dist/uPlot.min.css'
import { showTime } from '../lib/format.ts'
import { createFrame } from '../lib/frame.ts'
import { useStore } from '../lib/store.ts'
import { colorOf, themeStore } from '../lib/theme.ts'
import { indexAt } from './find-at.ts'
import { AXIS_WIDTH, markRange, TICK_LENGTHS_MS } from './heat-canvas.ts'
import type { LineData } from './line-data.ts'
import type { TimeAxis } from './time-axis.ts'

/** `dash`: lengths of dashes and of the spaces between them. */
export type Line = { name: string; color: string; dash?: readonly [on: number, off: number] }

const LABEL_PX = 52

type Props = {
  axis: TimeAxis
  data: LineData
  lines: readonly Line[]
  height: number
  /** Fixed bounds of the values; by default those of the data. */
  range?: [min: number, max: number]
  showValue: (value: number) => string
  label: string
  canvasRef: { current: HTMLCanvasElement | null }
}

export function LineChart({
  axis,
  data,
  lines,
  height,
  range,
  showValue,
  label,
  canvasRef,
}: Props) {
  const theme = useStore(themeStore)
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(data)
  latest.current = data
  const redraw = useRef<() => unknown>(() => {})

  useEffect(() => {
    const element = host.current
    if (element === null) return
    const plot = new uPlot(
      optionsOf({ axis, lines, height, range, showValue }, element.clientWidth),
      data as uPlot.AlignedData,
      element,
    )
    canvasRef.current = plot.ctx.canvas
    // Once a frame for all changes: rows and the view change together.
    const frame = createFrame(() => {
      const [min, max] = toSeconds(axis)
      plot.batch(() => {
        if (plot.data !== latest.current) plot.setData(latest.current as uPlot.AlignedData, false)
        plot.setScale('x', { min, max })
      })
    })
    redraw.current = () => plot.data !== latest.current && frame.request()
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const back = () => axis.view.set(axis.whole)
    element.addEventListener('dblclick', back)
    const ends = [
      axis.view.subscribe(frame.request),
      axis.cursorMs.subscribe(() => point(plot, axis)),
      axis.marked.subscribe(() => plot.redraw(false)),
    ]
    return () => {
      frame.cancel()
      for (const end of ends) end()
      element.removeEventListener('dblclick', back)
      resize.disconnect()
      plot.destroy()
    }
  }, [axis, theme, lines, height])

  useLayoutEffect(() => void redraw.current(), [data])

  return (
    <div
      ref={host}
      class="line-chart"
      role="img"
      aria-label={label}
      style={{ height: `${height}px` }}
    />
  )
}

/** Labels of times; empty for one that an edge would cut. */
const showTimes = (plot: uPlot, seconds: number[]): string[] =>
  seconds.map((second) => {
    const x = plot.valToPos(second, 'x')
    const isCut = x < LABEL_PX / 2 || x > plot.width - AXIS_WIDTH - LABEL_PX / 2
    return isCut ? '' : showTime(second * 1000)
  })

const toSeconds = ({ view }: TimeAxis): [number, number] => {
  const { fromMs, toMs } = view.get()
  return [fromMs / 1000, toMs / 1000]
}

type Look = Pick<Props, 'axis' | 'lines' | 'height' | 'showValue'> & { range: Props['range'] }

function optionsOf({ axis, lines, height, range, showValue }: Look, width: number): uPlot.Options {
  const soft = colorOf('--ink-soft')
  const grid = colorOf('--line')
  const shared = { stroke: soft, font: '11px system-ui, sans-serif' }
  return {
    width,
    height,
    padding: [6, 0, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: true, y: false, setScale: false },
      // The state at the time, as in the figures: the nearest point may be later.
      dataIdx: ({ data }, line) => {
        const at = indexAt(data[0], axis.cursorMs.get() / 1000)
        return data[line]?.[at] == null ? null : at
      },
    },
    scales: { x: { time: true, range: () => toSeconds(axis) }, y: range ? { range } : {} },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    axes: [
      {
        ...shared,
        size: 24,
        space: 90,
        // The format of the heat map.
        incrs: TICK_LENGTHS_MS.map((ms) => ms / 1000),
        ticks: { show: false },
        grid: { stroke: grid, width: 1 },
        values: showTimes,
      },
      {
        ...shared,
        font: '10px system-ui, sans-serif',
        gap: 2,
        side: 1,
        size: AXIS_WIDTH,
        ticks: { show: false },
        grid: { stroke: grid, width: 1 },
        // Ticks that are closer than the rounding of values would have the same text.
        values: (_, values) => {
          const texts = values.map((value) => showValue(value))
          return texts.map((text, index) => (text === texts[index - 1] ? '' : text))
        },
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: colorOf(line.color),
        width: LINE_WIDTH,
        points: { show: false },
        paths: drawSteps(line),
      })),
    ],
    hooks: {
      drawAxes: [(self) => mark(self, axis)],
      draw: [(self) => point(self, axis)],
      setCursor: [
        ({ cursor, posToVal }) => {
          const { left = -1, event } = cursor
          if (event && left >= 0) axis.cursorMs.set(posToVal(left, 'x') * 1000)
        },
      ],
      setSelect: [
        (self) => {
          const { left, width } = self.select
          if (width < 4) return
          const from = self.posToVal(left, 'x')
          const to = self.posToVal(left + width, 'x')
          axis.view.set({ fromMs: from * 1000, toMs: to * 1000 })
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  } as uPlot.Options
}

const LINE_WIDTH = 1.6

/**
 * Draws a line of steps as rectangles: a path of as many steps takes ten times as long. A value
 * holds until the next one, and a null ends it.
 */
function drawSteps({ color, dash }: Line): uPlot.Series.PathBuilder {
  const fillStyle = colorOf(color)
  return ({ ctx, bbox, data, valToPos }, line, first, last) => {
    const [times] = data
    const values = data[line] ?? []
    const width = LINE_WIDTH * devicePixelRatio
    const [on, off] = (dash ?? [Infinity, 0]).map((length) => length * devicePixelRatio) as [
      number,
      number,
    ]
    /** Draws a straight line in dashes, aligned to the canvas so that new steps move none. */
    const draw = (from: number, to: number, put: (from: number, length: number) => void) => {
      if (off === 0) put(from, to - from)
      else
        for (let at = Math.floor(from / (on + off)) * (on + off); at < to; at += on + off) {
          const start = Math.max(from, at)
          const stop = Math.min(to, at + on)
          if (start < stop) put(start, stop - start)
        }
    }
    const toX = (index: number) => Math.round(valToPos(times[index] ?? 0, 'x', true))
    ctx.save()
    ctx.beginPath()
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
    ctx.clip()
    ctx.fillStyle = fillStyle
    let beforeY: number | undefined
    for (let index = first; index <= last;) {
      const value = values[index] ?? null
      let end = index + 1
      while (end <= last && values[end] === value) end++
      if (value === null) beforeY = undefined
      else {
        const x = toX(index)
        const endX = end < times.length ? toX(end) : x
        const y = Math.round(valToPos(value, 'y', true))
        if (beforeY !== undefined)
          draw(Math.min(y, beforeY), Math.max(y, beforeY) + width, (from, length) =>
            ctx.fillRect(x, from, width, length),
          )
        const right = bbox.left + bbox.width
        draw(Math.max(x, bbox.left), Math.min(endX + width, right), (from, length) =>
          ctx.fillRect(from, y, length, width),
        )
        beforeY = y
      }
      index = end
    }
    ctx.restore()
    return null
  }
}

/** Draws the marked time below the lines. */
function mark({ ctx, bbox, valToPos }: uPlot, { marked }: TimeAxis): void {
  const range = marked.get()
  if (range === undefined) return
  const toX = (ms: number) => valToPos(ms / 1000, 'x', true)
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  markRange(ctx, toX(range.fromMs), toX(range.toMs), ctx.canvas.height, colorOf('--accent'))
  ctx.restore()
}

/** Moves the crosshair to that of the page. */
function point(plot: uPlot, { cursorMs }: TimeAxis): void {
  const left = plot.valToPos(cursorMs.get() / 1000, 'x')
  plot.setCursor({ left, top: 1 }, false)
}
