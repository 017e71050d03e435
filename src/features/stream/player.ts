/** Plays what was recorded over a connection, in the messages of the live stream. */
import { AppError } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import {
  type MarketEvent,
  type ReplayEvent,
  replayEvents,
  type ReplayPorts,
  type ReplayRange,
} from '#src/live/replay.ts'
import type { LiveRow, RowFilter } from '#src/live/rows.ts'
import type { Paced } from '#src/live/runner.ts'
import type { SpotFilter } from '#src/live/spot.ts'

import { gapText } from './gap-text.ts'
import { SLOW_MS } from './leg.ts'
import type { Outlet } from './outbox.ts'
import type { Subscription } from './subscription.ts'

/** An operation on a replay that waits is noticed after so long. */
const REST_MS_MAX = 25

export type PlayerPorts = Omit<ReplayPorts, 'nowMs'> &
  Outlet & {
    clock: Clock
    /** Monotonic milliseconds. */
    timer: Clock
    shared: (market: Market, filter: RowFilter, row: LiveRow) => string
    sharedTick: (filter: SpotFilter, tick: StoredTick, place: Position | undefined) => string
    describeEvent: (event: MarketEvent) => string
    inTurns: (steps: Paced) => void
  }

/** What can be done with a replay; each says how it goes on. */
export type Player = {
  pause(): void
  resume(): void
  /** To a moment, Unix milliseconds. */
  seek(timeMs: number): void
  setSpeed(speed: number): void
}

type ReplayOptions = { id: string; range: ReplayRange; speed: number }

/** Begins a replay. */
export function startReplay(
  { id, range, speed }: ReplayOptions,
  ports: PlayerPorts,
): Subscription & { player: Player } {
  const { send } = ports
  const name = JSON.stringify(id)
  const toText = createEventText(name, range, ports)
  const read = (part: ReplayRange) => replayEvents(part, { ...ports, nowMs: ports.clock() })
  const pace = createPace(speed, ports)
  let events = read(range)
  let [isOver, hasEnded] = [false, false]
  let timeMs: number | undefined

  function* play(own: typeof events): Paced {
    const isOwn = () => !isOver && own === events
    for (const event of own) {
      if (event) yield* pace.rests(event.timeMs, isOwn)
      if (!isOwn()) return
      if (event) {
        timeMs = event.timeMs
        send(toText.of(event))
      }
      yield 0
    }
    hasEnded = true
    send(`{"type":"replay_end","id":${name}}`)
  }

  /** Applies a change and says how it goes on. */
  function after(change: () => void): void {
    change()
    const playing = pace.isPaused ? 'paused' : 'playing'
    const state = hasEnded ? 'ended' : playing
    const time = timeMs === undefined ? null : toIso(timeMs)
    send(JSON.stringify({ type: 'replay_state', id, state, speed: pace.speed, time }))
  }

  function seek(toMs: number): void {
    timeMs = toMs
    hasEnded = false
    toText.restart()
    pace.set({})
    events = read({ ...range, after: undefined, fromMs: toMs })
    ports.inTurns(play(events))
  }

  ports.inTurns(play(events))
  return {
    // It asks by itself whether the connection takes more.
    drained() {},
    snapshot() {
      throw new AppError('invalid_parameter', 'That is a replay: use `seek`.', { param: 'id' })
    },
    tellGaps() {},
    end() {
      isOver = true
    },
    player: {
      pause: () => after(() => pace.set({ isPaused: true })),
      resume: () => after(() => pace.set({ isPaused: false })),
      seek: (toMs) => after(() => seek(toMs)),
      setSpeed: (next) => after(() => pace.set({ speed: next })),
    },
  }
}

/** When events of a recording are to be sent. */
function createPace(firstSpeed: number, { timer, isSlow }: Pick<PlayerPorts, 'timer' | 'isSlow'>) {
  let [speed, isPaused] = [firstSpeed, false]
  /** A moment of the recording, and when it was played. */
  let anchor: { timeMs: number; atMs: number } | undefined

  function restOf(eventMs: number): number {
    if (isPaused || isSlow()) {
      // Time stands still meanwhile: nothing is left out, and nothing is made up for.
      anchor = undefined
      return SLOW_MS
    }
    if (speed === 0) return 0
    anchor ??= { timeMs: eventMs, atMs: timer() }
    const waitMs = anchor.atMs + (eventMs - anchor.timeMs) / speed - timer()
    return Math.max(0, Math.min(waitMs, REST_MS_MAX))
  }

  return {
    get speed() {
      return speed
    },
    get isPaused() {
      return isPaused
    },
    set(change: { speed?: number; isPaused?: boolean }): void {
      speed = change.speed ?? speed
      isPaused = change.isPaused ?? isPaused
      anchor = undefined
    },
    /** Rests until an event is to be sent, or is not wanted any more. */
    *rests(eventMs: number, isWanted: () => boolean): Paced {
      for (let restMs = restOf(eventMs); restMs > 0 && isWanted(); restMs = restOf(eventMs))
        yield restMs
    },
  }
}

/** The messages of events, as the live stream has them. */
function createEventText(
  name: string,
  { filter, coin, spot = { coin } }: ReplayRange,
  ports: PlayerPorts,
) {
  const lastSeqs = new Map<string, number>()

  function rowText(type: 'row' | 'snapshot', place: { of: string; seq: number }, rest: string) {
    const prevSeq = lastSeqs.get(place.of) ?? null
    lastSeqs.set(place.of, place.seq)
    return `{"type":"${type}","id":${name},"prevSeq":${prevSeq},${rest}`
  }

  function marketText(event: MarketEvent): string {
    const { kind, market } = event
    const { conditionId } = market
    if (kind === 'row' || kind === 'snapshot') {
      const place = { of: conditionId, seq: event.row.seq }
      return rowText(kind, place, ports.shared(market, filter, event.row))
    }
    if (kind === 'gap') return gapText(name, market, event.gap)
    if (kind !== 'end')
      return `{"type":"market_${kind}","id":${name},"data":${ports.describeEvent(event)}}`
    lastSeqs.delete(conditionId)
    return `{"type":"market_end","id":${name},"conditionId":"${conditionId}"}`
  }

  return {
    of(event: ReplayEvent): string {
      if (!('tick' in event)) return marketText(event)
      const { kind, tick, isPart } = event
      const place = { of: 'spot', seq: tick.id }
      const text = ports.sharedTick(spot, tick, isPart ? undefined : tick)
      return rowText(kind === 'tick' ? 'row' : 'snapshot', place, text)
    },
    restart: () => lastSeqs.clear(),
  }
}
