import { type Coin, isCoin, isTimeframe, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { DAY_MS, VENUE_OPENED_MS } from '#src/core/time.ts'

import { easternHour, easternMoments } from './eastern-time.ts'
import { RecordFault } from './record-fault.ts'

/** What the venue's name of a market says: `btc-updown-5m-1776081600`, `bitcoin-up-or-down-on-may-17`. */
export type SlugReading =
  | {
      kind: 'market'
      coin: Coin
      timeframe: Timeframe
      /** Undefined where the name leaves the year or the hour open. */
      window?: Window | undefined
      /** Whether the name holds the window's start itself, not a wall clock's hour. */
      isEpoch: boolean
    }
  /** A market of a kind that is not kept, and why. */
  | { kind: 'left_out'; reason: string }

/** Unix milliseconds: `startMs` inclusive, `endMs` exclusive. */
export type Window = { startMs: number; endMs: number }

/** Names without a year are of the year that brings them nearest to a known time, within this. */
const YEAR_DISTANCE_MS_MAX = 60 * 86_400_000

/** The year 10000, which no time that is printed reaches. */
const WINDOW_MS_END = 253_402_300_800_000

const coinNames: Readonly<Record<string, Coin>> = {
  bitcoin: 'btc',
  ethereum: 'eth',
  solana: 'sol',
  xrp: 'xrp',
}
const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

const epochPattern = /^([a-z0-9]{1,20})-updown-([a-z0-9]{1,4})-(\d{1,12})$/
const hourPattern =
  /^([a-z0-9]{1,20})-up-or-down-([a-z]+)-(\d{1,2})(?:-(\d{4}))?-(\d{1,2})(am|pm)-et$/
const dayPattern = /^([a-z0-9]{1,20})-up-or-down-on-([a-z]+)-(\d{1,2})(?:-(\d{4}))?$/

/**
 * Reads a slug. `nearMs` is a time known to be near the market's, best its very end: it tells the year
 * where the name has none, and which hour is meant in the night in which clocks go back. Throws `RecordFault`
 * for a window that there cannot be.
 */
export function readSlug(slug: string, nearMs?: number): SlugReading {
  const [, symbol = '', timeframe = '', epoch = ''] = epochPattern.exec(slug) ?? []
  if (symbol !== '') return readEpochSlug({ symbol, timeframe, epoch })
  const hourly = hourPattern.exec(slug)
  const named = hourly ?? dayPattern.exec(slug)
  if (named === null) return leftOut('not an up-or-down market')
  const [, name = '', month = '', day = '', year, hour = '', half = ''] = named
  const coin = Object.hasOwn(coinNames, name) ? coinNames[name] : undefined
  if (coin === undefined) return leftOut(`${name} is not a coin that is kept`)
  const date = { month: months.indexOf(month) + 1, day: Number(day), year: year && Number(year) }
  if (date.month === 0) return leftOut('not an up-or-down market')
  const windowsIn = (inYear: number): Window[] =>
    hourly === null
      ? dailyWindows({ ...date, year: inYear })
      : hourlyWindows({ ...date, year: inYear, hour: toHour(Number(hour), half) })
  const windows = date.year ? windowsIn(date.year) : nearestWindows(windowsIn, nearMs)
  const window = windows.length > 1 ? windows.find(({ endMs }) => endMs === nearMs) : windows[0]
  assertSinceVenue(window)
  return { kind: 'market', coin, timeframe: hourly === null ? '1d' : '1h', window, isEpoch: false }
}

const leftOut = (reason: string): SlugReading => ({ kind: 'left_out', reason })

function assertSinceVenue(window: Window | undefined): void {
  if (window === undefined || window.startMs >= VENUE_OPENED_MS) return
  throw new RecordFault('slug: its window is before 2020, when the venue opened')
}

type EpochSlug = { symbol: string; timeframe: string; epoch: string }

function readEpochSlug({ symbol, timeframe, epoch }: EpochSlug): SlugReading {
  if (!isCoin(symbol)) return leftOut(`${symbol} is not a coin that is kept`)
  if (!isTimeframe(timeframe)) return leftOut(`${timeframe} is not a timeframe that is kept`)
  const startMs = Number(epoch) * 1000
  const window = { startMs, endMs: startMs + timeframeMs[timeframe] }
  assertSinceVenue(window)
  if (window.endMs >= WINDOW_MS_END || !isWindowStart(startMs, timeframe)) {
    throw new RecordFault(`slug: no window of ${timeframe} starts at ${epoch}`)
  }
  return { kind: 'market', coin: symbol, timeframe, window, isEpoch: true }
}

/**
 * Whether a window can start at a moment. Short ones start at multiples of their length, the others by Eastern clocks: days at noon, four hours at
 * midnight. In the day after clocks change, those of the day before are taken too.
 */
export function isWindowStart(startMs: number, timeframe: Timeframe): boolean {
  if (timeframe === '1d') return easternHour(startMs) === 12
  if (timeframe !== '4h') return startMs % timeframeMs[timeframe] === 0
  return [startMs, startMs - DAY_MS].some((momentMs) => (easternHour(momentMs) ?? 1) % 4 === 0)
}

type Day = { year: number; month: number; day: number }

/** Named by the hour in which they open. */
const hourlyWindows = (wall: Day & { hour: number }): Window[] =>
  easternMoments(wall).map((startMs) => ({ startMs, endMs: startMs + timeframeMs['1h'] }))

/** From noon of the day before to noon of the day that is named; 23 or 25 hours when clocks change. */
function dailyWindows({ year, month, day }: Day): Window[] {
  const [endMs] = easternMoments({ year, month, day, hour: 12 })
  const before = new Date(Date.UTC(year, month - 1, day - 1))
  const [startMs] = easternMoments({
    year: before.getUTCFullYear(),
    month: before.getUTCMonth() + 1,
    day: before.getUTCDate(),
    hour: 12,
  })
  return startMs === undefined || endMs === undefined ? [] : [{ startMs, endMs }]
}

/** 12am is the first hour of the day, 12pm the one after noon; 25 stands for an hour that is none. */
function toHour(hour: number, half: string): number {
  if (hour < 1 || hour > 12) return 25
  return (hour % 12) + (half === 'pm' ? 12 : 0)
}

function nearestWindows(
  windowsIn: (year: number) => Window[],
  nearMs: number | undefined,
): Window[] {
  if (nearMs === undefined) return []
  const distance = ({ endMs }: Window): number => Math.abs(endMs - nearMs)
  const year = new Date(nearMs).getUTCFullYear()
  const candidates = [year - 1, year, year + 1].map(windowsIn)
  candidates.sort(([a], [b]) => (a ? distance(a) : Infinity) - (b ? distance(b) : Infinity))
  const nearest = candidates[0] ?? []
  return nearest.filter((window) => distance(window) <= YEAR_DISTANCE_MS_MAX)
}
