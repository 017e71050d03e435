import {
  type Coin,
  coins,
  coinTable,
  isCoin,
  isTimeframe,
  type Timeframe,
  timeframeMs,
  timeframes,
  timeframeTable,
} from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { DAY_MS, MOMENT_MS_MAX, VENUE_OPENED_MS } from '#src/domain/time.ts'

import type { MarketWindow } from '../catalogue.ts'
import { clockTime, easternHour, easternMoments, type WallHour } from './eastern-time.ts'

/** The contents of `btc-updown-5m-1776081600` or `bitcoin-up-or-down-on-may-17`. */
export type SlugReading =
  | {
      kind: 'market'
      coin: Coin
      timeframe: Timeframe
      /** Undefined if the slug leaves the year or the hour open. */
      window?: Window | undefined
      /** True if the slug holds the window's start itself, not the hour of a wall clock. */
      isEpoch: boolean
    }
  | { kind: 'left_out'; reason: string }

type Window = Pick<MarketWindow, 'startMs' | 'endMs'>

/** A slug without a year gets the year that is closest to a known time, within this distance. */
const YEAR_DISTANCE_MS_MAX = 60 * DAY_MS

const months =
  'january february march april may june july august september october november december'.split(' ')

const epochPattern = /^([a-z0-9]{1,20})-updown-([a-z0-9]{1,4})-(\d{1,12})$/
const hourPattern =
  /^([a-z0-9]{1,20})-up-or-down-([a-z]+)-(\d{1,2})(?:-(\d{4}))?-(\d{1,2})(am|pm)-et$/
const dayPattern = /^([a-z0-9]{1,20})-up-or-down-on-([a-z]+)-(\d{1,2})(?:-(\d{4}))?$/

/** The slug of a window in the form that works for every timeframe: with the start itself. */
export const slugOf = ({ coin, timeframe, startMs }: Omit<MarketWindow, 'endMs'>): string =>
  `${coin}-updown-${timeframe}-${startMs / 1000}`

/** The title of a window: `Bitcoin Up or Down - June 24, 3:50AM-3:55AM ET`. */
export function titleOf({ coin, timeframe, startMs }: Omit<MarketWindow, 'endMs'>): string {
  const from = clockTime(startMs)
  const to = clockTime(startMs + timeframeMs[timeframe])
  return `${coinTable[coin].name} Up or Down - ${from.date}, ${from.time}-${to.time} ET`
}

/**
 * Parses a slug. `nearMs` is a time near the market's, ideally its end: it decides the year if the
 * slug has none, and which hour is meant in the night when clocks go back. Throws a `record` fault
 * for a window that cannot exist.
 */
export function readSlug(slug: string, nearMs?: number): SlugReading {
  const [, symbol = '', length = '', epoch = ''] = epochPattern.exec(slug) ?? []
  if (symbol !== '') return readEpochSlug(symbol, length, epoch)
  const hourly = hourPattern.exec(slug)
  const match = hourly ?? dayPattern.exec(slug)
  if (match === null) return leftOut('not an up-or-down market')
  const [, name, monthName = '', dayText, yearText, hourText, half] = match
  const coin = coins.find((each) =>
    coinTable[each].slugNames.some((slugName: string) => slugName === name),
  )
  if (coin === undefined) return leftOut(`${name} is not a supported coin`)
  const month = months.indexOf(monthName) + 1
  const form = hourly === null ? 'day' : 'hour'
  const timeframe = timeframes.find((each) => timeframeTable[each].slug === form)
  if (month === 0 || timeframe === undefined) return leftOut('not an up-or-down market')
  const day = Number(dayText)
  const windowsIn = (year: number): Window[] =>
    form === 'day'
      ? dailyWindows({ year, month, day })
      : hourlyWindows({ year, month, day, hour: toHour(Number(hourText), half) })
  const windows = yearText ? windowsIn(Number(yearText)) : nearestWindows(windowsIn, nearMs)
  const window = windows.length > 1 ? windows.find(({ endMs }) => endMs === nearMs) : windows[0]
  assertSinceVenue(window)
  return { kind: 'market', coin, timeframe, window, isEpoch: false }
}

export function whyNotKept(slug: string): string | undefined {
  try {
    const reading = readSlug(slug)
    return reading.kind === 'left_out' ? reading.reason : undefined
  } catch (error) {
    if (isRecordFault(error)) return undefined
    throw error
  }
}

const leftOut = (reason: string): SlugReading => ({ kind: 'left_out', reason })

function assertSinceVenue(window: Window | undefined): void {
  if (window === undefined || window.startMs >= VENUE_OPENED_MS) return
  throw recordFault('slug: its window is before 2020, when the venue opened')
}

function readEpochSlug(symbol: string, length: string, epoch: string): SlugReading {
  if (!isCoin(symbol)) return leftOut(`${symbol} is not a supported coin`)
  if (!isTimeframe(length)) return leftOut(`${length} is not a supported timeframe`)
  const startMs = Number(epoch) * 1000
  const window = { startMs, endMs: startMs + timeframeMs[length] }
  assertSinceVenue(window)
  if (window.endMs > MOMENT_MS_MAX || !isWindowStart(startMs, length)) {
    throw recordFault(`slug: no window of ${length} starts at ${epoch}`)
  }
  return { kind: 'market', coin: symbol, timeframe: length, window, isEpoch: true }
}

/** On the day after clocks change, some windows may start by the clock of the previous day. */
function isWindowStart(startMs: number, timeframe: Timeframe): boolean {
  const { ms, easternHours } = timeframeTable[timeframe]
  if (easternHours === undefined) return startMs % ms === 0
  const moments = ms < DAY_MS ? [startMs, startMs - DAY_MS] : [startMs]
  return moments.some((momentMs) => easternHours.includes(easternHour(momentMs) ?? -1))
}

const hourlyWindows = (wall: WallHour): Window[] =>
  easternMoments(wall).map((startMs) => ({ startMs, endMs: startMs + timeframeMs['1h'] }))

/** A daily window goes from noon to noon, and has 23 or 25 hours when clocks change. */
function dailyWindows({ year, month, day }: Omit<WallHour, 'hour'>): Window[] {
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

/** 12am is the first hour of the day, 12pm the one after noon; 25 if there is no such hour. */
function toHour(hour: number, half: string | undefined): number {
  if (hour < 1 || hour > 12) return 25
  return (hour % 12) + (half === 'pm' ? 12 : 0)
}

function nearestWindows(windowsIn: (year: number) => Window[], nearMs?: number): Window[] {
  if (nearMs === undefined) return []
  const distance = ({ endMs }: Window): number => Math.abs(endMs - nearMs)
  const year = new Date(nearMs).getUTCFullYear()
  const candidates = [year - 1, year, year + 1].map(windowsIn)
  candidates.sort(([a], [b]) => (a ? distance(a) : Infinity) - (b ? distance(b) : Infinity))
  const nearest = candidates[0] ?? []
  return nearest.filter((window) => distance(window) <= YEAR_DISTANCE_MS_MAX)
}
