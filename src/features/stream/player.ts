/** Plays what was recorded over a connection, in the messages of the live stream. */
import { AppError } from '#src/domain/errors.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import {
  type MarketEvent,
  type ReplayEvent,
  replayEvents,
  type ReplayRange,
} from '#src/live/replay.ts'
import type { RowReader } from '#src/live/rows.ts'
import type { Paced } from '#src/live/runner.ts'

import {
  gapMessage,
  marketEndMessage,
  marketMessage,
  type Message,
  type Messages,
  replayEndMessage,
} from './messages.ts'
import { createSendQueue, type Outlet } from './send-queue.ts'
import { SLOW_MS } from './subscriber.ts'
import type { Player, Subscription } from './subscription.ts'

/** An operation on a replay that waits is noticed after so long. */
const REST_MS_MAX = 25

type ReplayOptions = {
  id: string
  range: ReplayRange
  speed: number
  history: MarketHistory
  rows: RowReader
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
  messages: Messages
  describeEvent: (event: MarketEvent) => string
  outlet: Outlet
}

/** Begins a replay. */
export function startReplay({
  id,
  range,
  speed,
  history,
  rows,
  clock,
  timer,
  messages,
  describeEvent,
  outlet,
}: ReplayOptions): Subscription & { player: Player } {
  const createQueue = () => createSendQueue(id, 'close', outlet)
  const own = createQueue()
  /** Rows of each market, and prices of the coin, are numbered by themselves. */
  const queues = new Map<string, ReturnType<typeof createQueue>>()
  const read = (part: ReplayRange) => replayEvents(part, history, rows, clock())
  const pace = createPace(speed, timer, outlet.isSlow)
  let events = read(range)
  let isOver = false
  let hasEnded = false
  let timeMs: number | undefined

  function sendNumbered(name: string, message: Message): void {
    const queue = queues.get(name) ?? createQueue()
    queues.set(name, queue)
    queue.sendNow(message)
  }

  function sendEvent(event: ReplayEvent): void {
    if ('tick' in event) {
      const { kind, tick, isPart } = event
      const type = kind === 'tick' ? 'row' : 'snapshot'
      const { spot = { coin: range.coin } } = range
      sendNumbered('spot', messages.tick(type, spot, tick, isPart ? undefined : tick))
      return
    }
    const { kind, market } = event
    const { conditionId } = market
    if (kind === 'row' || kind === 'snapshot')
      sendNumbered(conditionId, messages.row(kind, market, range.filter, event.row))
    else if (kind === 'gap') own.sendNow(gapMessage(market, event.gap))
    else if (kind !== 'end') own.sendNow(marketMessage(kind, describeEvent(event)))
    else {
      queues.delete(conditionId)
      own.sendNow(marketEndMessage(market))
    }
  }

  function* play(playing: typeof events): Paced {
    const isWanted = () => !isOver && playing === events
    for (const event of playing) {
      if (event instanceof Promise) {
        yield event
        if (!isWanted()) return
        continue
      }
      if (event) yield* pace.rests(event.timeMs, isWanted)
      if (!isWanted()) return
      if (event) {
        timeMs = event.timeMs
        sendEvent(event)
      }
      yield 0
    }
    hasEnded = true
    own.sendNow(replayEndMessage)
  }

  /** Applies a change and says how it goes on. */
  function after(change: () => void): void {
    change()
    const playing = pace.isPaused ? 'paused' : 'playing'
    const state = hasEnded ? 'ended' : playing
    const time = timeMs === undefined ? null : toIso(timeMs)
    outlet.send(JSON.stringify({ type: 'replay_state', id, state, speed: pace.speed, time }))
  }

  function seek(toMs: number): void {
    timeMs = toMs
    hasEnded = false
    queues.clear()
    pace.set({})
    events = read({ ...range, after: undefined, fromMs: toMs })
    outlet.inTurns(play(events))
  }

  outlet.inTurns(play(events))
  return {
    // It asks by itself whether the connection takes more.
    drained() {},
    snapshot() {
      throw new AppError('invalid_parameter', 'That is a replay: use `seek`.', { param: 'id' })
    },
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
function createPace(firstSpeed: number, timer: Clock, isSlow: () => boolean) {
  let speed = firstSpeed
  let isPaused = false
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
