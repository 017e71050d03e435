/**
 * Numbers and times for people: UTC, tabular, a dash for unknown values. Without `Intl`, whose
 * formats take 40 ms to make, before the first paint.
 */

const DASH = '–'

/** 12345.6 is `12,345.6`. */
const group = (digits: string): string => digits.replace(/\B(?<!\..*)(?=(\d{3})+(\.|$))/g, ',')

export const showCount = (count: number | null | undefined): string =>
  count === null || count === undefined ? DASH : group(String(count))

/** 1 is `1 gap`, 1200 is `1,200 gaps`. */
export const showSome = (count: number, one: string): string =>
  `${showCount(count)} ${one}${count === 1 ? '' : 's'}`

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** In decimal units, three digits at most. */
export function showBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), byteUnits.length - 1)
  const value = bytes / 1000 ** power
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${byteUnits[power]}`
}

const units = [
  [1e12, 'T'],
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
  [1, ''],
] as const

/** A number of shares where room is short: 4120 is `4.1K`, three digits at most. */
export function showCompact(count: number | null | undefined): string {
  if (count === null || count === undefined) return DASH
  // A value that would round to 1000 takes the next unit.
  const [size, unit] = units.find(([each]) => count >= each * 0.9995) ?? [1, '']
  const value = count / size
  return `${value >= 99.95 ? Math.round(value) : Number(value.toFixed(1))}${unit}`
}

/** A number of shares: 1240.499 is `1,240.5`, hundredths at most. */
export const showSize = (size: number): string => showCount(Math.round(size * 100) / 100)
export const showShares = (size: number): string =>
  `${showSize(size)} ${showSize(size) === '1' ? 'share' : 'shares'}`

/**
 * Five digits, and cents at least: as many decimals as venues show of a coin at about this price.
 */
const priceDecimals = (price: number): number =>
  Math.max(2, 4 - Math.floor(Math.log10(Math.max(Math.abs(price), 1e-8))))

/** A price of a coin, with as many decimals as `like`, which is a price of the same coin. */
export const showCoinPrice = (price: number | null | undefined, like = price): string =>
  price === null || price === undefined
    ? DASH
    : `$${group(price.toFixed(priceDecimals(like ?? price)))}`

/** Difference of two prices of a coin, with the decimals of the price: `+$19.75`, `−$0.42`. */
export const showCoinChange = (price: number, from: number): string =>
  `${price < from ? '−' : '+'}${showCoinPrice(Math.abs(price - from), price)}`

const DECIMALS_MAX = 8

/** `showCoinChange` for a distance that may be small: it always has its first significant digit. */
export function showCoinDistance(price: number, from: number): string {
  const distance = Math.abs(price - from)
  const first = distance === 0 ? 0 : Math.ceil(-Math.log10(distance))
  const decimals = Math.min(DECIMALS_MAX, Math.max(priceDecimals(price), first))
  return `${price < from ? '−' : '+'}$${group(distance.toFixed(decimals))}`
}

/** An amount of money: `$1,234.50`. */
export const showDollars = (amount: number): string => `$${group(amount.toFixed(2))}`

/** A profit, or a loss: -3.2 is `−$3.20`. */
export const showProfit = (usdc: number): string =>
  `${usdc < 0 ? '−' : '+'}${showDollars(Math.abs(usdc))}`

/** A change or a return as a share: 0.0042 is `+0.42 %`. */
export const showChange = (share: number): string =>
  `${share < 0 ? '−' : '+'}${(Math.abs(share) * 100).toFixed(2)} %`

/** A probability: 0.535 is `53.5 %`. */
export const showProbability = (share: number | null | undefined): string =>
  share === null || share === undefined ? DASH : `${(share * 100).toFixed(1)} %`

/** 0.535 is `53.5¢`. */
export function showPrice(price: number | null | undefined): string {
  if (price === null || price === undefined) return DASH
  const cents = Math.round(price * 10_000) / 100
  return `${cents}¢`
}

export const showShare = (share: number | null | undefined): string => {
  if (share === null || share === undefined) return DASH
  if (share === 1) return '100 %'
  // Rounded down: only a complete share is shown as 100 %.
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`
}

/** 300000 is `5 min`, 30000 is `30 s`. */
export function showSpan(ms: number): string {
  if (ms > 0 && ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  return ms > 0 && ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`
}

/** A measured duration: 12.345 is `12.35 ms`, 12345 is `12.3 s`. */
export const showDuration = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms * 100) / 100} ms` : `${showCount(Math.round(ms / 100) / 10)} s`

/** `08:05`. */
export const showMinute = (ms: number): string => showTime(ms).slice(0, 5)
export const showTime = (ms: number): string => new Date(ms).toISOString().slice(11, 19)
export const showMoment = (ms: number): string => new Date(ms).toISOString().slice(11, 23)

/** `Nov 22, 2026, 18:04:05 UTC`. */
export const showStamp = (iso: string | null | undefined, none = DASH): string =>
  iso ? `${showDate(Date.parse(iso))}, ${showTime(Date.parse(iso))} UTC` : none

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
export const showMonth = (ms: number): string => months[new Date(ms).getUTCMonth()] ?? ''
export const showDay = (ms: number): string => `${showMonth(ms)} ${new Date(ms).getUTCDate()}`

/** `Apr 14, 08:05`. */
export const showDayMinute = (ms: number): string => `${showDay(ms)}, ${showMinute(ms)}`

/** `Apr 14, 2026`. */
export const showDate = (ms: number): string => `${showDay(ms)}, ${new Date(ms).getUTCFullYear()}`

/** `Apr 14, 08:00 – 08:05`, where `UTC` stands above. */
export function showWindowTimes(start: string | null, end: string | null): string {
  if (start === null || end === null) return 'window unknown'
  const from = Date.parse(start)
  const to = Date.parse(end)
  const until = to - from < 86_400_000 ? '' : `${showDay(to)}, `
  return `${showDayMinute(from)} – ${until}${showMinute(to)}`
}

/** `Apr 14, 08:00 – 08:05 UTC`. */
export const showWindow = (start: string | null, end: string | null): string =>
  `${showWindowTimes(start, end)}${start === null || end === null ? '' : ' UTC'}`

type MarketWindow = {
  symbol: string
  timeframe: string
  windowStart: string | null
  windowEnd: string | null
}

/** `BTC 5m, Apr 14, 08:00 – 08:05 UTC`. */
export const showMarket = ({ symbol, timeframe, windowStart, windowEnd }: MarketWindow): string =>
  `${symbol.toUpperCase()} ${timeframe}, ${showWindow(windowStart, windowEnd)}`

/** The title of the document for a page with this name. */
export const titleOf = (name: string): string => `${name} · Bookfeed`

/** `4:05`, `1:02:09`. */
export function showLength(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const hours = Math.floor(seconds / 3600)
  const rest = seconds % 3600
  const pair = (part: number) => String(part).padStart(2, '0')
  const minutes = Math.floor(rest / 60)
  return hours > 0
    ? `${hours}:${pair(minutes)}:${pair(rest % 60)}`
    : `${minutes}:${pair(rest % 60)}`
}

export const outcomeNames = { up: 'Up', down: 'Down' } as const
