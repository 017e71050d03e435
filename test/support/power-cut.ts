/**
 * The possible states of a disk after a power cut. The writes of a process, as traced by `strace`,
 * are replayed: synced data is there, and of the rest any part, in any order, torn at sectors.
 */

import { createReadStream, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'

import type { Random } from '#src/platform/random.ts'

/** The command that traces the process that it starts to a file; it becomes the process itself. */
export const tracing = (trace: string): string[] => [
  'strace',
  '-D',
  '-f',
  '--seccomp-bpf',
  '-qq',
  '-ttt',
  '-y',
  '-xx',
  '-s',
  '1048576',
  '-e',
  'trace=pwrite64,ftruncate,fsync,fdatasync',
  '-e',
  'signal=none',
  '-o',
  trace,
]

const SECTOR = 512

type Change = { data: Uint8Array; offset: number } | { length: number }
export type DiskCall = { atMs: number; file: string } & (
  | { kind: 'change'; change: Change }
  /** The time of its end; `covers` is the number of changes of the file before it began. */
  | { kind: 'sync'; covers: number }
)

const callPattern =
  /^(?<thread>\d+) +(?<time>[\d.]+) (?<name>\w+)\(\d+<(?<path>(?:\\x[0-9a-f]{2})*)>(?:, (?:"(?<data>[^"]*)"|(?<length>\d+)))?(?:, \d+, (?<offset>\d+))?(?:\) += \d+| <unfinished \.\.\.>)$/
const resumedPattern = /^(?<thread>\d+) +(?<time>[\d.]+) <\.\.\. f(?:data)?sync resumed>\) += 0$/

const fromHex = (text: string): Uint8Array => Buffer.from(text.replaceAll('\\x', ''), 'hex')

/**
 * Reads the calls on databases of a folder. A call that overlaps one of another thread is split
 * into two lines, `<unfinished ...>` and `<... resumed>`. Truncated lines are skipped.
 */
export async function readTrace(trace: string, folder: string): Promise<DiskCall[]> {
  const calls: DiskCall[] = []
  const changes = new Map<string, number>()
  /** The pending call of each thread; undefined for a file that is not ours. */
  const unfinished = new Map<string, DiskCall | undefined>()
  for await (const line of createInterface({ input: createReadStream(trace) })) {
    const resumed = resumedPattern.exec(line)?.groups
    if (resumed) {
      const call = unfinished.get(resumed.thread ?? '')
      if (call) calls.push({ ...call, atMs: Number(resumed.time) * 1000 })
      continue
    }
    const { thread, ...parts } = callPattern.exec(line)?.groups ?? {}
    if (thread === undefined) continue
    const call = toCall(parts, folder, changes)
    if (call?.kind === 'change') changes.set(call.file, (changes.get(call.file) ?? 0) + 1)
    const isWaiting = call?.kind !== 'change' && line.endsWith('<unfinished ...>')
    if (isWaiting) unfinished.set(thread, call)
    else if (call) calls.push(call)
  }
  return calls
}

function toCall(
  { time, name, path = '', data, length, offset }: Partial<Record<string, string>>,
  folder: string,
  changes: ReadonlyMap<string, number>,
): DiskCall | undefined {
  const whole = fromHex(path).toString()
  if (!whole.startsWith(`${folder}/`) || !/\.db(-wal)?$/.test(whole)) return undefined
  const common = { atMs: Number(time) * 1000, file: basename(whole) }
  if (name === 'fsync' || name === 'fdatasync')
    return { ...common, kind: 'sync', covers: changes.get(common.file) ?? 0 }
  const change =
    data === undefined
      ? { length: Number(length) }
      : { data: fromHex(data), offset: Number(offset) }
  return { ...common, kind: 'change', change }
}

/** The syncs that take effect: `normal` as in SQLite, which only syncs before a checkpoint. */
export type Syncs = 'all' | 'normal' | 'none'

/** The calls without the syncs that a setting omits. */
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
  /** The number of synced changes. */
  #durable = 0
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

  /** Makes pending changes durable, up to the change with this number since the first. */
  sync(covers: number): void {
    const changes = this.pending.splice(0, Math.max(0, covers - this.#durable))
    for (const change of changes) DiskFile.apply(this, change)
    this.#durable += changes.length
  }

  /** The file with some of the unsynced changes. */
  imageWith(changes: readonly Change[]): Uint8Array {
    const image = new DiskFile()
    image.#bytes = this.#bytes.slice()
    image.#length = this.#length
    for (const change of changes) DiskFile.apply(image, change)
    return image.#bytes.subarray(0, image.#length)
  }
}

type Choice = (changes: readonly Change[], random: Random) => readonly Change[]

/** The parts of the unsynced writes that reached the disk. */
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
  /** The approximate number of images. */
  images: number
  /** The earliest time of a cut, in Unix milliseconds. */
  fromMs: number
  /** Examines an image, a folder that is removed afterwards. */
  look: (folder: string, cutMs: number) => void
}

/** Writes images of cuts at random moments below a folder; returns their number. */
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
    if (call.kind === 'sync') file.sync(call.covers)
    else file.pending.push(call.change)
    if (at < first || random.integer(each) !== 0) continue
    for (const choose of choices) {
      // A separate path each: a process would apply its knowledge of one to the next.
      const image = join(folder, String(count++))
      mkdirSync(image, { recursive: true })
      for (const [name, { pending }] of files) {
        const bytes = files.get(name)?.imageWith(choose(pending, random))
        writeFileSync(join(image, name), bytes ?? '')
      }
      look(image, call.atMs)
      rmSync(image, { recursive: true })
    }
  }
  return count
}
