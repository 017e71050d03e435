/** The subscription to the price of a coin. */
import type { Position } from '#src/core/snapshot.ts'
import { seriesOf, type StoredTick } from '#src/core/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Paced } from '#src/live/runner.ts'
import {
  latestTicks,
  type SpotFilter,
  type SpotFollowing,
  type SpotWatch,
  ticksAfter,
} from '#src/live/spot.ts'

import { SLOW_MS } from './leg.ts'
import { createOutbox, type Item, type OnSlow, type Outlet } from './outbox.ts'
import type { Subscription } from './subscription.ts'

const STEP_TICKS = 200

export type SpotOptions = {
  id: string
  filter: SpotFilter
  /** Exclusive; undefined begins with the last prices. */
  from: Position | undefined
  onSlow: OnSlow
}

export type SpotPorts = Outlet & {
  history: Pick<MarketHistory, 'spot'>
  watch: SpotWatch
  shared: (filter: SpotFilter, tick: StoredTick) => string
  inTurns: (steps: Paced) => void
}

/** Begins the subscription. */
export function subscribeSpot(options: SpotOptions, ports: SpotPorts): Subscription {
  const { id, filter, from } = options
  const { history, watch } = ports
  const outbox = createOutbox(options, ports)
  let [isOver, isSnapshotOwed] = [false, from === undefined]
  /** Of a catch-up: prices up to here were sent. */
  let at: Position = from ?? { timestampMs: 0, id: 0 }
  /** Undefined during a catch-up. */
  let following: SpotFollowing | undefined

  const toItem = (tick: StoredTick): Item => ({
    ...{ seq: tick.id, lane: seriesOf(tick), rest: ports.shared(filter, tick) },
  })

  function sendLast(): void {
    for (const tick of latestTicks(history, filter)) outbox.repeat(toItem(tick))
  }

  function goLive(): void {
    following = watch.follow(filter, (ticks) => {
      for (const tick of ticks) outbox.push(toItem(tick))
    })
    if (isSnapshotOwed) sendLast()
    if (from) ports.send(`{"type":"live","id":${JSON.stringify(id)},"coin":"${filter.coin}"}`)
  }

  /** Sends prices as long as they are taken; returns whether these were the last. */
  function sendHeld(ticks: readonly StoredTick[]): boolean {
    for (const tick of ticks) {
      if (isOver || ports.isSlow()) return false
      at = tick
      outbox.sendNow(toItem(tick), 'row')
    }
    return ticks.length < STEP_TICKS && !isOver
  }

  function* catchUp(): Paced {
    while (!isOver) {
      if (ports.isSlow()) yield SLOW_MS
      else if (sendHeld(ticksAfter(history, filter, { after: at, limit: STEP_TICKS })))
        return goLive()
      else yield 0
    }
  }

  if (from) ports.inTurns(catchUp())
  else goLive()

  return {
    snapshot(): void {
      isSnapshotOwed = following === undefined
      if (isSnapshotOwed) return
      following?.look()
      sendLast()
    },
    drained: outbox.drained,
    tellGaps() {},
    end(): void {
      isOver = true
      outbox.clear()
      following?.leave()
    },
  }
}
