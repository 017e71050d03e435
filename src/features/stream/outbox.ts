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

/** `isNew` unless its row was sent before. */
type Waiting = Item & { kind: Kind | 'other'; isNew: boolean }

/** Answers whoever asks for last rows where there are none. `name` is that of `gapText`. */
export const emptyText = (name: string): string => `{"type":"snapshot_empty","id":${name}}`

export function createOutbox(
  { id, onSlow }: { id: string; onSlow: OnSlow },
  { send, isSlow, hold }: Outlet,
) {
  const name = JSON.stringify(id)
  const waiting: Waiting[] = []
  let prevSeq: number | null = null
  let skipped = 0

  function sendNow({ seq, rest }: Item, kind: Kind): void {
    const missed = skipped > 0 ? `"skipped":${skipped},` : ''
    send(`{"type":"${kind}","id":${name},"prevSeq":${prevSeq},${missed}${rest}`)
    prevSeq = seq
    skipped = 0
  }

  /** A snapshot that was asked for stays one, of the newest row. */
  function replaceOlder(item: Waiting): Waiting {
    const at = waiting.findIndex(({ lane }) => lane === item.lane)
    const [older] = at < 0 ? [] : waiting.splice(at, 1)
    if (older === undefined) return item
    hold(-older.rest.length)
    const isSame = older.seq === item.seq
    if (older.isNew && !isSame) skipped++
    const kind = older.kind === 'snapshot' ? older.kind : item.kind
    return { ...item, kind, isNew: isSame ? older.isNew : item.isNew }
  }

  function keep(item: Item, kind: Waiting['kind']): void {
    const now = { ...item, kind, isNew: kind === 'row' }
    const isReplacing = onSlow === 'conflate' && item.lane !== undefined
    waiting.push(isReplacing ? replaceOlder(now) : now)
    hold(item.rest.length)
  }

  return {
    /** Sends, or keeps what the connection does not take now. */
    push(item: Item): void {
      if (waiting.length === 0 && !isSlow()) sendNow(item, 'row')
      else keep(item, 'row')
    },

    sendNow,

    /** Sends a row again, after those that wait. */
    repeat(item: Item): void {
      if (waiting.length === 0) sendNow(item, 'snapshot')
      else keep(item, 'snapshot')
    },

    /** Sends a message that is no row, after the rows before it. */
    tell(text: string): void {
      if (waiting.length === 0) send(text)
      else keep({ seq: 0, lane: undefined, rest: text }, 'other')
    },

    /** The connection takes more again. */
    drained(): void {
      let sent = 0
      for (const item of waiting) {
        if (isSlow()) break
        if (item.kind === 'other') send(item.rest)
        else sendNow(item, item.kind)
        hold(-item.rest.length)
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
