/**
 * A database as it is at one moment, as bytes that can be copied while others go on writing. While
 * a moment is read, SQLite moves nothing later into the file, and does not begin the log again once
 * it holds what is not in the file. So the file, and the log up to any length at which a commit
 * ended, are the database together, in whatever order they are copied; no request waits for that.
 *
 * Only for a process that has the file open in no other way: POSIX drops all locks of a process on
 * a file when it closes any handle of it, and SQLite's with them.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

import {
  checkpoint,
  type FileFormat,
  logStateOf,
  openDatabase,
  pagesOf,
  versionOf,
} from './database.ts'

const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

export type FrozenPart = {
  bytes: number
  /** Fills `bytes` with those from a place on. */
  read(at: number, bytes: Uint8Array): void
}

export type FrozenFile = Disposable & {
  /** Its number of format. */
  version: number
  file: FrozenPart
  /** The log beside the file, its `-wal`; undefined if the file holds everything. */
  log: FrozenPart | undefined
  /** Lets the log be emptied; from then on what is read may be of different moments. */
  release(): void
}

/** Throws `storage_unavailable`. */
export function freezeFile(path: string, format: FileFormat): FrozenFile {
  const open = () => openDatabase(path, { format, isAsItIs: true })
  const reader = open()
  const asker = open()
  try {
    checkpoint(asker)
  } catch {
    // On a disk that is full the log is longer.
  }
  reader.run('BEGIN')
  const version = versionOf(reader)
  const pages = pagesOf(reader)
  // Twice: the first answer is of two moments if a writer begins the log again in between, which
  // it does once at most, and only if all of it was in the file.
  let log = logStateOf(asker)
  if (!log.isInFile) log = logStateOf(asker)
  const file = openPart(path, pages.count * pages.bytes)
  const logBytes = LOG_HEADER_BYTES + log.pages * (FRAME_HEADER_BYTES + pages.bytes)
  const logPart = log.isInFile ? undefined : openPart(`${path}-wal`, logBytes)
  return {
    version,
    file,
    log: logPart,
    release: () => void reader.run('ROLLBACK'),
    [Symbol.dispose]() {
      if (reader.inTransaction) reader.run('ROLLBACK')
      // In this order: see above.
      for (const db of [reader, asker]) db.close()
      for (const part of [file, logPart]) part?.close()
    },
  }
}

function openPart(path: string, bytesMax: number): FrozenPart & { close(): void } {
  const file = openSync(path, 'r')
  return {
    // Bytes beyond the end of the file are in the log.
    bytes: Math.min(bytesMax, fstatSync(file).size),
    read(at, bytes) {
      for (let done = 0, got = 0; done < bytes.length; done += got) {
        got = readSync(file, bytes, done, bytes.length - done, at + done)
        if (got === 0) throw new Error(`${path} got shorter while it was read`)
      }
    },
    close: () => closeSync(file),
  }
}
