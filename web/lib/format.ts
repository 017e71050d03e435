/** Numbers and times for people: UTC, tabular, a dash for what is not known. */

const DASH = '–'
const locale = 'en-US'

const whole = new Intl.NumberFormat(locale)
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
const dollars = new Intl.NumberFormat(locale, {
  ...{ style: 'currency', currency: 'USD' },
  ...{ minimumFractionDigits: 2, maximumFractionDigits: 4 },
})

export const showCount = (count: number | null | undefined): string =>
  count === null || count === undefined ? DASH : whole.format(count)
export const showCompact = (count: number): string => compact.format(count)
export const showDollars = (price: number | null | undefined): string =>
  price === null || price === undefined ? DASH : dollars.format(price)

/** 0.535 is `53.5¢`. */
export function showPrice(price: number | null | undefined): string {
  if (price === null || price === undefined) return DASH
  const cents = Math.round(price * 10_000) / 100
  return `${cents}¢`
}

export const showShare = (share: number | null | undefined): string => {
  if (share === null || share === undefined) return DASH
  if (share === 1) return '100 %'
  // Rounded down, so that what is not whole never looks it.
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`
}

export const showTime = (ms: number): string => new Date(ms).toISOString().slice(11, 19)
export const showMoment = (ms: number): string => new Date(ms).toISOString().slice(11, 23)

const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' })
export const showDay = (ms: number): string => day.format(ms)

/** `14 Apr, 08:00–08:05`. */
export function showWindow(start: string | null, end: string | null): string {
  if (start === null || end === null) return 'window unknown'
  const [from, to] = [Date.parse(start), Date.parse(end)]
  const until = to - from < 86_400_000 ? '' : `${showDay(to)}, `
  return `${showDay(from)}, ${showTime(from).slice(0, 5)} – ${until}${showTime(to).slice(0, 5)}`
}

/** `4:05`, `1:02:09`. */
export function showLength(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [hours, rest] = [Math.floor(seconds / 3600), seconds % 3600]
  const pair = (part: number) => String(part).padStart(2, '0')
  const minutes = Math.floor(rest / 60)
  return hours > 0
    ? `${hours}:${pair(minutes)}:${pair(rest % 60)}`
    : `${minutes}:${pair(rest % 60)}`
}
