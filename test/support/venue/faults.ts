/** What can be wrong with a venue, and what that does to the messages of a connection. */
import { readPrice } from './book.ts'
import type { Frame } from './frames.ts'

/** Of one connection. Counts are of the messages that the fault can do something to. */
export type ConnectionFault =
  /** Ends the connection: with a close frame (1001), or as a cut line does. */
  | { kind: 'drop'; hasCloseFrame: boolean }
  /** No message any more, or for a while; PING is answered. */
  | { kind: 'freeze'; forMs?: number }
  /** Of each later subscription so many tokens, the last ones, get changes and never a book. */
  | { kind: 'no-book'; tokens: number }
  | { kind: 'duplicate'; frames: number }
  | { kind: 'lose'; frames: number }
  /** The changes of one millisecond come in reverse. */
  | { kind: 'reorder'; batches: number }
  /** A level that is not true, with the hash of the true book. */
  | { kind: 'corrupt-level'; of: 'size' | 'price'; frames: number }
  /** Of every message of so many milliseconds: what counts is that of the last one. */
  | { kind: 'wrong-hash'; batches: number }
  /** The book's hash knows the trade already; its message comes later. */
  | { kind: 'late-trade'; trades: number; byMs: number }
  /** In the middle of so many milliseconds the line stops for a while; then all of it comes. */
  | { kind: 'hold'; batches: number; forMs: number }
  | { kind: 'garbage' }
  | { kind: 'unknown-event' }
  /** Sends a text as it is. */
  | { kind: 'say'; text: string }
  /** From now on, in each message of a type, writes `put` in place of what `find` finds. */
  | { kind: 'rewrite'; type: string; find: RegExp; put: string }
  /** What is sent next takes its time. */
  | { kind: 'slow-drip'; bytes: number; everyMs: number }

/** Of the whole venue. */
export type VenueFault =
  /** Takes the next connections and never answers their handshake. */
  | { kind: 'no-upgrade'; connections: number }
  | { kind: 'refuse'; forMs: number }
  /** Hashes are made by another recipe, until this is said again. */
  | { kind: 'other-recipe' }
  /** From now on timestamps are ahead of the clock by so much; may be negative. */
  | { kind: 'clock-jump'; byMs: number }
  | { kind: 'gamma-status'; status: 429 | 500; requests: number; retryAfterSeconds?: number }
  /** The catalogue states another rate of fees from now on. */
  | { kind: 'fee-rate'; rate: number }
  /** Windows that are not resolved yet take so much longer. */
  | { kind: 'late-resolution'; byMs: number }

export type Fault = ConnectionFault | VenueFault

/**
 * When a fault happens: `atMs` after the venue's start, once; or on each connection after so many
 * of its messages, where 0 is before the first. `connection` names one market connection, in the
 * order in which they came.
 */
export type ScriptEntry = { fault: Fault; connection?: number } & (
  { atMs: number } | { afterFrames: number }
)

const venueKinds = new Set<Fault['kind']>([
  ...(['no-upgrade', 'refuse', 'other-recipe', 'clock-jump'] as const),
  ...(['gamma-status', 'late-resolution', 'fee-rate'] as const),
])
export const isOfVenue = (fault: Fault): fault is VenueFault => venueKinds.has(fault.kind)

/** A message with the name of what was done to it. */
export type MangledFrame = Frame & { fault?: Fault['kind']; heldMs?: number }
/** Messages of one market and one millisecond. */
type Batch = readonly MangledFrame[]

export type Mangler = {
  /** Messages that `lose` took. */
  lost: readonly Frame[]
  arm(fault: ConnectionFault): void
  /** Does to the messages what is due; `later` sends one after a while. */
  mangle(batch: Batch, later: (frame: MangledFrame, delayMs: number) => void): Batch
}

export function createMangler(): Mangler {
  const left = new Map<Fault['kind'], { fault: ConnectionFault; count: number }>()
  const lost: Frame[] = []
  const rewrites: Extract<Fault, { kind: 'rewrite' }>[] = []
  /** The messages of a kind, up to the count that is left, go through `change`. */
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

  /** Of a fault that counts batches. */
  function take(kind: Fault['kind']): ConnectionFault | undefined {
    const armed = left.get(kind)
    if (armed !== undefined && --armed.count === 0) left.delete(kind)
    return armed?.fault
  }

  /** Of the messages of a millisecond, the last one. */
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

/** One cent away, and still a price. */
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
