/** Compares day files with their lists. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

import { coins, timeframes } from '#src/domain/market.ts'
import { messageOf } from '#src/platform/message.ts'

import type { DayFile, FileStore, Place } from './store.ts'

const PIECE_BYTES = 1024 * 1024

/** Yields one sentence per fault; none if every file matches. */
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
    const names = lost.length === 0 ? '' : `, and does not list ${lost.join(', ')}`
    yield `${day}: the list is damaged${names}`
  }
  for (const { name } of list.files) {
    const file = store.findFile(name)
    const fault = file && faultOf(file)
    if (fault !== undefined) yield `file ${name}: ${fault}`
  }
}

/** Describes how a file differs from its entry; undefined if it matches. */
export function faultOf({ path, bytes, sha256 }: DayFile & { path: string }): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size === undefined) return 'it is missing'
  if (size !== bytes) return `it has ${size} bytes, not ${bytes}`
  try {
    return digestOf(path) === sha256 ? undefined : 'its bytes do not match its SHA-256'
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
