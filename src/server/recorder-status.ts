/**
 * The file in which a recorder reports its state to other processes of the data folder. Servers on
 * other machines learn from its row in the history that it lives: `silences.ts`.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '#src/config/config.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { RecordingState } from '#src/features/health/routes.ts'
import type { Silences } from '#src/history/reads/with-downtime.ts'
import type { Recorder } from '#src/recorder/recorder.ts'

import type { RawFiles } from './raw-files.ts'
import { silentRecorderSince } from './silences.ts'

/** The file is written every two seconds; if it is older than this, the recorder has ended. */
const STALE_MS = 5000

type Rates = { messages: number; rows: number }

type Said = ReturnType<Recorder['status']>
/** Absent if a recorder of an earlier version wrote the file. */
type Later = 'windows' | 'lastMinute' | 'unfollowed'

export type RecorderStatus = Omit<Said, Later> & {
  [name in Later]?: Said[name] | undefined
} & {
  startedMs: number
  writtenMs: number
  /** The rates per second since the previous write. */
  perSecond: Rates
  /** Free bytes for the data folder; undefined if the system does not report them. */
  freeBytes?: number | undefined
  /** The raw messages that are kept, if they are. */
  raw?: ReturnType<RawFiles['status']> | undefined
}

const pathOf = (dataPath: string): string => join(dataPath, 'recorder.json')

/** The file is padded, because a full disk accepts writes only if no file grows. */
const ROOM_BYTES = 65_536
/** A read during a write may return part of the file, and is repeated. */
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

/** Creates the file; each `write` replaces all of it. */
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

/** The status of the recorder of a folder in any process; undefined if none runs. */
export function readRecorderStatus(dataPath: string, nowMs: number): RecorderStatus | undefined {
  const last = readLast(dataPath)
  return last === undefined || nowMs - last.writtenMs > STALE_MS ? undefined : last
}

/** Describes the recorder of this process, or the one of another process of the folder. */
export function describeRecording(
  own: Pick<Recorder, 'fault' | 'warning'> | undefined,
  {
    config: { dataPath },
    clock,
    silences,
  }: { config: Pick<Config, 'dataPath'>; clock: Clock; silences: Silences },
): RecordingState | undefined {
  if (own !== undefined) return { isOwn: true, fault: own.fault(), warning: own.warning() }
  const status = readRecorderStatus(dataPath, clock())
  const silentMs = silentRecorderSince(silences())
  if (silentMs === undefined)
    return status && { isOwn: false, fault: status.fault, warning: status.warning }
  const since = toIso(silentMs)
  const warning = `A recorder stopped at ${since} without notice, and nothing is recorded in its place. Start it again.`
  return { isOwn: false, fault: status?.fault, warning }
}
