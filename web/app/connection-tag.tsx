/** Says that the server cannot be reached, and notices when it can be again. */

import { useEffect } from 'preact/hooks'

import { request } from '../lib/api.ts'
import { lostStore } from '../lib/connection.ts'
import { showTime } from '../lib/format.ts'
import { useStore } from '../lib/store.ts'

const AGAIN_MS = 5_000

export function ConnectionTag() {
  const sinceMs = useStore(lostStore)
  useEffect(() => {
    if (sinceMs === undefined) return
    const timer = setInterval(() => {
      // A response hides the tag; without one it stays.
      void request('/v1/sample').catch(() => undefined)
    }, AGAIN_MS)
    return () => clearInterval(timer)
  }, [sinceMs])
  return (
    <span role="status">
      {sinceMs !== undefined && (
        <span class="offline">
          Offline since {showTime(sinceMs)} UTC. The page shows what it received before.
        </span>
      )}
    </span>
  )
}
