/** Compares files of days with what was listed when they were made. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

import { coins, timeframes } from '#src/domain/market.ts'
import { messageOf } from '#src/platform/message.ts'

import type { DayFile, FileStore, Place } from './store.ts'

const PIECE_BYTES = 1024 * 1024

/** Yields one sentence a fault; none means that every file is what was made. */
export function* verifyDayFiles(store: FileStore): Generator<string> {
  for (const coin of coins) {
    for (const timeframe of timeframes) {
      for (const day of store.daysOf({ coin, timeframe }))
        yield* verifyDay(store, { coin, timeframe, day })
    }
  }
}

function* verifyDay(store: FileStore, place: Place): Generator<string> {
  const list = store.find(place)
  if (list === undefined) return
  const day = `files of ${place.coin} ${place.timeframe} ${place.day}`
  if (list.isDamaged) {
    const listed = new Set(list.files.map(({ name }) => name))
    const lost = store.namesOf(place).filter((name) => !listed.has(name))
    const names = lost.length === 0 ? '' : `, and does not say what these are: ${lost.join(', ')}`
    yield `${day}: the list is not as it was written${names}`
  }
  for (const { name } of list.files) {
    const file = store.findFile(name)
    const fault = file && faultOf(file)
    if (fault !== undefined) yield `file ${name}: ${fault}`
  }
}

/** What a file is instead of what was made; undefined where it is that. */
export function faultOf({ path, bytes, sha256 }: DayFile & { path: string }): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size === undefined) return 'it is not there'
  if (size !== bytes) return `it has ${size} bytes, not ${bytes}`
  try {
    return digestOf(path) === sha256 ? undefined : 'its bytes are not those that were written'
  } catch (error) {
    return `it cannot be read: ${messageOf(error)}`
  }
}

function digestOf(path: string): string {
  const hash = new Bun.CryptoHasher('sha256')
  const piece = new Uint8Array(PIECE_BYTES)
  const file = openSync(path, 'r')
  try {
    for (;;) {
      const got = readSync(file, piece)
      if (got === 0) return hash.digest('hex')
      hash.update(piece.subarray(0, got))
    }
  } finally {
    closeSync(file)
  }
}
