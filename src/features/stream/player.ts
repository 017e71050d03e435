/** Replays recorded rows over a connection, as messages of the live stream. */
import { AppError } from '#src/domain/errors.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketEvent, ReplayEvent, ReplayRange } from '#src/live/replay.ts'

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

/** Longest wait before an operation on a paused replay takes effect. */
const REST_MS_MAX = 25

/** Events in the order of their times, in pieces. */
export type ReplayEvents = AsyncGenerator<ReplayEvent[], void, undefined>

type ReplayOptions = {
  id: string
  range: ReplayRange
  speed: number
  read: (range: ReplayRange) => ReplayEvents
  /** Monotonic milliseconds. */
  timer: Clock
  messages: Messages
  describeEvent: (event: MarketEvent) => string
  outlet: Outlet
}

/** Starts a replay. */
export function startReplay({
  id,
  range,
  speed,
  read,
  timer,
  messages,
  describeEvent,
  outlet,
}: ReplayOptions): Subscription & { player: Player } {
  const createQueue = () => createSendQueue(id, 'close', outlet)
  const own = createQueue()
  /** Rows of each market, and spot prices, are numbered separately. */
  const queues = new Map<string, ReturnType<typeof createQueue>>()
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

  async function play(playing: ReplayEvents): Promise<void> {
    const isWanted = () => !isOver && playing === events
    let coming = playing.next()
    // Operations received together with this one take effect first.
    await outlet.rest(0)
    for (;;) {
      const { value: piece = [], done } = await coming
      if (!isWanted()) return
      if (done) break
      // The next piece is read while this one is played.
      coming = playing.next()
      coming.catch(() => undefined)
      for (const event of piece) {
        await outlet.turn()
        while (isWanted()) {
          const restMs = pace.restOf(event.timeMs)
          if (restMs <= 0) break
          await outlet.rest(restMs)
        }
        if (!isWanted()) return
        timeMs = event.timeMs
        sendEvent(event)
      }
    }
    hasEnded = true
    own.sendNow(replayEndMessage)
  }

  function begin(): void {
    outlet.watch(play(events))
  }

  /** Applies a change and sends the state of the replay. */
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
    void events.return()
    events = read({ ...range, after: undefined, fromMs: toMs })
    begin()
  }

  begin()
  return {
    // A replay checks for back-pressure itself.
    drained() {},
    snapshot() {
      throw new AppError('invalid_parameter', 'The subscription is a replay: use `seek`.', {
        param: 'id',
      })
    },
    end() {
      isOver = true
      void events.return()
    },
    player: {
      pause: () => after(() => pace.set({ isPaused: true })),
      resume: () => after(() => pace.set({ isPaused: false })),
      seek: (toMs) => after(() => seek(toMs)),
      setSpeed: (next) => after(() => pace.set({ speed: next })),
    },
  }
}

/** Decides when events of a recording are due. */
function createPace(firstSpeed: number, timer: Clock, isSlow: () => boolean) {
  let speed = firstSpeed
  let isPaused = false
  /** A moment of the recording and the time at which it was played. */
  let anchor: { timeMs: number; atMs: number } | undefined

  function restOf(eventMs: number): number {
    if (isPaused || isSlow()) {
      // Time stands still during a pause or back-pressure: no event is skipped and no delay is made
      // up for.
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
    /** Milliseconds until an event is due, or until that is asked again. */
    restOf,
  }
}
