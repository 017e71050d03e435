/** The subscription to the price of a coin. */
import { comparePositions } from '#src/domain/snapshot.ts'
import { seriesOf, type StoredTick } from '#src/domain/spot.ts'
import type { Paced } from '#src/live/runner.ts'
import {
  latestTicks,
  type PlacedTick,
  type SpotFilter,
  type SpotFollowing,
  type SpotPlace,
  type SpotReads,
  type SpotWatch,
  ticksSince,
} from '#src/live/spot.ts'

import { SLOW_MS } from './leg.ts'
import { createOutbox, emptyText, type Item, type OnSlow, type Outlet } from './outbox.ts'
import type { Subscription } from './subscription.ts'

const STEP_TICKS = 200

export type SpotOptions = {
  id: string
  filter: SpotFilter
  /** Exclusive; undefined begins with the last prices. */
  from: SpotPlace | undefined
  onSlow: OnSlow
}

export type SpotPorts = Outlet & {
  history: SpotReads
  watch: SpotWatch
  shared: (filter: SpotFilter, tick: StoredTick, place: SpotPlace | undefined) => string
  inTurns: (steps: Paced) => void
}

/** Begins the subscription. */
export function subscribeSpot(options: SpotOptions, ports: SpotPorts): Subscription {
  const { id, filter, from } = options
  const { history, watch } = ports
  const outbox = createOutbox(options, ports)
  let [isOver, isSnapshotOwed] = [false, from === undefined]
  /** Of what was sent, once something was. */
  let at = from
  /** Undefined during a catch-up. */
  let following: SpotFollowing | undefined

  const toItem = (tick: StoredTick, place: SpotPlace | undefined): Item => ({
    ...{ seq: tick.id, lane: seriesOf(tick), rest: ports.shared(filter, tick, place) },
  })

  function deliver(found: Iterable<PlacedTick>): void {
    for (const { tick, place } of found) {
      if (at && comparePositions(tick, at) <= 0 && tick.id <= at.seen) continue
      at = place
      outbox.push(toItem(tick, place))
    }
  }

  /** Whoever is cut off before the last of them has not all of it. */
  function sendLast(place: SpotPlace, isAsked: boolean): void {
    const ticks = latestTicks(history, filter)
    for (const tick of ticks) outbox.repeat(toItem(tick, tick === ticks.at(-1) ? place : undefined))
    if (isAsked && ticks.length === 0) ports.send(emptyText(JSON.stringify(id)))
  }

  function goLive(): void {
    const now = watch.follow(filter, deliver)
    following = now
    // What others were sent may have ended the connection.
    if (isOver) {
      now.leave()
      return
    }
    if (at) deliver(ticksSince(history, filter, { place: at, uptoId: now.place().seen }))
    if (isSnapshotOwed) sendLast(now.place(), from !== undefined)
    if (from) ports.send(`{"type":"live","id":${JSON.stringify(id)},"coin":"${filter.coin}"}`)
  }

  /** Sends what is held as it is taken; returns how much that was, and much where it waited. */
  function* sendHeld(place: SpotPlace, uptoId: number): Generator<number, number> {
    let sent = 0
    for (const found of ticksSince(history, filter, { place, uptoId })) {
      if (ports.isSlow()) sent += STEP_TICKS
      yield* restsWhile(() => ports.isSlow() && !isOver)
      if (isOver) break
      at = found.place
      outbox.sendNow(toItem(found.tick, at), 'row')
      if (++sent % STEP_TICKS === 0) yield 0
    }
    return sent
  }

  /** Sends what is held until little of it is left, and then follows. */
  function* catchUp(place: SpotPlace): Paced {
    at = place
    for (let sent = STEP_TICKS; sent >= STEP_TICKS && !isOver;) {
      const uptoId = history.lastSpotId()
      sent = yield* sendHeld(at, uptoId)
      at = { ...at, seen: uptoId }
    }
    if (!isOver) goLive()
  }

  if (from) ports.inTurns(catchUp(from))
  else goLive()

  return {
    snapshot(): void {
      following?.look()
      if (following) sendLast(following.place(), true)
      else isSnapshotOwed = true
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

function* restsWhile(isResting: () => boolean): Paced {
  while (isResting()) yield SLOW_MS
}
