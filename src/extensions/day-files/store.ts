/**
 * Day files on the disk: for each coin, timeframe and day a list, such as `2026-04-14.json`, with
 * the files beside it. Files never change; later facts create another revision.
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

export const fileKinds = ['snapshots', 'levels', 'quotes', 'trades', 'panel', 'changes'] as const
export type FileKind = (typeof fileKinds)[number]

export type DayFile = {
  /** The name, such as `btc-5m-2026-04-14-quotes-decimal-r1.parquet`. */
  name: string
  coin: Coin
  timeframe: Timeframe
  /** The UTC day, such as `2026-04-14`. */
  day: string
  kind: FileKind
  numbers: Numbers
  /** The revision of the day: 1, 2, … */
  revision: number
  markets: number
  rows: number
  bytes: number
  /** The SHA-256 of the file in hex. */
  sha256: string
  madeMs: number
}

export type DayList = {
  /** The fingerprint of the data of the newest revision. */
  source: string
  files: DayFile[]
}

/** `files` are the valid entries; `isDamaged` is true if there were others. */
export type StoredList = DayList & { isDamaged: boolean }

/** The newest revision of a day; 0 without files. */
export const newestRevision = (files: readonly DayFile[]): number =>
  Math.max(0, ...files.map(({ revision }) => revision))

export type Place = { coin: Coin; timeframe: Timeframe; day: string }

const LIST = '.json'
const listName = /^\d{4}-\d\d-\d\d\.json$/
const namePattern =
  /^(?<coin>[a-z]+)-(?<timeframe>\w+)-(?<day>\d{4}-\d\d-\d\d)-[a-z]+-[a-z]+-r\d+\.parquet$/

export const filesPathOf = (dataPath: string): string => join(dataPath, 'files')

export type FileStore = ReturnType<typeof createFileStore>

/** Creates the store; `root` is created with the first file. */
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

  /** Names of the files of a day on the disk, listed or not. */
  function namesOf(place: Place): string[] {
    const folder = folderOf(place)
    if (!existsSync(folder)) return []
    const start = `${place.coin}-${place.timeframe}-${place.day}-`
    return readdirSync(folder).filter((name) => name.startsWith(start))
  }

  return {
    /** Days with files, ascending. */
    daysOf,

    find: read,

    namesOf,

    /** Throws `damaged` if the entry of the file is unreadable. */
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

    /** Digests of all files of a day, of every coin, for its manifest. */
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

    /** Writes a file from pieces. The file appears complete or not at all; `putList` lists it. */
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

/** The error in place of a file that differs from its list. */
export const damagedFile = (name: string, cause?: unknown): AppError =>
  new AppError(
    'damaged',
    `File ${name} is damaged on the disk of this server, and not served. All other files are served as before.`,
    { cause },
  )

/** The checksum of an entry. */
const checkOf = (file: DayFile): number => crc32(JSON.stringify(file))

/** Entries are flat objects, so each is found even if another is unreadable. */
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

/** Undefined for an entry that does not match its checksum. Entries of older lists have none. */
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

/** The number of members of an entry. */
const MEMBERS = 12

/**
 * Writes under a temporary name, and renames after the bytes are on the disk. Returns the number of
 * bytes.
 */
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
