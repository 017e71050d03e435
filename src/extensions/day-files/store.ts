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

import { AppError } from '#src/domain/errors.ts'
import { type Coin, coins, type Timeframe, timeframes } from '#src/domain/market.ts'
import { crc32 } from '#src/platform/crc32.ts'
import { isRecord } from '#src/platform/record.ts'
import { numberForms, type Numbers } from '#src/tables/column.ts'

export const fileKinds = ['snapshots', 'levels', 'quotes', 'trades', 'panel'] as const
export type FileKind = (typeof fileKinds)[number]

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

export type DayList = {
  /** What the newest revision was made of. */
  source: string
  files: DayFile[]
}

/** `files` are the entries that are sound; `isDamaged` where there were others. */
export type StoredList = DayList & { isDamaged: boolean }

export type Place = { coin: Coin; timeframe: Timeframe; day: string }

const LIST = '.json'
const listName = /^\d{4}-\d\d-\d\d\.json$/
const namePattern =
  /^(?<coin>[a-z]+)-(?<timeframe>\w+)-(?<day>\d{4}-\d\d-\d\d)-[a-z]+-[a-z]+-r\d+\.parquet$/

export const filesPathOf = (dataPath: string): string => join(dataPath, 'files')

export type FileStore = ReturnType<typeof createFileStore>

/** `root` is made when the first file is. */
export function createFileStore(root: string) {
  const lists = new Map<string, { changedMs: number; list: StoredList }>()
  const folderOf = ({ coin, timeframe }: Omit<Place, 'day'>) => join(root, coin, timeframe)
  const listPathOf = (place: Place) => join(folderOf(place), place.day + LIST)

  function read(place: Place): StoredList | undefined {
    const path = listPathOf(place)
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (changedMs === undefined) return undefined
    const known = lists.get(path)
    if (known?.changedMs === changedMs) return known.list
    const list = parseList(readFileSync(path, 'utf8'), place)
    lists.set(path, { changedMs, list })
    return list
  }

  const daysOf = (place: Omit<Place, 'day'>): string[] => {
    const folder = folderOf(place)
    if (!existsSync(folder)) return []
    const names = readdirSync(folder).filter((name) => listName.test(name))
    return names.map((name) => name.slice(0, -LIST.length)).sort()
  }

  /** Names of files of a day that are on the disk, listed or not. */
  function namesOf(place: Place): string[] {
    const folder = folderOf(place)
    if (!existsSync(folder)) return []
    const start = `${place.coin}-${place.timeframe}-${place.day}-`
    return readdirSync(folder).filter((name) => name.startsWith(start))
  }

  return {
    /** Days that have files, ascending. */
    daysOf,

    find: read,

    namesOf,

    /** Throws `damaged` where the entry of the file cannot be read. */
    findFile(name: string): (DayFile & { path: string }) | undefined {
      const { coin, timeframe, day } = namePattern.exec(name)?.groups ?? {}
      if (day === undefined) return undefined
      const place = { coin, timeframe, day } as Place
      const list = read(place)
      const path = join(folderOf(place), name)
      const file = list?.files.find((each) => each.name === name)
      if (file !== undefined) return { ...file, path }
      if (list?.isDamaged === true && existsSync(path)) throw damagedFile(name)
      return undefined
    },

    /** Of all files of a day, of every coin, for its manifest. */
    digestsOf(day: string) {
      const found = coins.flatMap((coin) =>
        timeframes.flatMap((timeframe) => read({ coin, timeframe, day })?.files ?? []),
      )
      const files = found.map(({ coin, name, bytes, sha256 }) => ({
        path: `/v1/${coin}/files/${name}`,
        bytes,
        sha256,
      }))
      return { files, madeMs: Math.max(0, ...found.map((file) => file.madeMs)) }
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
      const files = list.files.map((file) => ({ ...file, check: checkOf(file) }))
      const text = JSON.stringify({ source: list.source, files })
      writeWhole(listPathOf(place), [Buffer.from(`${text}\n`)])
    },

    /** Deletes a day, its list first. */
    remove(place: Place): void {
      const path = listPathOf(place)
      rmSync(path, { force: true })
      lists.delete(path)
      for (const name of namesOf(place)) rmSync(join(folderOf(place), name), { force: true })
    },
  }
}

/** What is served in place of a file that is not what was listed. */
export const damagedFile = (name: string, cause?: unknown): AppError =>
  new AppError(
    'damaged',
    `File ${name} is damaged on the disk of this server, and not served. All other files are served as before.`,
    { cause },
  )

/** The check of an entry, which shows whether it is as it was written. */
const checkOf = (file: DayFile): number => crc32(JSON.stringify(file))

/** Entries are flat objects, so each is found also where another cannot be read. */
const entryText = /\{"name":"[^{}]*\}/g

function parseList(text: string, place: Place): StoredList {
  const whole = attemptJson(text)
  const source = isRecord(whole) && typeof whole.source === 'string' ? whole.source : ''
  const isWhole = isRecord(whole) && Array.isArray(whole.files)
  const entries: unknown[] = isWhole
    ? (whole.files as unknown[])
    : [...text.matchAll(entryText)].map(([entry]) => attemptJson(entry))
  const files = entries.flatMap((entry) => readEntry(entry, place) ?? [])
  return { source, files, isDamaged: !isWhole || files.length < entries.length }
}

function attemptJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined for one that is not as it was written. Those of older lists have no check. */
function readEntry(entry: unknown, place: Place): DayFile | undefined {
  if (!isRecord(entry)) return undefined
  const { check, ...members } = entry
  const file = members as DayFile
  const { coin, timeframe, day, kind, numbers, revision } = file
  const name = `${place.coin}-${place.timeframe}-${place.day}-${kind}-${numbers}-r${revision}.parquet`
  const isNamed = file.name === name && coin === place.coin && timeframe === place.timeframe
  const counts = [revision, file.markets, file.rows, file.bytes, file.madeMs]
  const isRead =
    isNamed &&
    day === place.day &&
    fileKinds.includes(kind) &&
    numberForms.includes(numbers) &&
    counts.every((count) => Number.isSafeInteger(count) && count >= 0) &&
    /^[0-9a-f]{64}$/.test(file.sha256) &&
    Object.keys(file).length === MEMBERS
  return isRead && (check === undefined || check === checkOf(file)) ? file : undefined
}

/** Of an entry. */
const MEMBERS = 12

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
