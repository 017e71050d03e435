import { useNow } from '../../lib/clock.ts'
import { lostStore } from '../../lib/connection.ts'
import { showLength, showTime } from '../../lib/format.ts'
import { useStore } from '../../lib/store.ts'
import { type Live, unrecordedSince } from './live-market.ts'

/** An open market rarely pauses as long. */
const SILENT_MS = 30_000

/** Whether the page follows the market. Green is what is live and nothing else. */
export function LiveTag({ live }: { live: Live }) {
  const { state, heardMs } = live
  const sinceMs = unrecordedSince(live)
  const isLost = useStore(lostStore) !== undefined
  const silentMs = useNow() - heardMs
  if (state === 'off') return null
  if (isLost) return <span class="tag">Offline</span>
  if (state === 'stale') return <span class="tag">Stale</span>
  if (state === 'waiting') return <span class="tag">Connecting…</span>
  if (sinceMs !== undefined) {
    return <span class="tag num">Not recorded since {showTime(sinceMs)}</span>
  }
  if (silentMs >= SILENT_MS) {
    return <span class="tag num">No new row for {showLength(silentMs)}</span>
  }
  return <span class="tag live">Live</span>
}
