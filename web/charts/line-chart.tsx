/** Lines over time with the axis of the page; a null is a gap and is drawn as one. */

import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

import 'uplot/dist/uPlot.min.css'
import { showTime } from '../lib/format.ts'
import { useStore } from '../lib/store.ts'
import { colorOf, themeStore } from '../lib/theme.ts'
import { indexAt } from './find-at.ts'
import { AXIS_WIDTH, markRange, TICK_LENGTHS_MS } from './heat-canvas.ts'
import type { LineData } from './line-data.ts'
import type { TimeAxis } from './time-axis.ts'

export type Line = { name: string; color: string; isStepped?: boolean; dash?: number[] }

const LABEL_PX = 52

type Props = {
  axis: TimeAxis
  data: LineData
  lines: readonly Line[]
  height: number
  /** Fixed, or as the data has it. */
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
  const chart = useRef<uPlot | undefined>(undefined)

  useEffect(() => {
    const element = host.current
    if (element === null) return
    const plot = new uPlot(
      optionsOf({ axis, lines, height, range, showValue }, element.clientWidth),
      data as uPlot.AlignedData,
      element,
    )
    chart.current = plot
    canvasRef.current = plot.ctx.canvas
    const look = () => {
      const [min, max] = toSeconds(axis)
      plot.setScale('x', { min, max })
    }
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const back = () => axis.view.set(axis.whole)
    element.addEventListener('dblclick', back)
    const ends = [
      axis.view.subscribe(look),
      axis.cursorMs.subscribe(() => point(plot, axis)),
      axis.marked.subscribe(() => plot.redraw(false)),
    ]
    return () => {
      for (const end of ends) end()
      element.removeEventListener('dblclick', back)
      resize.disconnect()
      plot.destroy()
    }
  }, [axis, theme, lines, height])

  useLayoutEffect(() => chart.current?.setData(data as uPlot.AlignedData), [data])

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

/** Without those that the edges would cut. */
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
      // What prevailed, as in the figures: the nearest point may be a later one.
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
        // As the heat map.
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
        // Ticks that are closer than a value is shown with would say the same.
        values: (_, values) => {
          const texts = values.map((value) => showValue(value))
          return texts.map((text, index) => (text === texts[index - 1] ? '' : text))
        },
      },
    ],
    series: [
      {},
      ...lines.map(({ name, color, isStepped = true, dash }) => ({
        label: name,
        stroke: colorOf(color),
        width: 1.6,
        points: { show: false },
        ...(dash ? { dash } : {}),
        ...(isStepped ? { paths: uPlot.paths.stepped?.({ align: 1 }) } : {}),
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

/** The part of the time that is marked on the page, below the lines. */
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

/** Puts the crosshair where that of the page is. */
function point(plot: uPlot, { cursorMs }: TimeAxis): void {
  const left = plot.valToPos(cursorMs.get() / 1000, 'x')
  plot.setCursor({ left, top: 1 }, false)
}
