import { useEffect, useState } from 'preact/hooks'

import { rateStore } from './api.ts'
import { nowMs } from './clock.ts'

const POLL_MS_MIN = 2_000
/** Of the requests of a minute, what a page that is only looked at may take. */
const POLL_PART = 1 / 4
const MINUTE_MS = 60_000

/** Calls again and again while the page is seen, as often as the allowance bears. */
export function usePoll(call: () => void, isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return
    let timer = 0
    const wait = () => {
      const limit = rateStore.get()?.limit ?? 0
      const everyMs = Math.max(POLL_MS_MIN, MINUTE_MS / (limit * POLL_PART || 1))
      timer = window.setTimeout(() => {
        if (document.visibilityState === 'visible') call()
        wait()
      }, everyMs)
    }
    wait()
    return () => clearTimeout(timer)
  }, [isOn])
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
