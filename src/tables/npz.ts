/**
 * Events of one outcome for hftbacktest (2.4): a ZIP file (`.npz`) with the array `data` of its
 * dtype, and `clipped`, the number of states whose time of receipt was moved. An array begins with
 * its length, so all events are read before the first byte is sent.
 */

import { constants, deflateRawSync } from 'node:zlib'

import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import { crc32, crcJoin } from '#src/platform/crc32.ts'

import type { EngineStep } from './engine-steps.ts'
import type { Pieces, Progress } from './ndjson.ts'

/** Flags of an event: its clocks and its side. */
const EXCH = 0x8000_0000
const LOCAL = 0x4000_0000
const BUY = 0x2000_0000
const SELL = 0x1000_0000
const sides = { buy: BUY, sell: SELL } as const
const kinds = { depth: 1, trade: 2, clear: 3, snapshot: 4 } as const

const EVENT_BYTES = 64
const NANOSECONDS = 1_000_000n
/** Events that are compressed at once. */
const PIECE_EVENTS = 4096
/** Packed events that are kept until their number is known; if there are more, they are read again. */
const KEPT_BYTES_MAX = 8 * 1024 * 1024
/** Larger arrays need ZIP64. */
const BYTES_MAX = 0xffff_ffff

const fields = [
  ['ev', 'u8'],
  ['exch_ts', 'i8'],
  ['local_ts', 'i8'],
  ['px', 'f8'],
  ['qty', 'f8'],
  ['order_id', 'u8'],
  ['ival', 'i8'],
  ['fval', 'f8'],
] as const
const dtype = `[${fields.map(([name, type]) => `('${name}', '<${type}')`).join(', ')}]`

const encoder = new TextEncoder()

/** The NPY header, version 1.0, of an array: padded so that data begins at a multiple of 64. */
function npyHeader(descr: string, length: number): Uint8Array {
  const text = `{'descr': ${descr}, 'fortran_order': False, 'shape': (${length},), }`
  const size = Math.ceil((10 + text.length + 1) / 64) * 64
  const bytes = new Uint8Array(size).fill(0x20)
  bytes.set([0x93, ...encoder.encode('NUMPY'), 1, 0])
  new DataView(bytes.buffer).setUint16(8, size - 10, true)
  bytes.set(encoder.encode(text), 10)
  bytes[size - 1] = 0x0a
  return bytes
}

/** Packed bytes of a member, with the CRC and the length of the bytes. */
type Part = { packed: Uint8Array; crc: number; size: number }

function pack(bytes: Uint8Array): Part {
  // A sync flush ends at a byte, so the parts can be concatenated.
  const packed = deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH })
  return { packed, crc: crc32(bytes), size: bytes.length }
}

type Entry = { name: string; crc: number; packed: number; size: number; at: number }

/** Writes the members of a ZIP file one after another, each with its sizes after its data. */
class ZipWriter {
  readonly #entries: Entry[] = []
  #offset = 0

  async *member(name: string, parts: AsyncIterable<Part> | Iterable<Part>): Pieces {
    const entry = { name, crc: 0, packed: 0, size: 0, at: this.#offset }
    yield this.#put(localHeader(name))
    for await (const { packed, crc, size } of parts) {
      entry.crc = crcJoin(entry.crc, crc, size)
      entry.size += size
      entry.packed += packed.length
      yield this.#put(packed)
    }
    // An empty final block.
    const end = Uint8Array.of(0x03, 0x00)
    entry.packed += end.length
    yield this.#put(end)
    yield this.#put(descriptor(entry))
    this.#entries.push(entry)
  }

  /** The directory at the end. */
  end(): Uint8Array {
    const start = this.#offset
    const records = this.#entries.map(directoryRecord)
    const size = records.reduce((sum, { length }) => sum + length, 0)
    const end = new DataView(new ArrayBuffer(22))
    end.setUint32(0, 0x0605_4b50, true)
    end.setUint16(8, records.length, true)
    end.setUint16(10, records.length, true)
    end.setUint32(12, size, true)
    end.setUint32(16, start, true)
    return this.#put(Buffer.concat([...records, new Uint8Array(end.buffer)]))
  }

  /** Copies the piece: the reader of a piece may transfer its buffer. */
  #put(bytes: Uint8Array): Uint8Array {
    this.#offset += bytes.length
    return new Uint8Array(bytes)
  }
}

const VERSION = 20
/** Sizes and CRC follow the data. */
const FLAGS = 1 << 3
const DEFLATE = 8
/** 1980-01-01, so that equal events give equal bytes. */
const DATE = 0x21

function localHeader(name: string): Uint8Array {
  const head = new DataView(new ArrayBuffer(30))
  head.setUint32(0, 0x0403_4b50, true)
  head.setUint16(4, VERSION, true)
  head.setUint16(6, FLAGS, true)
  head.setUint16(8, DEFLATE, true)
  head.setUint16(12, DATE, true)
  head.setUint16(26, name.length, true)
  return Buffer.concat([new Uint8Array(head.buffer), encoder.encode(name)])
}

function descriptor({ crc, packed, size }: Entry): Uint8Array {
  const view = new DataView(new ArrayBuffer(16))
  view.setUint32(0, 0x0807_4b50, true)
  view.setUint32(4, crc, true)
  view.setUint32(8, packed, true)
  view.setUint32(12, size, true)
  return new Uint8Array(view.buffer)
}

function directoryRecord({ name, crc, packed, size, at }: Entry): Uint8Array {
  const record = new DataView(new ArrayBuffer(46))
  record.setUint32(0, 0x0201_4b50, true)
  record.setUint16(4, VERSION, true)
  record.setUint16(6, VERSION, true)
  record.setUint16(8, FLAGS, true)
  record.setUint16(10, DEFLATE, true)
  record.setUint16(14, DATE, true)
  record.setUint32(16, crc, true)
  record.setUint32(20, packed, true)
  record.setUint32(24, size, true)
  record.setUint16(28, name.length, true)
  record.setUint32(42, at, true)
  return Buffer.concat([new Uint8Array(record.buffer), encoder.encode(name)])
}

/** Buffers events until they are compressed. */
class EventWriter {
  #view = new DataView(new ArrayBuffer(PIECE_EVENTS * EVENT_BYTES))
  #count = 0
  #exch = 0n
  #local = 0n

  get isFull(): boolean {
    return this.#count >= PIECE_EVENTS
  }

  /** Adds the events of a step. */
  add(step: EngineStep, isFirst: boolean): void {
    const { timeMs, localMs } = step
    this.#exch = BigInt(timeMs) * NANOSECONDS
    this.#local = localMs === timeMs ? this.#exch : BigInt(localMs) * NANOSECONDS
    if (step.kind === 'trade') {
      const { side, price, size } = step.trade
      this.#reserve(1)
      this.#put((side === undefined ? 0 : sides[side]) + kinds.trade, price, size)
      return
    }
    const { prevId, prices, sizes, start, bidsEnd, end } = step.change
    const isWhole = prevId === undefined
    this.#reserve(1 + end - start)
    // A whole book replaces the book before it.
    if (isWhole && !isFirst) this.#put(kinds.clear, 0, 0)
    const kind = isWhole ? kinds.snapshot : kinds.depth
    for (let level = start; level < end; level++)
      this.#put((level < bidsEnd ? BUY : SELL) + kind, prices[level] ?? 0, sizes[level] ?? 0)
  }

  #put(flags: number, price: number, size: number): void {
    const view = this.#view
    const at = this.#count++ * EVENT_BYTES
    view.setUint32(at, EXCH + LOCAL + flags, true)
    view.setBigInt64(at + 8, this.#exch, true)
    view.setBigInt64(at + 16, this.#local, true)
    view.setFloat64(at + 24, price / MILLIONTHS_PER_UNIT, true)
    view.setFloat64(at + 32, size / MILLIONTHS_PER_UNIT, true)
  }

  #reserve(events: number): void {
    const needed = (this.#count + events) * EVENT_BYTES
    if (needed <= this.#view.byteLength) return
    const grown = new Uint8Array(needed * 2)
    grown.set(new Uint8Array(this.#view.buffer))
    this.#view = new DataView(grown.buffer)
  }

  /** The buffered events, valid until the next one is added. */
  take(): Uint8Array {
    const length = this.#count * EVENT_BYTES
    this.#count = 0
    return new Uint8Array(this.#view.buffer, 0, length)
  }
}

/** True if the time of receipt was moved to be in order. */
function isClipped(step: EngineStep): boolean {
  if (step.kind === 'trade') return false
  const { timeMs, localMs, change } = step
  const { receivedMs = timeMs } = change
  return receivedMs !== timeMs && receivedMs !== localMs
}

/** Events of a market, packed; the counts are of all parts so far. */
type EventPart = Part & { clipped: number; snapshots: number }

async function* eventParts(read: ReadSteps): AsyncGenerator<EventPart, void, undefined> {
  const writer = new EventWriter()
  const progress = { snapshots: 0 }
  let clipped = 0
  let isFirst = true
  const take = (): EventPart => ({ ...pack(writer.take()), clipped, ...progress })
  for await (const steps of read(progress)) {
    for (const step of steps) {
      if (isClipped(step)) clipped++
      writer.add(step, isFirst)
      isFirst = false
      if (writer.isFull) yield take()
    }
  }
  yield take()
}

type ReadSteps = (progress: Progress) => AsyncIterable<Iterable<EngineStep>>

/** `read` reads all steps of a market from the start. */
export async function* npzPieces(
  read: ReadSteps,
  progress: Progress,
  keptBytesMax = KEPT_BYTES_MAX,
): Pieces {
  const kept: EventPart[] = []
  let size = 0
  let packed = 0
  for await (const part of eventParts(read)) {
    size += part.size
    packed += part.packed.length
    if (packed <= keptBytesMax) kept.push(part)
    else kept.length = 0
  }
  const total = size / EVENT_BYTES
  if (size > BYTES_MAX)
    throw parameterError('to', `${total} events are too many for a file: ask for a shorter range.`)
  let clipped = 0

  async function* data(): AsyncGenerator<Part, void, undefined> {
    yield pack(npyHeader(dtype, total))
    let left = size
    for await (const part of packed <= keptBytesMax ? kept : eventParts(read)) {
      left -= part.size
      clipped = part.clipped
      progress.snapshots = part.snapshots
      yield part
    }
    if (left !== 0)
      throw new AppError('unavailable', 'The market changed while its events were written.')
  }

  const zip = new ZipWriter()
  yield* zip.member('data.npy', data())
  const count = new Uint8Array(BigInt64Array.of(BigInt(clipped)).buffer)
  yield* zip.member('clipped.npy', [pack(npyHeader("'<i8'", 1)), pack(count)])
  yield zip.end()
}
