/** Time in the page. */

import { useEffect, useRef, useState } from 'preact/hooks'

/** The time of this device, which is what people compare with. */
export const nowMs = (): number => Date.now()

let skewMs = 0
/** What ends is measured by the server's clock: that of a visitor may be wrong. */
export const serverNowMs = (): number => nowMs() + skewMs

/** Learns from an answer of the server what time it is there; a kept answer has an old date. */
export function noteDate(headers: Headers): void {
  if (headers.get('cache-control') !== 'no-store') return
  const date = Date.parse(headers.get('date') ?? '')
  // The header has whole seconds.
  if (Math.abs(date - serverNowMs()) > 2000) skewMs = date - nowMs()
}

/** The time, again each second. */
export function useNow(): number {
  const [ms, setMs] = useState(nowMs())
  useEffect(() => {
    const timer = setInterval(() => setMs(nowMs()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return ms
}

/** Whole seconds until a time, at least 0; the component is drawn again with each. */
export function useSecondsUntil(timeMs: number): number {
  useNow()
  return Math.max(0, Math.ceil((timeMs - serverNowMs()) / 1000))
}

/** Of a timer. */
const DELAY_MS_MAX = 2 ** 31 - 1
/** The server has come to the moment, too. */
const MARGIN_MS = 1_000

/** Calls once when a moment to come is there, by the clock of the server. */
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
