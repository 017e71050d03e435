/** What a subscriber is sent, and what waits while its connection takes no more rows. */

import type { AppError } from '#src/domain/errors.ts'
import type { Paced } from '#src/live/runner.ts'

import type { Message } from './messages.ts'

/** What subscriptions and replays have of their connection. */
export type Outlet = {
  send(text: string): void
  /** True while the connection takes no more rows. */
  isSlow(): boolean
  /** Accounts for bytes that wait, negative for those that do not any more. */
  hold(bytes: number): void
  /** Does work in turns with everybody else's. */
  inTurns(steps: Paced): void
  /** Says why nothing more comes. */
  onFault(error: AppError): void
}

export type OnSlow = 'conflate' | 'close'

/** `isNew` unless its row was sent before. */
type Waiting = Message & { isNew: boolean }

/** Messages of a market, or of anything else whose rows are numbered together. */
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

  /** A snapshot that was asked for stays one, of the newest row. */
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
    /** Sends a message after those that wait; a row waits while the connection takes no more. */
    push(message: Message): void {
      const hasToWait = message.type === 'row' && isSlow()
      if (waiting.length === 0 && !hasToWait) sendNow(message)
      else keep(message)
    },

    sendNow,

    /** The connection takes more again. */
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

    /** Forgets what waits. */
    clear(): void {
      for (const { rest } of waiting.splice(0)) hold(-rest.length)
    },
  }
}
