/** One that follows a market, or prices: it catches up, and then shares a group with others. */
import { AppError, ifSound } from '#src/domain/errors.ts'
import type { Fanout, Subscriber } from '#src/live/group.ts'
import type { Paced } from '#src/live/runner.ts'

import { emptyMessage, type Message } from './messages.ts'
import { createSendQueue, type OnSlow, type Outlet } from './send-queue.ts'
import type { RowSource } from './sources.ts'

/** Rows that are read in one step of catching up. */
const STEP_ROWS = 50
/** The past is not read faster than it is taken: a client that takes no more is asked again so late. */
export const SLOW_MS = 20

export type Groups = Fanout<Message, RowSource>

type SubscriberOptions = {
  id: string
  onSlow: OnSlow
  /** Where it begins, and what names the rows of the source. */
  source: RowSource
  key: string
  /** Sent once all that was held is; undefined for one that begins with the last rows. */
  live: Message | undefined
  groups: Groups
  outlet: Outlet
}

/** Begins to follow. */
export function createSubscriber({
  id,
  onSlow,
  source,
  key,
  live,
  groups,
  outlet,
}: SubscriberOptions) {
  const queue = createSendQueue(id, onSlow, outlet)
  let isSnapshotOwed = live === undefined
  let isLive = false
  let isOver = false
  let farewell: Message | undefined

  const subscriber: Subscriber<Message, RowSource> = {
    push(message) {
      if (!isOver) queue.push(message)
      return true
    },
    isFull: false,
    move() {},
    fail(error) {
      if (!(error instanceof AppError)) throw error
      outlet.onFault(error)
    },
  }

  function pushAll(messages: readonly Message[]): void {
    for (const message of messages) subscriber.push(message)
  }

  /** Sends the last rows, after all that was written; says if there are none. */
  function* sendLastLater(): Paced {
    for (;;) {
      const own = sendRest()
      const last = own.last()
      if (isOver) return
      if (!(last instanceof Promise)) {
        pushAll(last)
        if (last.length === 0) queue.push(emptyMessage)
        return
      }
      yield last
    }
  }

  /** Sends what was not handed on yet; returns where it goes on. */
  function sendRest(): RowSource {
    const own = groups.separate(subscriber) ?? source
    do pushAll(own.next())
    while (own.hasMore)
    return own
  }

  /** From here on rows come as they are written; `last` are those of a snapshot that is owed. */
  function goLive(last: readonly Message[]): void {
    isLive = true
    groups.add(key, source, subscriber)
    pushAll(last)
    if (isSnapshotOwed && last.length === 0 && live) queue.push(emptyMessage)
    // Gaps that go on.
    if (live === undefined) pushAll(source.next())
    else queue.push(live)
    if (farewell !== undefined) depart(farewell)
  }

  /** Leaves with a last message, after all that was written. */
  function depart(last: Message): void {
    const coming = ifSound(sendRest)?.coming
    if (coming === undefined) {
      queue.push(last)
      leave()
    } else outlet.inTurns(departLater(coming, last))
  }

  function* departLater(coming: Promise<unknown>, last: Message): Paced {
    yield coming
    if (!isOver) depart(last)
  }

  function leave(): void {
    isOver = true
    groups.leave(subscriber)
  }

  function* restWhileSlow(): Generator<number, boolean> {
    let hasRested = false
    for (; outlet.isSlow() && !isOver; hasRested = true) yield SLOW_MS
    return hasRested
  }

  /** Catches up, and goes live when nothing has to be fetched any more. */
  function* begin(): Paced {
    for (;;) {
      if (live) yield* catchUp()
      if (isOver) return
      const last = isSnapshotOwed ? source.last() : []
      if (!(last instanceof Promise)) return goLive(last)
      yield last
    }
  }

  /** Sends what is held as fast as it is taken, and leaves nothing out. */
  function* catchUp(): Paced {
    for (let isBehind = true; isBehind;) {
      isBehind = yield* restWhileSlow()
      for (const message of source.next(STEP_ROWS)) {
        isBehind = (yield* restWhileSlow()) || isBehind
        if (isOver) return
        queue.sendNow(message)
      }
      isBehind ||= source.hasMore || source.coming !== undefined
      if (isBehind) yield source.coming ?? 0
      if (isOver) return
    }
  }

  const first = live ? undefined : source.last()
  if (first === undefined || first instanceof Promise) outlet.inTurns(begin())
  else goLive(first)

  return {
    /**
     * Sends the last rows; where those that are held still come, after the last of them. Returns
     * whether there are any, or will be said to be none.
     */
    snapshot(): boolean {
      if (!isLive) {
        isSnapshotOwed = true
        return true
      }
      const last = sendRest().last()
      if (last instanceof Promise) {
        outlet.inTurns(sendLastLater())
        return true
      }
      pushAll(last)
      return last.length > 0
    },

    drained: queue.drained,

    /** Says something, after the rows before it. */
    tell: queue.push,

    /** Sends what was written, and then a last message. */
    finish(last: Message): void {
      farewell = last
      if (isLive && !isOver) depart(last)
    },

    get isDone() {
      return isOver && queue.isEmpty
    },

    end(): void {
      leave()
      queue.clear()
    },
  }
}

export type StreamSubscriber = ReturnType<typeof createSubscriber>
