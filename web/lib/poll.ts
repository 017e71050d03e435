import { useEffect, useRef } from 'preact/hooks'

import { rateStore } from './api.ts'

const POLL_MS_MIN = 2_000
/** Share of the requests a minute that a page may use for polling. */
const POLL_PART = 1 / 4
const MINUTE_MS = 60_000

/**
 * Interval at which a number of requests may be repeated. The limit is unknown before the first
 * answer.
 */
export function pollMs(requests = 1): number {
  const limit = rateStore.get()?.limit ?? Infinity
  return Math.max(POLL_MS_MIN, (requests * MINUTE_MS) / (limit * POLL_PART))
}

/** Calls repeatedly while the page is visible, as often as the rate limit allows. */
export function usePoll(call: () => void, isOn: boolean, requests = 1): void {
  const latest = useRef(call)
  latest.current = call
  useEffect(() => {
    if (!isOn) return
    let timer = 0
    const wait = () => {
      timer = window.setTimeout(() => {
        if (document.visibilityState === 'visible') latest.current()
        wait()
      }, pollMs(requests))
    }
    wait()
    return () => clearTimeout(timer)
  }, [isOn, requests])
}
