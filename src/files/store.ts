/**
 * Day files on the disk: for each coin, timeframe and day a list of what was made, such as
 * `2026-04-14.json`, with the files beside it. A file never changes; what is known later makes
 * another revision.
 */
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

import type { Coin, Timeframe } from '#src/core/market.ts'
import type { Numbers } from '#src/parquet/table.ts'

import type { FileKind } from './day-tables.ts'

export type DayFile = {
  /** `btc-5m-2026-04-14-quotes-decimal-r1.parquet` */
  name: string
  coin: Coin
  timeframe: Timeframe
  /** UTC: `2026-04-14`. */
  day: string
  kind: FileKind
  numbers: Numbers
  /** 1, 2, … of the day. */
  revision: number
  markets: number
  rows: number
  bytes: number
  /** Of the file, hex. */
  sha256: string
  madeMs: number
}

type DayList = {
  /** What the newest revision was made of. */
  source: string
  files: DayFile[]
}

export type Place = { coin: Coin; timeframe: Timeframe; day: string }

const LIST = '.json'
const namePattern =
  /^(?<coin>[a-z]+)-(?<timeframe>\w+)-(?<day>\d{4}-\d\d-\d\d)-[a-z]+-[a-z]+-r\d+\.parquet$/

export const filesPathOf = (dataPath: string): string => join(dataPath, 'files')

export type FileStore = ReturnType<typeof createFileStore>

/** `root` is made when the first file is. */
export function createFileStore(root: string) {
  const lists = new Map<string, { changedMs: number; list: DayList }>()
  const folderOf = ({ coin, timeframe }: Omit<Place, 'day'>) => join(root, coin, timeframe)
  const listPathOf = (place: Place) => join(folderOf(place), place.day + LIST)

  function read(path: string): DayList | undefined {
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (changedMs === undefined) return undefined
    const known = lists.get(path)
    if (known?.changedMs === changedMs) return known.list
    const list = JSON.parse(readFileSync(path, 'utf8')) as DayList
    lists.set(path, { changedMs, list })
    return list
  }

  const daysOf = (place: Omit<Place, 'day'>): string[] => {
    const folder = folderOf(place)
    if (!existsSync(folder)) return []
    const names = readdirSync(folder).filter((name) => name.endsWith(LIST))
    return names.map((name) => name.slice(0, -LIST.length)).sort()
  }

  return {
    /** Days that have files, ascending. */
    daysOf,

    find: (place: Place): DayList | undefined => read(listPathOf(place)),

    findFile(name: string): (DayFile & { path: string }) | undefined {
      const { coin, timeframe, day } = namePattern.exec(name)?.groups ?? {}
      if (day === undefined) return undefined
      const place = { coin, timeframe, day } as Place
      const file = read(listPathOf(place))?.files.find((each) => each.name === name)
      return file && { ...file, path: join(folderOf(place), name) }
    },

    /** Writes a file of pieces; it is there whole or not at all, and listed by `putList`. */
    write(place: Place, name: string, pieces: Iterable<Uint8Array>) {
      const folder = folderOf(place)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, name)
      const hash = createHash('sha256')
      const bytes = writeWhole(path, pieces, (piece) => hash.update(piece))
      return { bytes, sha256: hash.digest('hex') }
    },

    putList(place: Place, list: DayList): void {
      writeWhole(listPathOf(place), [Buffer.from(`${JSON.stringify(list)}\n`)])
    },

    /** Deletes a day, its list first. */
    remove(place: Place): void {
      const path = listPathOf(place)
      const files = read(path)?.files ?? []
      rmSync(path, { force: true })
      lists.delete(path)
      for (const { name } of files) rmSync(join(folderOf(place), name), { force: true })
    },
  }
}

/** By another name first, and on the disk before it has its own. Returns the bytes written. */
function writeWhole(
  path: string,
  pieces: Iterable<Uint8Array>,
  onPiece: (piece: Uint8Array) => void = () => {},
): number {
  const part = `${path}.${process.pid}.part`
  const file = openSync(part, 'w', 0o600)
  let bytes = 0
  try {
    for (const piece of pieces) {
      onPiece(piece)
      for (let at = 0; at < piece.length;) at += writeSync(file, piece, at)
      bytes += piece.length
    }
    fsyncSync(file)
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  renameSync(part, path)
  return bytes
}
