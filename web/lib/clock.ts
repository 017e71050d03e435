/** Time in the page. */

import { useEffect, useRef, useState } from 'preact/hooks'

/** The time of this device, which is what people compare with. */
export const nowMs = (): number => Date.now()

let skewMs = 0
/** The time on the server's clock, for countdowns: a visitor's clock may be wrong. */
export const serverNowMs = (): number => nowMs() + skewMs

/** Reads the server's time from a response; a cached one has an old date. */
export function noteDate(headers: Headers): void {
  if (headers.get('cache-control') !== 'no-store') return
  const date = Date.parse(headers.get('date') ?? '')
  // The header has whole seconds.
  if (Math.abs(date - serverNowMs()) > 2000) skewMs = date - nowMs()
}

/** The time, updated each second. */
export function useNow(): number {
  const [ms, setMs] = useState(nowMs())
  useEffect(() => {
    const timer = setInterval(() => setMs(nowMs()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return ms
}

/** Whole seconds until a time, at least 0. The component is drawn again each second. */
export function useSecondsUntil(timeMs: number): number {
  useNow()
  return Math.max(0, Math.ceil((timeMs - serverNowMs()) / 1000))
}

/** The longest delay of a timer. */
const DELAY_MS_MAX = 2 ** 31 - 1
/** Margin after a moment, so that the server has reached it, too. */
const MARGIN_MS = 1_000

/** Calls once when the clock of the server reaches a future moment. */
export function useMoment(timeMs: number | undefined, call: () => void): void {
  const latest = useRef(call)
  latest.current = call
  useEffect(() => {
    const leftMs = (timeMs ?? 0) - serverNowMs() + MARGIN_MS
    if (leftMs <= 0 || leftMs > DELAY_MS_MAX) return
    const timer = setTimeout(() => latest.current(), leftMs)
    return () => clearTimeout(timer)
  }, [timeMs])
}
