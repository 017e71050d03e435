/** Says how current the page of an open market is. */

import { useEffect, useState } from 'preact/hooks'

import { nowMs, useNow } from '../../lib/clock.ts'
import { lostStore } from '../../lib/connection.ts'
import { showLength, showTime } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { type Live, unrecordedSince } from './live-market.ts'

/** An open market rarely pauses for so long. */
const SILENT_MS = 30_000

/** True if the shown state of an open market may be outdated. */
export function useIsSilent(live: Live): boolean {
  const { state, heardMs } = live
  const isLost = useStore(lostStore) !== undefined
  const [isQuiet, setQuiet] = useState(false)
  useEffect(() => {
    setQuiet(false)
    const leftMs = heardMs + SILENT_MS - nowMs()
    const timer = setTimeout(() => setQuiet(true), Math.max(0, leftMs))
    return () => clearTimeout(timer)
  }, [heardMs])
  if (isLost || unrecordedSince(live) !== undefined) return true
  return state === 'live' && isQuiet
}

/** State of the live stream. Only live data is green. */
export function LiveTag({ live }: { live: Live }) {
  const { state, heardMs } = live
  const sinceMs = unrecordedSince(live)
  const isLost = useStore(lostStore) !== undefined
  const silentMs = useNow() - heardMs
  if (state === 'off') return null
  if (isLost) return <span class="tag">Offline</span>
  if (state === 'waiting') return <span class="tag">Connecting…</span>
  if (sinceMs !== undefined) {
    return <span class="tag num">Not recorded since {showTime(sinceMs)} UTC</span>
  }
  if (silentMs >= SILENT_MS) {
    return <span class="tag num">No new row for {showLength(silentMs)}</span>
  }
  return <span class="tag live">Live</span>
}
