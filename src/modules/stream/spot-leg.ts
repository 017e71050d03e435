/** The subscription to the price of a coin. */
import type { Position } from '#src/core/snapshot.ts'
import { seriesOf, type StoredTick } from '#src/core/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Paced } from '#src/live/runner.ts'
import { latestTicks, type SpotFilter, type SpotWatch, ticksAfter } from '#src/live/spot.ts'

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
  /** Ids up to here were sent. */
  let sentId = 0
  let isOver = false
  let leave = () => {}

  const toItem = (tick: StoredTick): Item => ({
    ...{ seq: tick.id, lane: seriesOf(tick), rest: ports.shared(filter, tick) },
  })

  function deliver(ticks: readonly StoredTick[]): void {
    for (const tick of ticks) if (tick.id > sentId) outbox.push(toItem(tick))
  }

  function snapshot(): void {
    for (const tick of latestTicks(history, filter)) outbox.sendNow(toItem(tick), 'snapshot')
  }

  function* catchUp(place: Position): Paced {
    let after = place
    while (!isOver) {
      if (ports.isSlow()) {
        yield SLOW_MS
        continue
      }
      const ticks = ticksAfter(history, filter, { after, limit: STEP_TICKS })
      for (const tick of ticks) outbox.push(toItem(tick))
      sentId = Math.max(sentId, ...ticks.map((tick) => tick.id))
      after = ticks.at(-1) ?? after
      if (ticks.length < STEP_TICKS) {
        leave = watch.follow(filter, deliver)
        ports.send(`{"type":"live","id":${JSON.stringify(id)},"coin":"${filter.coin}"}`)
        return
      }
      yield 0
    }
  }

  if (from === undefined) {
    snapshot()
    leave = watch.follow(filter, deliver)
  } else ports.inTurns(catchUp(from))

  return {
    snapshot,
    drained: outbox.drained,
    tellGaps() {},
    end(): void {
      isOver = true
      outbox.clear()
      leave()
    },
  }
}
