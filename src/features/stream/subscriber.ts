/**
 * A subscriber to a market or to spot prices: it catches up from the store, then joins a fan-out
 * group.
 */
import { AppError, ifSound } from '#src/domain/errors.ts'
import type { Fanout, Subscriber } from '#src/live/group.ts'

import { emptyMessage, type Message } from './messages.ts'
import { createSendQueue, type OnSlow, type Outlet } from './send-queue.ts'
import type { RowSource } from './sources.ts'

/** Rows that are read in one step of catching up. */
const STEP_ROWS = 50
/**
 * Delay before a slow client is checked again: stored rows are read no faster than the client
 * reads.
 */
export const SLOW_MS = 20

export type Groups = Fanout<Message, RowSource>

type SubscriberOptions = {
  id: string
  onSlow: OnSlow
  /** Rows of the store from the start position. */
  source: RowSource
  key: string
  /** Sent at the end of catching up; undefined if the subscription begins with the last rows. */
  live: Message | undefined
  groups: Groups
  outlet: Outlet
}

/** Creates a subscriber. */
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

  /** Sends the last rows after all written rows, or a message that there are none. */
  async function sendLastLater(): Promise<void> {
    for (;;) {
      await outlet.turn()
      const own = sendRest()
      const last = own.last()
      if (isOver) return
      if (!(last instanceof Promise)) {
        pushAll(last)
        if (last.length === 0) queue.push(emptyMessage)
        return
      }
      await last
    }
  }

  /** Sends rows that are not in a group's message yet; returns the position after them. */
  function sendRest(): RowSource {
    const own = groups.separate(subscriber) ?? source
    do pushAll(own.next())
    while (own.hasMore)
    return own
  }

  /** Switches to new rows; `last` are the rows of a requested snapshot. */
  function goLive(last: readonly Message[]): void {
    isLive = true
    groups.add(key, source, subscriber)
    pushAll(last)
    if (isSnapshotOwed && last.length === 0 && live) queue.push(emptyMessage)
    // Gaps that are still open.
    if (live === undefined) pushAll(source.next())
    else queue.push(live)
    if (farewell !== undefined) depart(farewell)
  }

  /** Leaves the group with a last message, after all written rows. */
  function depart(last: Message): void {
    const coming = ifSound(sendRest)?.coming
    if (coming === undefined) {
      queue.push(last)
      leave()
    } else outlet.watch(departLater(coming, last))
  }

  async function departLater(coming: Promise<unknown>, last: Message): Promise<void> {
    await coming
    if (!isOver) depart(last)
  }

  function leave(): void {
    isOver = true
    groups.leave(subscriber)
  }

  async function restWhileSlow(): Promise<boolean> {
    let hasRested = false
    for (; outlet.isSlow() && !isOver; hasRested = true) await outlet.rest(SLOW_MS)
    return hasRested
  }

  /** Catches up, and goes live when nothing remains to be fetched. */
  async function begin(): Promise<void> {
    for (;;) {
      await outlet.turn()
      if (live) await catchUp()
      if (isOver) return
      const last = isSnapshotOwed ? source.last() : []
      if (!(last instanceof Promise)) return goLive(last)
      await last
    }
  }

  /** Sends stored rows at the client's pace, without skipping. */
  async function catchUp(): Promise<void> {
    for (let isBehind = true; isBehind;) {
      isBehind = await restWhileSlow()
      await outlet.turn()
      if (isOver) return
      for (const message of source.next(STEP_ROWS)) {
        if (outlet.isSlow()) isBehind = (await restWhileSlow()) || isBehind
        if (isOver) return
        queue.sendNow(message)
      }
      isBehind ||= source.hasMore || source.coming !== undefined
      await source.coming
      if (isOver) return
    }
  }

  const first = live ? undefined : source.last()
  if (first === undefined || first instanceof Promise) outlet.watch(begin())
  else goLive(first)

  return {
    /**
     * Sends the last rows; during catch-up, after the stored rows. Returns false only if there are
     * no rows.
     */
    snapshot(): boolean {
      if (!isLive) {
        isSnapshotOwed = true
        return true
      }
      const last = sendRest().last()
      if (last instanceof Promise) {
        outlet.watch(sendLastLater())
        return true
      }
      pushAll(last)
      return last.length > 0
    },

    drained: queue.drained,

    /** Sends a message after the rows before it. */
    tell: queue.push,

    /** Sends all written rows, then a last message. */
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
