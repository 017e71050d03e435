/** The file in which a recorder says what it does, for whoever else looks after the data folder. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
      writeFileSync(`${path}.new`, text, { mode: 0o600 })
      renameSync(`${path}.new`, path)
    },
    remove: (): void => rmSync(path, { force: true }),
  }
}

/** What the recorder of a folder does, in whichever process; undefined when none runs. */
export function readRecorderStatus(dataPath: string, nowMs: number): RecorderStatus | undefined {
  try {
    const status: RecorderStatus = JSON.parse(readFileSync(pathOf(dataPath), 'utf8'))
    return nowMs - status.writtenMs > STALE_MS ? undefined : status
  } catch {
    return undefined
  }
}
