/** The file in which a recorder reports its state to other processes on the data folder. */
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import type { Clock } from '#src/domain/time.ts'
import type { Recorder } from '#src/recorder/recorder.ts'

import type { RawFiles } from './raw-files.ts'

/** It is written every two seconds. If it is older than this, the process that wrote it has ended. */
const STALE_MS = 5000
/** Streams ask all the time, and the file is read so often. */
const LOOK_MS = 1000

type Rates = { messages: number; rows: number }

type Said = ReturnType<Recorder['status']>
/** Absent where a recorder of an earlier version wrote the file. */
type Later = 'windows' | 'lastMinute' | 'unfollowed'

export type RecorderStatus = Omit<Said, Later> & {
  [name in Later]?: Said[name] | undefined
} & {
  startedMs: number
  writtenMs: number
  /** A second, since it was written before. */
  perSecond: Rates
  /** Free bytes for the data folder; undefined where the system does not report them. */
  freeBytes?: number | undefined
  /** Messages that are kept as they came, where they are. */
  raw?: ReturnType<RawFiles['status']> | undefined
}

const pathOf = (dataPath: string): string => join(dataPath, 'recorder.json')

/** The file has room for what is said later: a full disk takes what makes no file longer. */
const ROOM_BYTES = 65_536
/** A file that is written at the moment may be read in part. */
const READS_MAX = 3

function overwrite(path: string, text: string): void {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    const bytes = Buffer.from(text)
    const room = Math.ceil(bytes.length / ROOM_BYTES) * ROOM_BYTES
    const whole = Buffer.alloc(Math.max(room, fstatSync(file).size), ' ')
    bytes.copy(whole)
    writeSync(file, whole, 0, whole.length, 0)
  } finally {
    closeSync(file)
  }
}

/** Makes what writes the status, whole, each time that it is called. */
export function createStatusFile(dataPath: string, recorder: Pick<Recorder, 'status'>) {
  const path = pathOf(dataPath)
  let before: (Rates & { writtenMs: number }) | undefined

  return {
    write(about: Pick<RecorderStatus, 'startedMs' | 'writtenMs' | 'freeBytes' | 'raw'>): void {
      const status = recorder.status()
      const now = { messages: status.messages, rows: status.sink.rows, writtenMs: about.writtenMs }
      const { messages, rows, writtenMs } = before ?? {
        messages: 0,
        rows: 0,
        writtenMs: about.startedMs,
      }
      const perSecondOf = (count: number): number =>
        Math.round((count * 1000) / Math.max(1, now.writtenMs - writtenMs))
      const perSecond = {
        messages: perSecondOf(now.messages - messages),
        rows: perSecondOf(now.rows - rows),
      }
      before = now
      const text = JSON.stringify({ ...about, perSecond, ...status } satisfies RecorderStatus)
      overwrite(path, text)
    },
    remove: (): void => rmSync(path, { force: true }),
  }
}

function readLast(dataPath: string): RecorderStatus | undefined {
  for (let reads = 0; reads < READS_MAX; reads++) {
    try {
      return JSON.parse(readFileSync(pathOf(dataPath), 'utf8')) as RecorderStatus
    } catch (error) {
      if (!(error instanceof SyntaxError)) return undefined
    }
  }
  return undefined
}

/**
 * What the recorder of a folder does, in whichever process; undefined when none runs. `silentMs` is
 * when one that did not stop in order last said what it does; it may have been killed.
 */
export function readRecorder(dataPath: string, nowMs: number) {
  const last = readLast(dataPath)
  const isStale = last !== undefined && nowMs - last.writtenMs > STALE_MS
  return isStale
    ? { status: undefined, silentMs: last.writtenMs }
    : { status: last, silentMs: undefined }
}

export const readRecorderStatus = (dataPath: string, nowMs: number) =>
  readRecorder(dataPath, nowMs).status

/** Returns `silentMs` for frequent calls; `clock` is that of the recorder. */
export function watchSilence(dataPath: string, clock: Clock): () => number | undefined {
  let lookedMs = Number.NEGATIVE_INFINITY
  let silentMs = undefined as number | undefined
  return () => {
    const nowMs = clock()
    if (Math.abs(nowMs - lookedMs) >= LOOK_MS) {
      lookedMs = nowMs
      silentMs = readRecorder(dataPath, nowMs).silentMs
    }
    return silentMs
  }
}
