/**
 * Finds commits that SQLite drops without a word: it reads a log up to the first frame whose
 * checksum is wrong, and takes that for its end. Frames of the same log that come after one, with
 * checksums that are right, show that it is not. What cannot be told apart: a damaged last frame,
 * and one that was being written when the power went.
 */
import { closeSync, constants, copyFileSync, existsSync, openSync, readSync } from 'node:fs'

import { codeOf } from '#src/platform/message.ts'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Its last bit says in which order of bytes checksums are computed. */
const MAGIC = 0x377f0682
const PAGE_BYTES = 4096
/** Read at a time. */
const PIECE_BYTES = 1024 * 1024
/** A log that is written meanwhile is read again after so long: a fault stays. */
const AGAIN_MS = 20

export type LogFault = {
  /** The first frame that is not what was written, from 1; 0 is the header of the log. */
  frame: number
  /** Commits that come after it, and are dropped. */
  commits: number
  /** Frames of the log, from the first to the last that is of it. */
  frames: number
}

type Sum = readonly [number, number]

/** Of eight bytes at a time, continuing from `seed`. */
function sumOf(view: DataView, isLittle: boolean, seed: Sum): Sum {
  let first = seed[0] | 0
  let second = seed[1] | 0
  const { byteLength } = view
  for (let at = 0; at < byteLength; at += 8) {
    first = (first + view.getInt32(at, isLittle) + second) | 0
    second = (second + view.getInt32(at + 4, isLittle) + first) | 0
  }
  return [first >>> 0, second >>> 0]
}

const viewOf = (bytes: Uint8Array, from: number, to: number): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset + from, to - from)

type Header = {
  pageBytes: number
  isLittle: boolean
  salts: string
  sum: Sum
  isSound: boolean
}

function readHeader(bytes: Uint8Array): Header {
  const view = viewOf(bytes, 0, HEADER_BYTES)
  const magic = view.getUint32(0)
  const isLittle = (magic & 1) === 0
  const said = view.getUint32(8)
  const isSize = said >= 512 && said <= 65_536 && (said & (said - 1)) === 0
  const stored: Sum = [view.getUint32(24), view.getUint32(28)]
  const [first, second] = sumOf(viewOf(bytes, 0, 24), isLittle, [0, 0])
  const isSound = (magic & ~1) === MAGIC && first === stored[0] && second === stored[1]
  return {
    pageBytes: isSound && isSize ? said : PAGE_BYTES,
    isLittle: isSound ? isLittle : true,
    salts: saltsOf(bytes, 16),
    sum: stored,
    isSound,
  }
}

const saltsOf = (bytes: Uint8Array, at: number): string =>
  Buffer.from(bytes.subarray(at, at + 8)).toString('hex')

/** Reads a log once; undefined where there is none. `path` is that of the log itself. */
function scanOnce(path: string): { fault: LogFault | undefined; salts: string } | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const start = new Uint8Array(HEADER_BYTES)
    if (readSync(file, start, 0, HEADER_BYTES, 0) < HEADER_BYTES) return undefined
    const header = readHeader(start)
    return { fault: scanFrames(file, header), salts: header.salts }
  } finally {
    closeSync(file)
  }
}

function scanFrames(file: number, header: Header): LogFault | undefined {
  const { pageBytes, isLittle, isSound } = header
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const piece = new Uint8Array(Math.max(1, Math.floor(PIECE_BYTES / frameBytes)) * frameBytes)
  /** Where the header cannot be read, those of the first frame. */
  let salts = isSound ? header.salts : undefined
  let stored = header.sum
  let bad = isSound ? undefined : 0
  let number = 0
  let frames = 0
  let commits = 0
  let isLastCommitBad = false
  for (let at = HEADER_BYTES; ;) {
    const got = readSync(file, piece, 0, piece.length, at)
    for (let from = 0; from + frameBytes <= got; from += frameBytes) {
      number++
      const own = viewOf(piece, from, from + FRAME_HEADER_BYTES)
      const isCommit = own.getUint32(4) !== 0
      salts ??= saltsOf(piece, from + 8)
      const isOfLog = saltsOf(piece, from + 8) === salts
      const head = sumOf(viewOf(piece, from, from + 8), isLittle, stored)
      const body = viewOf(piece, from + FRAME_HEADER_BYTES, from + frameBytes)
      const [first, second] = sumOf(body, isLittle, head)
      stored = [own.getUint32(16), own.getUint32(20)]
      const isFrameSound = isOfLog && first === stored[0] && second === stored[1]
      if (isOfLog) frames = number
      if (!isFrameSound) {
        bad ??= number
        if (isOfLog) isLastCommitBad = isCommit && bad === number
      } else {
        isLastCommitBad = false
        if (bad !== undefined && isCommit) commits++
      }
    }
    if (got < piece.length) break
    at += got
  }
  if (bad === undefined || (commits === 0 && !isLastCommitBad)) return undefined
  return { frame: bad, commits: commits + Number(isLastCommitBad), frames }
}

/** Finds what is dropped of a log; undefined where it is sound, or there is none. */
export function scanLog(path: string): LogFault | undefined {
  const before = scanOnce(path)
  if (before?.fault === undefined) return undefined
  // A writer may have begun the log again, or have been in the middle of a frame.
  Bun.sleepSync(AGAIN_MS)
  const after = scanOnce(path)
  if (after === undefined) return undefined
  const { fault, salts } = after
  const isSame = salts === before.salts && fault?.frame === before.fault.frame
  return isSame ? fault : undefined
}

/** A log that lost commits, as it was found when the database was opened. */
export const damagedLogOf = (path: string): string => `${path}-wal.damaged`

/**
 * Keeps a copy of the log of a database if commits of it will be dropped: SQLite writes over them,
 * or empties the log when it is closed. To be called before the database is opened.
 */
export function keepDamagedLog(path: string): void {
  try {
    if (existsSync(damagedLogOf(path)) || scanLog(`${path}-wal`) === undefined) return
    copyFileSync(`${path}-wal`, damagedLogOf(path), constants.COPYFILE_EXCL)
  } catch {
    // It cannot be read, or there is no room for a copy: opening says the first.
  }
}

/** Sentences on commits that were dropped of a database, or will be when it is opened. */
export function listLogFaults(path: string): string[] {
  return [`${path}-wal`, damagedLogOf(path)].flatMap((each) => {
    const fault = scanLog(each)
    if (fault === undefined) return []
    const { frame, commits, frames } = fault
    const place = frame === 0 ? 'its header' : `frame ${frame} of ${frames}`
    const kept = each.endsWith('damaged')
      ? ' What is in the file is as of the commit before. Restore a backup, or accept what is left and remove this file.'
      : ''
    return [
      `${each}: ${place} is damaged, so SQLite drops ${commits === 1 ? 'a commit' : `${commits} commits`} from there on (a power cut may do so to commits of the last second).${kept}`,
    ]
  })
}
