/** Reads what a visitor types to find a market: a slug, a coin, a length, a day, a time (UTC). */

import { DAY_MS, startOfDay } from './days.ts'

export type FindTerms = {
  /** A slug, a condition id or an asset id, in lower case. */
  name?: string | undefined
  /** The symbol. */
  coin?: string | undefined
  timeframe?: string | undefined
  /** The first millisecond of a UTC day. */
  dayMs?: number | undefined
  /** A moment in the window. */
  momentMs?: number | undefined
  /** Minutes of the day, for a time without a day: `momentMs` is the last such time. */
  minutes?: number | undefined
  /** Prefix of a condition id. */
  prefix?: string | undefined
  /** Words that mean none of these. */
  unknown: string[]
}

const MINUTE_MS = 60_000
const timeframes = ['5m', '15m', '1h', '4h', '1d']
const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const LETTERS_MIN = 3

const epochSlug = /^(?:sim-)?[a-z0-9]+-updown-[0-9]+[mhd]-\d+$/
const wallSlug = /^(?:sim-)?[a-z0-9]+-up-or-down-[a-z0-9-]+$/
const identifier = /^(0x[0-9a-f]{62}|0x[0-9a-f]{64}|[0-9]{40,78})$/
/** Too many ids share fewer digits. */
const idBeginning = /^0x[0-9a-f]{4,}$/
/** The address of a market here, or of its page at the venue; its last part names the market. */
const address = /^https?:\/\/[^?#]*\/([^/?#]+)\/([^/?#]+)\/?(?:[?#].*)?$/

/** `coinNames`: by symbol. */
export function readFindTerms(
  text: string,
  coinNames: Readonly<Record<string, string>>,
  nowMs: number,
): FindTerms {
  const terms: FindTerms = { unknown: [] }
  const words = text.toLowerCase().replaceAll(',', ' ').split(/\s+/).filter(Boolean)
  const day = { year: undefined as number | undefined, month: -1, date: 0 }
  let minutes: number | undefined
  for (const word of words) {
    const [, folder = '', name = word] = address.exec(word) ?? []
    if (isName(name)) {
      terms.name = name
      const [first = ''] = name.replace(/^sim-/, '').split('-')
      terms.coin = coinOf(first, coinNames) ?? coinOf(folder, coinNames) ?? terms.coin
      continue
    }
    if (idBeginning.test(name)) {
      terms.prefix = name
      continue
    }
    const clock = readClock(word)
    const coin = coinOf(word, coinNames)
    if (coin !== undefined) terms.coin = coin
    else if (timeframes.includes(word)) terms.timeframe = word
    else if (word === 'today') terms.dayMs = startOfDay(nowMs)
    else if (word === 'yesterday') terms.dayMs = startOfDay(nowMs) - DAY_MS
    else if (/^\d{4}-\d{2}-\d{2}(t|$)/.test(word)) readIso(word, terms)
    else if (clock !== undefined) minutes = clock
    else if (monthOf(word) >= 0) day.month = monthOf(word)
    else if (/^20\d\d$/.test(word)) day.year = Number(word)
    else if (/^([1-9]|[12]\d|3[01])$/.test(word)) day.date = Number(word)
    else if (/^\d{10}$/.test(word)) terms.momentMs = Number(word) * 1000
    else if (/^\d{13}$/.test(word)) terms.momentMs = Number(word)
    else if (word !== 'utc') terms.unknown.push(word)
  }
  if (day.month >= 0 && day.date > 0) terms.dayMs = dayOf(day, nowMs)
  if (minutes !== undefined) {
    const today = startOfDay(nowMs) + minutes * MINUTE_MS
    // Without a day the last such time is meant.
    const last = today > nowMs ? today - DAY_MS : today
    terms.momentMs = terms.dayMs === undefined ? last : terms.dayMs + minutes * MINUTE_MS
    if (terms.dayMs === undefined) terms.minutes = minutes
  }
  return terms
}

const isName = (word: string): boolean =>
  epochSlug.test(word) || wallSlug.test(word) || identifier.test(word)

/** Finds a coin by its symbol or by the beginning of its name. */
function coinOf(word: string, names: Readonly<Record<string, string>>): string | undefined {
  if (word in names) return word
  if (word.length < LETTERS_MIN) return undefined
  return Object.keys(names).find((symbol) => names[symbol]?.toLowerCase().startsWith(word))
}

const monthOf = (word: string): number =>
  /^[a-z]{3,9}\.?$/.test(word) ? months.indexOf(word.slice(0, LETTERS_MIN)) : -1

/** Minutes of the day of `8:05`, `08:05:30`, `08:05:30.672+00:00`, `8am` and `8:05pm`. */
function readClock(word: string): number | undefined {
  const match = /^(\d{1,2})(?::(\d{2})(?::\d{2}(?:\.\d+)?)?)?(am|pm)?(?:z|\+00:00)?$/.exec(word)
  const [, hour = '', minute, half] = match ?? []
  if (match === null || (minute === undefined && half === undefined)) return undefined
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'pm' ? 12 : 0)
  return hours < 24 && Number(minute ?? 0) < 60 ? hours * 60 + Number(minute ?? 0) : undefined
}

/** `2026-04-14`, or with a time behind `T`. */
function readIso(word: string, terms: FindTerms): void {
  const [date = '', time] = word.split('t')
  const dayMs = Date.parse(`${date}T00:00:00Z`)
  const minutes = time === undefined ? undefined : readClock(time)
  if (Number.isNaN(dayMs) || (time !== undefined && minutes === undefined)) {
    terms.unknown.push(word)
    return
  }
  terms.dayMs = dayMs
  if (minutes !== undefined) terms.momentMs = dayMs + minutes * MINUTE_MS
}

type CalendarDay = { year: number | undefined; month: number; date: number }

/** Without a year the last such day is meant; a market may begin tomorrow. */
function dayOf({ year, month, date }: CalendarDay, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear()
  const ms = Date.UTC(year ?? thisYear, month, date)
  return year === undefined && ms > nowMs + DAY_MS ? Date.UTC(thisYear - 1, month, date) : ms
}
