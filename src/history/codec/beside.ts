/**
 * What is kept of each row of a run beside its text. Hashes of the source: 20 bytes each, zeros
 * where unknown, nothing when none is known. Notes: whether it was verified, its sequence, when it
 * was received; one byte when all rows have the same verdict and nothing else, otherwise a byte or
 * two a row.
 */
import type { Beside, Snapshot } from '#src/core/snapshot.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/lib/varint.ts'

const HASH_BYTES = 20

/** 40 hex digits as 20 bytes. */
export const toHashBytes = (hash: string): Uint8Array => Uint8Array.fromHex(hash)

export function encodeHashes(snapshots: readonly Snapshot[]): Uint8Array {
  const isKnown = snapshots.some(({ sourceHash }) => sourceHash !== undefined)
  const bytes = new Uint8Array(isKnown ? snapshots.length * HASH_BYTES : 0)
  snapshots.forEach(({ sourceHash }, row) => {
    if (sourceHash !== undefined) bytes.set(toHashBytes(sourceHash), row * HASH_BYTES)
  })
  return bytes
}

/** Whether any hash is known. */
export const hasHashes = (bytes: Uint8Array): boolean => bytes.length > 0

/** The hash of one row, or undefined where it is unknown. */
export function readHash(bytes: Uint8Array, row: number): string | undefined {
  const hash = bytes.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
  return hash.length === HASH_BYTES && hash.some((byte) => byte !== 0) ? hash.toHex() : undefined
}

export type RowNotes = {
  isVerified: boolean | undefined
  sequence: number
  /** From the venue's time to the recorder's. */
  lagMs: number | undefined
}

const verdicts = [undefined, true, false] as const
/** The first byte: a verdict of all rows, or this. */
const BY_ROW = verdicts.length
/** A row is its sequence, whether a lag follows, and its verdict. */
const [SEQUENCE_UNIT, LAG_BIT] = [8, 4]

export function encodeNotes(snapshots: readonly Snapshot[]): Uint8Array {
  const bytes = new Uint8Array(1 + snapshots.length * 2 * VARINT_BYTES_MAX)
  const first = snapshots[0]?.isVerified
  const isUniform = snapshots.every(
    ({ isVerified, sequence, receivedMs }) =>
      isVerified === first && (sequence ?? 0) === 0 && receivedMs === undefined,
  )
  bytes[0] = isUniform ? verdicts.indexOf(first) : BY_ROW
  let at = 1
  if (!isUniform) for (const snapshot of snapshots) at = putNotes(bytes, at, snapshot)
  return bytes.slice(0, at)
}

function putNotes(bytes: Uint8Array, at: number, snapshot: Snapshot): number {
  const { isVerified, sequence = 0, receivedMs, timestampMs } = snapshot
  const lagBit = receivedMs === undefined ? 0 : LAG_BIT
  const head = sequence * SEQUENCE_UNIT + lagBit + verdicts.indexOf(isVerified)
  const next = putVarint(bytes, at, head)
  return receivedMs === undefined
    ? next
    : putVarint(bytes, next, toUnsigned(receivedMs - timestampMs))
}

/** Reads the notes of `count` rows. */
export function decodeNotes(bytes: Uint8Array, count: number): RowNotes[] {
  const [first = 0] = bytes
  if (first < BY_ROW) {
    const all = { isVerified: verdicts[first], sequence: 0, lagMs: undefined }
    return Array.from({ length: count }, () => all)
  }
  const reader = new VarintReader(bytes.subarray(1))
  return Array.from({ length: count }, () => readNotes(reader))
}

/**
 * A clock that is behind the venue's makes a lag negative: even numbers are
 * from 0 up, odd ones from -1 down.
 */
const toUnsigned = (lagMs: number): number => (lagMs < 0 ? -lagMs * 2 - 1 : lagMs * 2)
const toSigned = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

function readNotes(reader: VarintReader): RowNotes {
  const head = reader.next()
  return {
    isVerified: verdicts[head % LAG_BIT],
    sequence: Math.floor(head / SEQUENCE_UNIT),
    lagMs: head % SEQUENCE_UNIT >= LAG_BIT ? toSigned(reader.next()) : undefined,
  }
}

/** Notes as a snapshot has them, whose time is given. */
export const withReceipt = (
  notes: RowNotes | undefined,
  timestampMs: number,
): Omit<Beside, 'sourceHash'> => ({
  isVerified: notes?.isVerified,
  sequence: notes?.sequence === 0 ? undefined : notes?.sequence,
  receivedMs: notes?.lagMs === undefined ? undefined : timestampMs + notes.lagMs,
})
