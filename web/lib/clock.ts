/** Time in the page. */

import { useEffect, useState } from 'preact/hooks'

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

/** Whole seconds until a time, at least 0; the component is drawn again with each. */
export function useSecondsUntil(timeMs: number): number {
  const [, tick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 1000)
    return () => clearInterval(timer)
  }, [])
  return Math.max(0, Math.ceil((timeMs - serverNowMs()) / 1000))
}
