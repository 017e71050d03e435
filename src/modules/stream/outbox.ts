/** Rows of a subscription on their way, and those that wait while the connection takes no more. */

/** What a connection is to those who send over it. */
export type Outlet = {
  send(text: string): void
  /** True while the connection takes no more rows. */
  isSlow(): boolean
  /** Accounts for bytes that wait, negative for those that do not any more. */
  hold(bytes: number): void
}

export type OnSlow = 'conflate' | 'close'

export type Item = {
  seq: number
  /** Of the rows of a lane only the newest has to be known; undefined where each has to. */
  lane: string | undefined
  /** The message without its type, id, `prevSeq` and `skipped`: `"channel":…}`. */
  rest: string
}

type Kind = 'row' | 'snapshot'

export function createOutbox(
  { id, onSlow }: { id: string; onSlow: OnSlow },
  { send, isSlow, hold }: Outlet,
) {
  const name = JSON.stringify(id)
  const waiting: Item[] = []
  let prevSeq: number | null = null
  let skipped = 0

  function sendNow({ seq, rest }: Item, kind: Kind): void {
    const missed = skipped > 0 ? `"skipped":${skipped},` : ''
    send(`{"type":"${kind}","id":${name},"prevSeq":${prevSeq},${missed}${rest}`)
    prevSeq = seq
    skipped = 0
  }

  function dropOlder({ lane }: Item): void {
    const older = waiting.findIndex((each) => each.lane === lane)
    if (older < 0) return
    hold(-(waiting[older]?.rest.length ?? 0))
    waiting.splice(older, 1)
    skipped++
  }

  return {
    /** Sends, or keeps what the connection does not take now. */
    push(item: Item): void {
      if (waiting.length === 0 && !isSlow()) {
        sendNow(item, 'row')
        return
      }
      if (onSlow === 'conflate' && item.lane !== undefined) dropOlder(item)
      waiting.push(item)
      hold(item.rest.length)
    },

    sendNow,

    /** The connection takes more again. */
    drained(): void {
      let sent = 0
      for (const item of waiting) {
        if (isSlow()) break
        sendNow(item, 'row')
        hold(-item.rest.length)
        sent++
      }
      waiting.splice(0, sent)
    },

    /** Forgets what waits. */
    clear(): void {
      for (const { rest } of waiting.splice(0)) hold(-rest.length)
    },
  }
}
