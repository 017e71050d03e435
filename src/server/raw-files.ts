/**
 * Files of raw messages of the venue. Each second of lines is a gzip member of its own, so that a
 * file can be read however the process ends.
 */

import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  write,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzip, gzipSync } from 'node:zlib'

import { type Clock, toIso } from '#src/domain/time.ts'
import { backoffMs } from '#src/platform/backoff.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'
import { type KeepHeard, toHeardLine } from '#src/recorder/journal.ts'
import { createReporter, type Every } from '#src/recorder/ports.ts'

const HOUR_MS = 3_600_000
const FLUSH_MS = 1000
/** The maximum text in memory, in characters; beyond it messages are dropped. */
const WAITING_MAX = 64_000_000
/** The pause after a loss, which doubles with each further loss. */
const RETRY_MS = { min: 1000, max: 60_000 }
const FILE_BYTES_MAX = 256_000_000
/** The minimum number of files that share `bytesMax`, so that little is deleted at a time. */
const FILES_MIN = 8
/** The position of the time in a line. */
const TIME_AT = '{"_recv":'.length
const namePattern = /^raw-[0-9TZ.-]{24}\.jsonl\.gz$/

export type RawFilesOptions = {
  folder: string
  /** The maximum size of all files; the oldest are deleted. */
  bytesMax: number
  clock: Clock
  every: Every
  log: Log
  hasRoom(): boolean
  /** Lines at the beginning of a file that describe the state of the recorder. */
  preamble(): string[]
}

/** Text that is being written, and its bytes once it is compressed. */
type Chunk = { text: string; lines: number; bytes?: Uint8Array }

/** Only `dispose` waits for the disk. Throws if the folder cannot be created. */
export function createRawFiles(options: RawFilesOptions) {
  const { clock, log, hasRoom, preamble } = options
  const counts = { lines: 0, bytes: 0, dropped: 0 }
  const files = createFiles(options)
  const waiting = createLines()
  const reporter = createReporter((line, level) => log(`bookfeed: ${line}`, level))
  let isLosing = false
  let dueMs = 0
  let losses = 0
  let inFlight: Chunk | undefined
  let isOver = false

  function lose(why: string, lines = 0): void {
    counts.dropped += lines + waiting.cut().lines
    reporter.report('raw', `raw messages are not kept: ${why}.`)
    if (!isLosing) dueMs = clock() + backoffMs(++losses, RETRY_MS)
    isLosing = true
  }

  /** Begins again after a loss, with the lines of a start. */
  function resume(atMs: number): void {
    isLosing = false
    waiting.add(toHeardLine({ kind: 'started' }, atMs), ...preamble())
  }

  function end({ lines, bytes }: Chunk, fault: Error | null): void {
    inFlight = undefined
    if (fault) lose(messageOf(fault), lines)
    else {
      counts.lines += lines
      counts.bytes += bytes?.length ?? 0
      kept()
    }
  }

  function kept(): void {
    losses = 0
    reporter.settle('raw', 'raw messages are kept again.')
  }

  function begin(): void {
    const file = files.take(clock())
    const chunk: Chunk = waiting.cut()
    inFlight = chunk
    gzip(chunk.text, (fault, bytes) => {
      if (isOver) return
      chunk.bytes = bytes
      if (fault) end(chunk, fault)
      else files.append(file, bytes, (failure) => isOver || end(chunk, failure))
    })
    // The next file begins where this chunk ends, with the markets that are followed then.
    const next = { kind: 'file', afterMs: waiting.lastMs() } as const
    if (file.isLast) waiting.add(toHeardLine(next, clock()), ...preamble())
  }

  const stop = options.every(FLUSH_MS, () => {
    if (inFlight !== undefined || waiting.count() === 0) return
    try {
      if (hasRoom()) begin()
      else lose('the disk is nearly full')
    } catch (error) {
      lose(messageOf(error))
    }
  })

  const keep: KeepHeard = (heard, atMs) => {
    if (isLosing && inFlight === undefined && clock() >= dueMs && hasRoom()) resume(atMs)
    if (isLosing) return void counts.dropped++
    waiting.add(toHeardLine(heard, atMs))
    if (waiting.size() > WAITING_MAX) lose('the disk is too slow')
  }

  return {
    keep,
    status: () => ({ ...counts, waiting: waiting.count() }),

    /** Writes the rest and waits for it. */
    dispose(): void {
      stop()
      isOver = true
      try {
        files.finish(inFlight?.bytes ?? gzipOf(inFlight), gzipOf(waiting.cut()), clock())
        if (!isLosing) kept()
      } catch (error) {
        log(`bookfeed: the last raw messages were not kept: ${messageOf(error)}.`, 'error')
      }
    },
  }
}

export type RawFiles = ReturnType<typeof createRawFiles>

/** Lines that wait to be written. */
function createLines() {
  let lines: string[] = []
  let size = 0
  let lastMs = 0
  return {
    count: () => lines.length,
    /** The latest time of a line. */
    lastMs: () => lastMs,
    /** The size in characters. */
    size: () => size,
    add(...more: readonly string[]): void {
      for (const line of more) {
        lines.push(`${line}\n`)
        size += line.length + 1
        const atMs = Number.parseInt(line.slice(TIME_AT), 10)
        if (atMs > lastMs) lastMs = atMs
      }
    },
    cut(): Chunk {
      const chunk = { text: lines.join(''), lines: lines.length }
      lines = []
      size = 0
      return chunk
    },
  }
}

const gzipOf = (chunk: Chunk | undefined): Uint8Array =>
  chunk === undefined || chunk.lines === 0 ? new Uint8Array() : gzipSync(chunk.text)

/** `isLast` if the next write to it is the last. */
type OpenFile = { fd: number; name: string; bytes: number; hour: number; isLast: boolean }

/** The files, of which the newest is written. */
function createFiles({ folder, bytesMax }: RawFilesOptions) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const sizes = new Map(
    readdirSync(folder)
      .filter((name) => namePattern.test(name))
      .sort()
      .map((name) => [name, statSync(join(folder, name)).size]),
  )
  const fileBytesMax = Math.min(FILE_BYTES_MAX, bytesMax / FILES_MIN)
  let file: OpenFile | undefined

  function open(nowMs: number): OpenFile {
    const name = `raw-${toIso(nowMs).replaceAll(':', '-')}.jsonl.gz`
    const fd = openSync(join(folder, name), 'wx', 0o600)
    return { fd, name, bytes: 0, hour: hourOf(nowMs), isLast: false }
  }

  function grow(to: OpenFile, by: number): void {
    to.bytes += by
    sizes.set(to.name, to.bytes)
    let all = sizes.values().reduce((sum, size) => sum + size, 0)
    for (const [name, size] of sizes) {
      if (all <= bytesMax || name === to.name) return
      rmSync(join(folder, name), { force: true })
      sizes.delete(name)
      all -= size
    }
  }

  return {
    /** Returns the file for the next write. */
    take(nowMs: number): OpenFile {
      const taken = file ?? open(nowMs)
      taken.isLast = taken.bytes >= fileBytesMax || hourOf(nowMs) !== taken.hour
      file = taken.isLast ? undefined : taken
      return taken
    },

    /** Calls `end` when the write has ended. The next write overwrites a partial one. */
    append(to: OpenFile, bytes: Uint8Array, end: (fault: Error | null) => void): void {
      write(to.fd, bytes, 0, bytes.length, to.bytes, (fault, count) => {
        if (!fault && count === bytes.length) grow(to, count)
        if (to.isLast) closeSync(to.fd)
        end(fault ?? (count < bytes.length ? new Error('the disk is full') : null))
      })
    },

    /** Writes synchronously; `first` again if its write is in progress. */
    finish(first: Uint8Array, last: Uint8Array, nowMs: number): void {
      const bytes = Buffer.concat([first, last])
      if (bytes.length === 0) return
      const to = file ?? open(nowMs)
      writeSync(to.fd, bytes, 0, bytes.length, to.bytes)
      closeSync(to.fd)
    },
  }
}

const hourOf = (timeMs: number): number => Math.floor(timeMs / HOUR_MS)
