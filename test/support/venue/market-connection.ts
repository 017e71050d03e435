/** A connection to the market socket: its subscriptions, its messages and its faults. */
import type { MarketState } from './book.ts'
import {
  type ConnectionFault,
  createMangler,
  type Fault,
  garbageFrame,
  isOfVenue,
  type MangledFrame,
  type ScriptEntry,
  unknownFrame,
} from './faults.ts'
import { bookText, type Frame } from './frames.ts'
import type { Peer } from './web-socket.ts'

/** Beyond this number of tokens a connection silently receives nothing more. */
const TOKENS_MAX = 500

export type SentFrame = {
  /** By the venue's clock. */
  sentMs: number
  type: string
  text: string
  /** The fault that changed it. */
  fault?: string
}

export type MarketConnection = {
  tokens: ReadonlySet<string>
  /** Every received text, including PING. */
  received: readonly string[]
  frames: readonly SentFrame[]
  /** Messages that were due and never sent. */
  lost: readonly Frame[]
  /** The number of sent messages, stored or not. */
  sentCount(): number
  isOpen(): boolean
  buffered(): number
  inject(fault: ConnectionFault): void
  receive(text: string): void
  /** Delivers the messages of one market and millisecond. */
  deliver(state: MarketState, frames: readonly Frame[]): void
  /** Sends a message about all markets of the venue. */
  announce(frame: Frame): void
  flush(): void
  closed(): void
}

type Parts = {
  peer: Peer
  /** Entries that wait for a number of messages. */
  script: readonly ScriptEntry[]
  /** Injects a fault into this connection or the venue. */
  inject(fault: Fault): void
  nowMs(): number
  later(delayMs: number, callback: () => void): void
  stateOf(assetId: string): MarketState | undefined
  doesKeepFrames: boolean
}

type Subscription = {
  assets_ids?: unknown
  type?: unknown
  operation?: unknown
  initial_dump?: unknown
  custom_feature_enabled?: unknown
}

export function createMarketConnection(parts: Parts): MarketConnection {
  const { peer } = parts
  const interest = createInterest(parts.stateOf)
  const received: string[] = []
  const mangler = createMangler()
  const sender = createSender(parts, () => interest.tokens.size <= TOKENS_MAX)
  const waiting = parts.script
    .filter((entry) => 'afterFrames' in entry)
    .sort((a, b) => a.afterFrames - b.afterFrames)

  function runScript(): void {
    while (waiting[0] !== undefined && waiting[0].afterFrames <= sender.sentCount()) {
      const { fault } = waiting.shift() as ScriptEntry
      if (isOfVenue(fault)) parts.inject(fault)
      else inject(fault)
    }
  }
  function send(frame: MangledFrame): void {
    sender.send(frame)
    runScript()
  }
  const sendBatch = (batch: readonly MangledFrame[]): void => {
    const late = (frame: MangledFrame, delayMs: number) =>
      parts.later(delayMs, () => {
        send(frame)
        peer.flush()
      })
    for (const frame of mangler.mangle(batch, late)) send(frame)
  }

  function inject(fault: ConnectionFault): void {
    if (fault.kind === 'drop') sender.drop(fault.hasCloseFrame)
    else if (fault.kind === 'freeze') sender.freeze(fault.forMs)
    else if (fault.kind === 'slow-drip') sender.dripNext(fault)
    else if (fault.kind === 'no-book') interest.withhold(fault.tokens)
    else if (fault.kind === 'garbage') send(garbageFrame)
    else if (fault.kind === 'unknown-event') send(unknownFrame)
    else if (fault.kind === 'say') send({ type: 'said', text: fault.text, fault: 'say' })
    else mangler.arm(fault)
    peer.flush()
  }

  runScript()
  return {
    tokens: interest.tokens,
    received,
    frames: sender.frames,
    lost: mangler.lost,
    sentCount: sender.sentCount,
    isOpen: sender.isOpen,
    buffered: () => (sender.isOpen() ? peer.buffered() : 0),
    inject,
    receive(text) {
      received.push(text)
      if (text === 'PING') peer.send('PONG')
      const books = text === 'PING' ? [] : interest.read(text)
      if (books.length > 0) sendBatch([{ type: 'book', text: `[${books.join(',')}]\n` }])
      peer.flush()
    },
    deliver(state, batch) {
      if (sender.isOpen() && interest.covers(state)) sendBatch(interest.filter(state, batch))
    },
    announce(frame) {
      if (sender.isOpen() && interest.isFeatured()) sendBatch([frame])
    },
    flush: peer.flush,
    closed: sender.close,
  }
}

/** The subscriptions of a client, which only grow. */
function createInterest(stateOf: Parts['stateOf']) {
  const tokens = new Set<string>()
  const withoutBook = new Set<string>()
  let isForAll = false
  let isFeatured = false
  let withheld = 0

  const bookOf = (id: string): string[] => {
    const state = withoutBook.has(id) ? undefined : stateOf(id)
    const book = state?.books.find(({ assetId }) => assetId === id)
    return state === undefined || book === undefined ? [] : [bookText(state, book)]
  }
  return {
    tokens,
    isFeatured: () => isFeatured,
    /** Withholds the books of this many tokens of each later subscription. */
    withhold(count: number): void {
      withheld = count
    },
    covers: ({ books }: MarketState) =>
      isForAll || books.some(({ assetId }) => tokens.has(assetId)),
    filter({ books }: MarketState, batch: readonly Frame[]): Frame[] {
      const hasBook = !books.some(({ assetId }) => withoutBook.has(assetId))
      return batch.filter(
        ({ type, isExtra }) => (isFeatured || isExtra !== true) && (hasBook || type !== 'book'),
      )
    },
    /** Returns the books in response to a message; `unsubscribe` is ignored, as at the venue. */
    read(text: string): string[] {
      const message = readObject(text)
      if (message?.type !== 'market' && message?.operation !== 'subscribe') return []
      isFeatured ||= message.custom_feature_enabled === true
      const ids = Array.isArray(message.assets_ids) ? message.assets_ids.map(String) : []
      isForAll ||= ids.length === 0
      const fresh = ids.filter((id) => !tokens.has(id))
      for (const id of fresh) tokens.add(id)
      for (const id of fresh.slice(Math.max(0, fresh.length - withheld))) withoutBook.add(id)
      return message.initial_dump === false ? [] : fresh.flatMap(bookOf)
    },
  }
}

/** Sends messages and stores them. */
function createSender({ peer, later, nowMs, doesKeepFrames }: Parts, mayTalk: () => boolean) {
  const frames: SentFrame[] = []
  /** Messages that wait for the line. */
  let held: MangledFrame[] | undefined
  let isOpen = true
  let isFrozen = false
  let sentCount = 0
  let drip: { bytes: number; everyMs: number } | undefined

  const close = (): void => {
    isOpen = false
  }
  const thaw = (): void => {
    isFrozen = false
  }
  function send(frame: MangledFrame): void {
    if (!isOpen || isFrozen || !mayTalk()) return
    if (drip !== undefined) peer.flush()
    peer.send(frame.text)
    if (drip !== undefined) peer.drip(drip.bytes, drip.everyMs)
    const fault = drip === undefined ? frame.fault : 'slow-drip'
    drip = undefined
    sentCount++
    if (!doesKeepFrames) return
    const { type, text } = frame
    frames.push({ sentMs: nowMs(), type, text, ...(fault === undefined ? {} : { fault }) })
  }
  function release(): void {
    const all = held ?? []
    held = undefined
    for (const frame of all) send(frame)
    peer.flush()
  }
  return {
    frames,
    close,
    isOpen: () => isOpen,
    sentCount: () => sentCount,
    send(frame: MangledFrame): void {
      if (held === undefined && frame.heldMs !== undefined) {
        held = []
        later(frame.heldMs, release)
      }
      if (held === undefined) send(frame)
      else held.push(frame)
    },
    drop(hasCloseFrame: boolean): void {
      close()
      if (hasCloseFrame) peer.close(1001)
      else peer.terminate()
    },
    freeze(forMs?: number): void {
      isFrozen = true
      if (forMs !== undefined) later(forMs, thaw)
    },
    dripNext(pace: { bytes: number; everyMs: number }): void {
      drip = pace
    },
  }
}

function readObject(text: string): Subscription | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
