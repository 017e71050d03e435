/** The file in which a recorder says what it does, for whoever else looks after the data folder. */
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import type { Recorder } from '#src/recorder/recorder.ts'

import type { RawFiles } from './raw-files.ts'

/** Older than this, whoever wrote it does not run any more. */
const STALE_MS = 10_000

type Rates = { messages: number; rows: number }

export type RecorderStatus = ReturnType<Recorder['status']> & {
  startedMs: number
  writtenMs: number
  /** A second, since it was written before. */
  perSecond: Rates
  /** Room for the data folder; undefined where nobody can say. */
  freeBytes?: number | undefined
  /** Messages that are kept as they came, where they are. */
  raw?: ReturnType<RawFiles['status']> | undefined
}
type About = Pick<RecorderStatus, 'startedMs' | 'writtenMs' | 'freeBytes' | 'raw'>

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
    write(about: About): void {
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

/** What the recorder of a folder does, in whichever process; undefined when none runs. */
export function readRecorderStatus(dataPath: string, nowMs: number): RecorderStatus | undefined {
  for (let reads = 0; reads < READS_MAX; reads++) {
    try {
      const status: RecorderStatus = JSON.parse(readFileSync(pathOf(dataPath), 'utf8'))
      return nowMs - status.writtenMs > STALE_MS ? undefined : status
    } catch {}
  }
  return undefined
}
