/**
 * `bun test/run.ts`: all tests, as `bun run test` runs them after its checks. Most run in several
 * processes at once. Drills and the fuzz over sockets measure how long something takes, so they
 * have the machine to themselves.
 */

import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
/** Tests wait for processes, too, so one more than there are cores. */
const PROCESSES = availableParallelism() + 1
/** Files wait there for no disk. Some containers have one of 64 MB. */
const MEMORY = '/dev/shm'
const MEMORY_BYTES_MIN = 8 * 2 ** 30
/** Milliseconds of the longest files, which begin first: `--update-timings` writes them anew. */
const TIMINGS = 'test/timings.json'
const needsQuiet = ['**/*-drill.test.ts', 'test/contract/fuzz-socket.test.ts']

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= MEMORY_BYTES_MIN
}

/** Whether programs may be started from a folder. */
function mayStart(folder: string): boolean {
  const script = join(folder, 'script')
  writeFileSync(script, '#!/bin/sh\n', { mode: 0o700 })
  try {
    return Bun.spawnSync([script]).exitCode === 0
  } catch {
    return false
  } finally {
    rmSync(script)
  }
}

/** The folder of all temporary files; programs of other users find their own in it. */
function makeFolder(): string {
  const places = hasRoom(MEMORY) ? [MEMORY, tmpdir()] : [tmpdir()]
  for (const place of places) {
    const folder = mkdtempSync(join(place, 'bookfeed-tests-'))
    chmodSync(folder, 0o711)
    if (place !== MEMORY || mayStart(folder)) return folder
    rmSync(folder, { recursive: true })
  }
  throw new Error('There is always a place.')
}

const folder = makeFolder()
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

async function run(...words: readonly string[]): Promise<number> {
  const child = Bun.spawn(['env', `TMPDIR=${folder}`, process.execPath, 'test', ...words], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return await child.exited
}

const all = await run(
  ...[`--parallel=${PROCESSES}`, `--timings=${TIMINGS}`],
  ...['--timeout', '120000'],
  ...needsQuiet.flatMap((pattern) => ['--path-ignore-patterns', pattern]),
)
process.exitCode = all === 0 ? await run('--timeout', '120000', 'drill', 'fuzz-socket') : all
