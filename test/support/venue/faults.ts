/** The faults of a venue, and their effects on the messages of a connection. */
import { readPrice } from './book.ts'
import type { Frame } from './frames.ts'

/** Faults of one connection. Counts include only messages that the fault can affect. */
export type ConnectionFault =
  /** Ends the connection: with a close frame (1001), or without one like a cut line. */
  | { kind: 'drop'; hasCloseFrame: boolean }
  /** Stops messages forever or for a while; PING is answered. */
  | { kind: 'freeze'; forMs?: number }
  /**
   * Sends only changes, and never a book, of the last `tokens` tokens of each later subscription.
   */
  | { kind: 'no-book'; tokens: number }
  | { kind: 'duplicate'; frames: number }
  | { kind: 'lose'; frames: number }
  /** The changes of one millisecond arrive in reverse. */
  | { kind: 'reorder'; batches: number }
  /** A false level with the hash of the true book. */
  | { kind: 'corrupt-level'; of: 'size' | 'price'; frames: number }
  /** Changes the hash in every message of this many batches; the last message of each counts. */
  | { kind: 'wrong-hash'; batches: number }
  /** The book's hash already includes the trade; its message arrives later. */
  | { kind: 'late-trade'; trades: number; byMs: number }
  /** Stops the line for a while in the middle of this many batches; then everything arrives. */
  | { kind: 'hold'; batches: number; forMs: number }
  | { kind: 'garbage' }
  | { kind: 'unknown-event' }
  /** Sends a text unchanged. */
  | { kind: 'say'; text: string }
  /** From now on, replaces `find` by `put` in each message of a type. */
  | { kind: 'rewrite'; type: string; find: RegExp; put: string }
  /** Sends the next bytes slowly. */
  | { kind: 'slow-drip'; bytes: number; everyMs: number }

/** Faults of the whole venue. */
export type VenueFault =
  /** Accepts the next connections and never answers their handshake. */
  | { kind: 'no-upgrade'; connections: number }
  | { kind: 'refuse'; forMs: number }
  /** Uses another recipe for hashes, until this fault is injected again. */
  | { kind: 'other-recipe' }
  /** Sets timestamps ahead of the clock by this much; may be negative. */
  | { kind: 'clock-jump'; byMs: number }
  | { kind: 'gamma-status'; status: 429 | 500; requests: number; retryAfterSeconds?: number }
  /** Changes the fee rate of the catalogue and of the order book API. */
  | { kind: 'fee-rate'; rate: number }
  /** Begins or ends to hold back orders that take. */
  | { kind: 'taker-delay'; isOn: boolean }
  /** Delays the resolution of windows that are not resolved yet. */
  | { kind: 'late-resolution'; byMs: number }

export type Fault = ConnectionFault | VenueFault

/**
 * The time of a fault: once, `atMs` after the venue's start; or on each connection after this many
 * of its messages, where 0 is before the first. `connection` names one market connection by its
 * order.
 */
export type ScriptEntry = { fault: Fault; connection?: number } & (
  { atMs: number } | { afterFrames: number }
)

const venueKinds = new Set<Fault['kind']>([
  ...(['no-upgrade', 'refuse', 'other-recipe', 'clock-jump'] as const),
  ...(['gamma-status', 'late-resolution', 'fee-rate', 'taker-delay'] as const),
])
export const isOfVenue = (fault: Fault): fault is VenueFault => venueKinds.has(fault.kind)

/** A message with the name of the fault that changed it. */
export type MangledFrame = Frame & { fault?: Fault['kind']; heldMs?: number }
/** Messages of one market and one millisecond. */
type Batch = readonly MangledFrame[]

export type Mangler = {
  /** Messages removed by `lose`. */
  lost: readonly Frame[]
  arm(fault: ConnectionFault): void
  /** Applies due faults to the messages; `later` sends one after a delay. */
  mangle(batch: Batch, later: (frame: MangledFrame, delayMs: number) => void): Batch
}

export function createMangler(): Mangler {
  const left = new Map<Fault['kind'], { fault: ConnectionFault; count: number }>()
  const lost: Frame[] = []
  const rewrites: Extract<Fault, { kind: 'rewrite' }>[] = []
  /** Applies `change` to messages of a kind, up to the remaining count. */
  function each(
    batch: Batch,
    kind: Fault['kind'],
    change: (frame: MangledFrame, fault: ConnectionFault) => MangledFrame[] | undefined,
  ): Batch {
    const armed = left.get(kind)
    if (armed === undefined) return batch
    return batch.flatMap((frame) => {
      const changed = armed.count > 0 ? change(frame, armed.fault) : undefined
      if (changed === undefined) return [frame]
      if (--armed.count === 0) left.delete(kind)
      return changed.map((result) => ({ ...result, fault: kind }))
    })
  }

  /** Takes one from a fault that counts batches. */
  function take(kind: Fault['kind']): ConnectionFault | undefined {
    const armed = left.get(kind)
    if (armed !== undefined && --armed.count === 0) left.delete(kind)
    return armed?.fault
  }

  /** Applies to the last message of a millisecond. */
  function hold(batch: Batch): Batch {
    const fault = take('hold')
    if (fault?.kind !== 'hold') return batch
    return batch.with(-1, { ...(batch.at(-1) as MangledFrame), fault: 'hold', heldMs: fault.forMs })
  }

  function lose(frame: Frame): MangledFrame[] | undefined {
    if (frame.type !== 'price_change') return undefined
    lost.push(frame)
    return []
  }

  return {
    lost,
    arm(fault) {
      if (fault.kind === 'rewrite') rewrites.push(fault)
      else left.set(fault.kind, { fault, count: countOf(fault) })
    },
    mangle(sound, later) {
      const batch = rewrites.reduce(rewritten, sound)
      if (left.size === 0) return batch
      let result = each(batch, 'late-trade', (frame, fault) => {
        if (frame.type !== 'last_trade_price' || fault.kind !== 'late-trade') return undefined
        later({ ...frame, fault: 'late-trade' }, fault.byMs)
        return []
      })
      result = each(result, 'lose', lose)
      result = each(result, 'corrupt-level', (frame, fault) =>
        fault.kind === 'corrupt-level' ? corrupted(frame, fault.of) : undefined,
      )
      result = each(result, 'duplicate', (frame) => [frame, frame])
      if (result.some(hasHash) && take('wrong-hash')) result = result.map(withWrongHash)
      const changes = result.filter(({ type }) => type === 'price_change')
      if (changes.length < 2) return result
      const others = result.filter(({ type }) => type !== 'price_change')
      if (take('reorder'))
        result = [
          ...others,
          ...changes.reverse().map((each) => ({ ...each, fault: 'reorder' as const })),
        ]
      return hold(result)
    },
  }
}

const rewritten = (batch: Batch, fault: Extract<Fault, { kind: 'rewrite' }>): Batch =>
  batch.map((frame) => {
    if (frame.type !== fault.type) return frame
    return { ...frame, fault: 'rewrite', text: frame.text.replace(fault.find, fault.put) }
  })

function countOf(fault: ConnectionFault): number {
  if ('frames' in fault) return fault.frames
  if ('batches' in fault) return fault.batches
  return fault.kind === 'late-trade' ? fault.trades : 0
}

type Priced = { price: string; size: string }
type Levelled = { bids?: Priced[]; asks?: Priced[]; price_changes?: Priced[]; changes?: Priced[] }

/** Undefined for a message without a level. */
function corrupted(frame: MangledFrame, of: 'size' | 'price'): MangledFrame[] | undefined {
  if (frame.type !== 'book' && frame.type !== 'price_change') return undefined
  const message = JSON.parse(frame.text) as Levelled | Levelled[]
  const [first] = Array.isArray(message) ? message : [message]
  const level = first?.price_changes?.[0] ?? first?.changes?.[0] ?? first?.bids?.at(-1)
  if (level === undefined) return undefined
  if (of === 'size') level.size = String(Number(level.size) + 1)
  else level.price = otherPrice(level.price)
  return [{ ...frame, text: JSON.stringify(message) }]
}

/** A price one cent away, still valid. */
function otherPrice(text: string): string {
  const price = readPrice(text)
  return String((price < 500_000 ? price + 10_000 : price - 10_000) / 1_000_000)
}

const hash = /"hash":"([0-9a-f]{40})"/g
const hasHash = ({ type }: MangledFrame): boolean => type === 'book' || type === 'price_change'

const withWrongHash = (frame: MangledFrame): MangledFrame =>
  hasHash(frame)
    ? {
        ...frame,
        fault: 'wrong-hash',
        text: frame.text.replace(hash, (_, digits: string) => {
          return `"hash":"${digits[0] === '0' ? '1' : '0'}${digits.slice(1)}"`
        }),
      }
    : frame

export const garbageFrame: MangledFrame = {
  type: 'garbage',
  text: '{"event_type":"price_change","market":"0x',
  fault: 'garbage',
}

export const unknownFrame: MangledFrame = {
  type: 'unknown',
  text: '{"event_type":"maker_rebate_v9","market":"0x00","timestamp":"1"}',
  fault: 'unknown-event',
}
