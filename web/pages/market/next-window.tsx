/** When the window that the visitor follows is over, goes on with the next one. */

import { useEffect, useRef, useState } from 'preact/hooks'

import type { Market } from '../../lib/bodies.ts'
import { showWindow } from '../../lib/format.ts'
import { navigate } from '../../lib/location.ts'
import { Button } from '../../parts/button.tsx'
import { findNeighbour, pageOf } from './neighbour.ts'

/** Time to see the end, and to decide to stay. */
const STAY_MS = 8_000
const AGAIN_MS = 2_000
/** The next window begins when this one ends: after so many tries there is none. */
const TRIES_MAX = 15

/** `isFollowing`: the crosshair is at the newest row, and the visitor pointed nowhere else. */
export function NextWindow({ market, isFollowing }: { market: Market; isFollowing: boolean }) {
  const wasOpen = useRef(false)
  wasOpen.current ||= market.status === 'open'
  const isOver = wasOpen.current && market.status !== 'open'
  const [isStaying, setStaying] = useState(false)
  const isOn = isOver && isFollowing && !isStaying
  const next = useNext(market, isOn)
  useEffect(() => {
    if (!isOn || next === undefined) return
    const timer = setTimeout(() => navigate(pageOf(next)), STAY_MS)
    return () => clearTimeout(timer)
  }, [isOn, next])
  return (
    <div class="next-window-place" role="status">
      {isOn && next !== undefined && (
        <p class="card row spread next-window">
          <span>
            This window is over. The next one,{' '}
            <span class="num">{showWindow(next.windowStart, next.windowEnd)}</span>, opens in a few
            seconds.
          </span>
          <span class="row" onPointerDown={(event) => event.stopPropagation()}>
            <Button text="Stay here" look="small" onClick={() => setStaying(true)} />
            <a class="button small primary" href={pageOf(next)}>
              Open it now
            </a>
          </span>
        </p>
      )}
    </div>
  )
}

/** Repeated until the next window is listed. */
function useNext(market: Market, isOn: boolean): Market | undefined {
  const [next, setNext] = useState<Market>()
  useEffect(() => {
    if (!isOn) return
    let timer = 0
    let isDone = false
    const look = async (tries: number) => {
      // A recorder stores its first book some time after the window began.
      const found = await findNeighbour(market, 'next', false).catch(() => undefined)
      if (isDone) return
      if (found !== undefined) setNext(found)
      else if (tries < TRIES_MAX) timer = window.setTimeout(() => void look(tries + 1), AGAIN_MS)
    }
    void look(1)
    return () => {
      isDone = true
      clearTimeout(timer)
    }
  }, [isOn])
  return next
}
