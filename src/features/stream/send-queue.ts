/** Queue of a subscriber: messages that wait while the connection is slow. */

import type { AppError } from '#src/domain/errors.ts'
import type { By } from '#src/platform/pool/queue.ts'

import type { Message } from './messages.ts'

/** The part of a connection that subscriptions and replays use. */
export type Outlet = {
  send(text: string): void
  /** True while the connection applies back-pressure. */
  isSlow(): boolean
  /** Adds to the count of queued bytes; negative when they are sent or dropped. */
  hold(bytes: number): void
  /** The account of the connection. */
  by(): By
  /** Undefined if there is time for a short step now, else a promise to await. */
  turn(): Promise<void> | undefined
  /** Resolves after this number of milliseconds. */
  rest(ms: number): Promise<void>
  /** Reports the error of work in the background. */
  watch(work: Promise<void>): void
  /** Sends the reason why the subscription ends. */
  onFault(error: AppError): void
}

export type OnSlow = 'conflate' | 'close'

/** `isNew` is false if the row was sent before. */
type Waiting = Message & { isNew: boolean }

/** Queues the messages of a market or of any other numbered series. */
export function createSendQueue(id: string, onSlow: OnSlow, { send, isSlow, hold }: Outlet) {
  const name = JSON.stringify(id)
  const waiting: Waiting[] = []
  let prevSeq: number | null = null
  let skipped = 0

  function sendNow({ type, seq, rest }: Message): void {
    if (seq === undefined) {
      send(`{"type":"${type}","id":${name}${rest}`)
      return
    }
    const missed = skipped > 0 ? `,"skipped":${skipped}` : ''
    send(`{"type":"${type}","id":${name},"prevSeq":${prevSeq}${missed}${rest}`)
    prevSeq = seq
    skipped = 0
  }

  /** A requested snapshot remains a snapshot, but of the newest row. */
  function replaceOlder(message: Waiting): Waiting {
    const at = waiting.findIndex(({ state }) => state === message.state)
    const [older] = at < 0 ? [] : waiting.splice(at, 1)
    if (older === undefined) return message
    hold(-older.rest.length)
    const isSame = older.seq === message.seq
    if (older.isNew && !isSame) skipped++
    return {
      ...message,
      type: older.type === 'snapshot' ? older.type : message.type,
      isNew: isSame ? older.isNew : message.isNew,
    }
  }

  function keep(message: Message): void {
    const now = { ...message, isNew: message.type === 'row' }
    const isReplacing = onSlow === 'conflate' && message.state !== undefined
    waiting.push(isReplacing ? replaceOlder(now) : now)
    hold(message.rest.length)
  }

  return {
    /** Sends a message after the queued ones; a row is queued while the connection is slow. */
    push(message: Message): void {
      const hasToWait = message.type === 'row' && isSlow()
      if (waiting.length === 0 && !hasToWait) sendNow(message)
      else keep(message)
    },

    sendNow,

    /** Continues after back-pressure has ended. */
    drained(): void {
      let sent = 0
      for (const message of waiting) {
        if (isSlow()) break
        sendNow(message)
        hold(-message.rest.length)
        sent++
      }
      waiting.splice(0, sent)
    },

    get isEmpty() {
      return waiting.length === 0
    },

    /** Drops the queue. */
    clear(): void {
      for (const { rest } of waiting.splice(0)) hold(-rest.length)
    },
  }
}
