import { useEffect, useRef } from 'preact/hooks'

import { rateStore } from './api.ts'

const POLL_MS_MIN = 2_000
/** Of the requests of a minute, what a page that is only looked at may take. */
const POLL_PART = 1 / 4
const MINUTE_MS = 60_000

/** How often so many requests may be sent again; the limit is not known before the first answer. */
export function pollMs(requests = 1): number {
  const limit = rateStore.get()?.limit ?? Infinity
  return Math.max(POLL_MS_MIN, (requests * MINUTE_MS) / (limit * POLL_PART))
}

/** Calls again and again while the page is seen, as often as the allowance bears. */
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
