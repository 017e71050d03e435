/** The charts of the page: reliability of prices, and the equity curve of a rule. */

import { useLayoutEffect, useState } from 'preact/hooks'

import type { Equity } from '../../lib/backtest.ts'
import { type Column, verdictOf } from '../../lib/calibration.ts'
import {
  showCount,
  showDay,
  showDayMinute,
  showDollars,
  showMinute,
  showProfit,
  showSome,
} from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { colorOf, themeStore } from '../../lib/theme.ts'

type CanvasRef = { current: HTMLCanvasElement | null }
type Size = { width: number; height: number }
type Draw = (context: CanvasRenderingContext2D, size: Size) => void

const FONT = '11px system-ui, sans-serif'
const MARGIN = { left: 46, right: 18, top: 10, bottom: 34 }
const LABEL_PX = 72

/** A canvas that is painted again when its size, the theme or `shown` changes. */
function useCanvas(canvasRef: CanvasRef, draw: Draw, shown: readonly unknown[]): void {
  const theme = useStore(themeStore)
  const [size, setSize] = useState<Size>()
  useLayoutEffect(() => {
    const canvas = canvasRef.current
    if (canvas === null) return
    const measure = () => setSize({ width: canvas.clientWidth, height: canvas.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(canvas)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    const canvas = canvasRef.current
    const context = canvas?.getContext('2d')
    if (!canvas || !context || size === undefined) return
    canvas.width = Math.round(size.width * devicePixelRatio)
    canvas.height = Math.round(size.height * devicePixelRatio)
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
    context.font = FONT
    draw(context, size)
  }, [size, theme, ...shown])
}

function drawLine(
  context: CanvasRenderingContext2D,
  points: readonly (readonly [x: number, y: number])[],
  { color, width = 1, dash = [] }: { color: string; width?: number; dash?: number[] },
): void {
  context.beginPath()
  for (const [x, y] of points) context.lineTo(x, y)
  context.strokeStyle = color
  context.lineWidth = width
  context.setLineDash(dash)
  context.stroke()
  context.setLineDash([])
}

const verdictColors = { more: '--bid', less: '--ask', fits: '--ink-soft' } as const

type ReliabilityProps = { column: Column; label: string; canvasRef: CanvasRef }

/** Each bin at its mean price and the share that won, with the interval of the share. */
export function ReliabilityChart({ column, label, canvasRef }: ReliabilityProps) {
  useCanvas(canvasRef, (context, size) => drawReliability(context, size, column), [column])
  return <canvas ref={canvasRef} class="reliability" role="img" aria-label={label} />
}

function drawReliability(context: CanvasRenderingContext2D, size: Size, { bins }: Column): void {
  const { left, top } = MARGIN
  const width = size.width - left - MARGIN.right
  const height = size.height - top - MARGIN.bottom
  const toX = (price: number) => left + price * width
  const toY = (share: number) => top + (1 - share) * height
  const soft = colorOf('--ink-soft')
  const line = colorOf('--line')
  context.fillStyle = soft
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    drawLine(
      context,
      [
        [toX(part), toY(0)],
        [toX(part), toY(1)],
      ],
      { color: line },
    )
    drawLine(
      context,
      [
        [toX(0), toY(part)],
        [toX(1), toY(part)],
      ],
      { color: line },
    )
    context.textAlign = 'center'
    context.fillText(`${part * 100}¢`, toX(part), toY(0) + 15)
    context.textAlign = 'right'
    context.fillText(`${part * 100} %`, left - 6, toY(part) + 4)
  }
  context.textAlign = 'center'
  context.fillText('mean price', toX(0.5), size.height - 4)
  drawLine(
    context,
    [
      [toX(0), toY(0)],
      [toX(1), toY(1)],
    ],
    { color: soft, dash: [4, 4] },
  )
  const most = Math.max(...bins.map((bin) => bin?.count ?? 0))
  for (const bin of bins) {
    if (bin === undefined) continue
    const color = colorOf(verdictColors[verdictOf(bin)])
    const x = toX(bin.meanPrice)
    const { low, high } = bin.interval
    drawLine(
      context,
      [
        [x, toY(low)],
        [x, toY(high)],
      ],
      { color, width: 1.5 },
    )
    context.beginPath()
    context.arc(x, toY(bin.share), 2.5 + 4.5 * Math.sqrt(bin.count / most), 0, 2 * Math.PI)
    context.fillStyle = color
    context.fill()
  }
}

type EquityProps = { equity: Equity; label: string; canvasRef: CanvasRef }

/** The sum of profits by trade, after and before fees, and its value under the pointer. */
export function EquityChart({ equity, label, canvasRef }: EquityProps) {
  const [pointed, setPointed] = useState<number>()
  const last = equity.times.length - 1
  const at = Math.min(pointed ?? last, last)
  const draw: Draw = (context, size) =>
    drawEquity(context, size, equity, pointed === undefined ? undefined : at)
  useCanvas(canvasRef, draw, [equity, pointed])
  return (
    <>
      <p class="note num" aria-live="off">
        {describePoint(equity, at)}
      </p>
      <canvas
        ref={canvasRef}
        class="equity"
        role="img"
        aria-label={label}
        onPointerMove={({ offsetX, currentTarget }) => {
          setPointed(tradeAt(offsetX, equity, currentTarget.clientWidth))
        }}
        onPointerLeave={() => setPointed(undefined)}
      />
    </>
  )
}

function describePoint({ times, net }: Equity, at: number): string {
  const ms = times[at]
  if (ms === undefined) return 'No trade.'
  return `${showDayMinute(ms)} UTC: ${showProfit(net[at] ?? 0)} after ${showCount(at + 1)} of ${showSome(times.length, 'trade')}`
}

/**
 * Trades stand side by side: windows without one take no room. `count` is the number of trades
 * before.
 */
const toTradeX = (count: number, { times }: Equity, width: number): number =>
  EQUITY_LEFT + (count / Math.max(1, times.length)) * (width - EQUITY_LEFT - MARGIN.right)

const tradeAt = (x: number, { times }: Equity, width: number): number => {
  const part = (x - EQUITY_LEFT) / (width - EQUITY_LEFT - MARGIN.right)
  return Math.min(times.length - 1, Math.max(0, Math.ceil(part * times.length) - 1))
}

/** Room for dollars. */
const EQUITY_LEFT = 66

/** The smallest step of 1, 2 or 5 × 10ⁿ that divides `range` into at most `steps` steps. */
function stepOf(range: number, steps: number): number {
  const power = 10 ** Math.floor(Math.log10(range / steps))
  return power * ([1, 2, 5].find((factor) => range / (factor * power) <= steps) ?? 10)
}

function drawEquity(
  context: CanvasRenderingContext2D,
  size: Size,
  equity: Equity,
  pointed: number | undefined,
): void {
  const { times, net, gross } = equity
  const toX = (count: number) => toTradeX(count, equity, size.width)
  const low = Math.min(0, ...net)
  const high = Math.max(0, ...gross)
  const range = Math.max(high - low, 0.01)
  const floor = size.height - MARGIN.bottom + 8
  const toY = (usdc: number) => MARGIN.top + ((high - usdc) / range) * (floor - MARGIN.top)
  const soft = colorOf('--ink-soft')
  const line = colorOf('--line')
  const right = size.width - MARGIN.right
  context.fillStyle = soft
  context.textAlign = 'right'
  const step = Math.max(0.01, stepOf(range, 5))
  for (let usdc = Math.ceil(low / step) * step; usdc <= high + step / 1e6; usdc += step) {
    const y = toY(usdc)
    const isZero = Math.abs(usdc) < step / 2
    drawLine(
      context,
      [
        [EQUITY_LEFT, y],
        [right, y],
      ],
      { color: isZero ? soft : line },
    )
    context.fillText(isZero ? showDollars(0) : showProfit(usdc), EQUITY_LEFT - 6, y + 4)
  }
  if (times.length === 0) return
  const labels = Math.min(times.length, Math.floor((right - EQUITY_LEFT) / LABEL_PX))
  context.textAlign = 'center'
  let day = ''
  for (let label = 0; label < labels; label++) {
    const index = Math.floor(((label + 0.5) / labels) * times.length)
    const ms = times[index] ?? 0
    const text = showDay(ms) === day ? showMinute(ms) : showDay(ms)
    day = showDay(ms)
    context.fillText(text, toX(index + 1), size.height - 6)
  }
  const lineOf = (sums: readonly number[]) => {
    const points: [number, number][] = [[toX(0), toY(0)]]
    for (const [index, sum] of sums.entries()) {
      points.push([toX(index + 1), toY(sum)])
    }
    return points
  }
  drawLine(context, lineOf(gross), { color: soft, dash: [4, 3] })
  drawLine(context, lineOf(net), { color: colorOf('--accent'), width: 1.8 })
  if (pointed === undefined) return
  const x = toX(pointed + 1)
  drawLine(
    context,
    [
      [x, MARGIN.top],
      [x, floor],
    ],
    { color: colorOf('--ink'), dash: [3, 3] },
  )
  context.beginPath()
  context.arc(x, toY(net[pointed] ?? 0), 3.5, 0, 2 * Math.PI)
  context.fillStyle = colorOf('--accent')
  context.fill()
}
