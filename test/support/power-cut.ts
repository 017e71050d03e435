/**
 * What a disk may hold after a power cut. The writes of a process, as `strace` tells them, are
 * played again: what was synced is there, and of the rest any part, in any order, torn at sectors.
 */

import { createReadStream, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

import type { Random } from '#src/platform/random.ts'

/** The command that writes the trace of what it starts to a file; the process is its own. */
export const tracing = (trace: string): string[] => [
  ...['strace', '-D', '-f', '--seccomp-bpf', '-qq', '-ttt', '-y', '-xx', '-s', '1048576'],
  ...['-e', 'trace=pwrite64,ftruncate,fsync,fdatasync', '-e', 'signal=none', '-o', trace],
]

const SECTOR = 512

type Change = { data: Uint8Array; offset: number } | { length: number }
export type DiskCall = { atMs: number; file: string } & (
  { kind: 'change'; change: Change } | { kind: 'sync' }
)

const callPattern =
  /^\d+ +(?<time>[\d.]+) (?<name>\w+)\(\d+<(?<path>(?:\\x[0-9a-f]{2})*)>(?:, (?:"(?<data>[^"]*)"|(?<length>\d+)))?(?:, \d+, (?<offset>\d+))?/
const resumedPattern = /^\d+ +([\d.]+) <\.\.\. (?:fsync|fdatasync) resumed>/

const fromHex = (text: string): Uint8Array => Buffer.from(text.replaceAll('\\x', ''), 'hex')

/** Reads the calls on files of a folder, each sync at its end. */
export async function readTrace(trace: string, folder: string): Promise<DiskCall[]> {
  const calls: DiskCall[] = []
  const unfinished = new Map<string, DiskCall>()
  for await (const line of createInterface({ input: createReadStream(trace) })) {
    const thread = line.slice(0, line.indexOf(' '))
    const [, resumed] = resumedPattern.exec(line) ?? []
    const found = resumed === undefined ? toCall(line, folder) : unfinished.get(thread)
    if (found === undefined) continue
    if (resumed !== undefined) found.atMs = Number(resumed) * 1000
    if (found.kind === 'sync' && line.endsWith('<unfinished ...>')) unfinished.set(thread, found)
    else calls.push(found)
  }
  return calls
}

function toCall(line: string, folder: string): DiskCall | undefined {
  const { time, name, path = '', data, length, offset } = callPattern.exec(line)?.groups ?? {}
  if (time === undefined) return undefined
  const whole = fromHex(path).toString()
  if (!whole.startsWith(`${folder}/`) || !/\.db(-wal)?$/.test(whole)) return undefined
  const common = { atMs: Number(time) * 1000, file: basename(whole) }
  if (name === 'fsync' || name === 'fdatasync') return { ...common, kind: 'sync' }
  const change =
    data === undefined
      ? { length: Number(length) }
      : { data: fromHex(data), offset: Number(offset) }
  return { ...common, kind: 'change', change }
}

/** How syncs count: `normal` as SQLite has it, where only those before a checkpoint are made. */
export type Syncs = 'all' | 'normal' | 'none'

/** The calls without the syncs that a setting would leave out. */
export const withSyncs = (calls: readonly DiskCall[], syncs: Syncs): DiskCall[] =>
  calls.filter((call, at) => {
    if (call.kind !== 'sync' || syncs === 'all') return true
    if (syncs === 'none') return false
    const database = call.file.replace(/-wal$/, '')
    const next = calls.slice(at + 1, at + 200).find(({ file }) => file.startsWith(database))
    return call.file === database || next?.file === database
  })

class DiskFile {
  #bytes = new Uint8Array(0)
  #length = 0
  readonly pending: Change[] = []

  static apply(file: DiskFile, change: Change): void {
    if ('length' in change) {
      file.#reserve(change.length)
      file.#bytes.fill(0, Math.min(change.length, file.#length), file.#length)
      file.#length = change.length
      return
    }
    const end = change.offset + change.data.length
    file.#reserve(end)
    file.#bytes.set(change.data, change.offset)
    file.#length = Math.max(file.#length, end)
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return
    const grown = new Uint8Array(size * 2)
    grown.set(this.#bytes)
    this.#bytes = grown
  }

  sync(): void {
    for (const change of this.pending.splice(0)) DiskFile.apply(this, change)
  }

  /** The file with some of what was not synced. */
  imageWith(changes: readonly Change[]): Uint8Array {
    const image = new DiskFile()
    image.#bytes = this.#bytes.slice()
    image.#length = this.#length
    for (const change of changes) DiskFile.apply(image, change)
    return image.#bytes.subarray(0, image.#length)
  }
}

type Choice = (changes: readonly Change[], random: Random) => readonly Change[]

/** What of the writes that were not synced is on the disk: at first everything. */
const choices: readonly Choice[] = [
  (changes) => changes,
  () => [],
  (changes, random) => changes.slice(0, random.integer(changes.length + 1)),
  (changes, random) => changes.filter(() => random.integer(2) === 0),
  (changes, random) => changes.flatMap((change) => tear(change, random)),
]

function tear(change: Change, random: Random): Change[] {
  if ('length' in change) return random.integer(2) === 0 ? [change] : []
  const { data, offset } = change
  const sectors = Array.from({ length: Math.ceil(data.length / SECTOR) }, (_, at) => at * SECTOR)
  return sectors
    .filter(() => random.integer(2) === 0)
    .map((at) => ({ data: data.subarray(at, at + SECTOR), offset: offset + at }))
}

type Explore = {
  random: Random
  /** About so many. */
  images: number
  /** No cut is before it, Unix milliseconds. */
  fromMs: number
  /** Looks at an image, a folder that is removed then. */
  look: (folder: string, cutMs: number, isWhole: boolean) => void
}

/** Writes images of cuts at random moments under a folder; returns how many there were. */
export function explore(calls: readonly DiskCall[], folder: string, options: Explore): number {
  const { random, look } = options
  const files = new Map<string, DiskFile>()
  const first = Math.max(
    0,
    calls.findIndex(({ atMs }) => atMs >= options.fromMs),
  )
  const each = Math.max(1, Math.floor((calls.length - first) / (options.images / choices.length)))
  let count = 0
  for (const [at, call] of calls.entries()) {
    const file = files.get(call.file) ?? new DiskFile()
    files.set(call.file, file)
    if (call.kind === 'sync') file.sync()
    else file.pending.push(call.change)
    if (at < first || random.integer(each) !== 0) continue
    for (const choose of choices) {
      // A file of its own each: what a process knows of one it would believe of the next.
      const image = join(folder, String(count++))
      mkdirSync(image, { recursive: true })
      for (const [name, { pending }] of files) {
        const bytes = files.get(name)?.imageWith(choose(pending, random))
        writeFileSync(join(image, name), bytes ?? '')
      }
      look(image, call.atMs, choose === choices[0])
      rmSync(image, { recursive: true })
    }
  }
  return count
}
