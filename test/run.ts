/**
 * `bun test/run.ts`: the tests that `bun run test` runs after its checks; `bun test/run.ts all` runs
 * all others, as `bun run test:all` does. Most run in several processes at once. Drills and the fuzz
 * over sockets measure how long something takes, so they run alone afterwards.
 */

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
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
const needsQuiet = /-drill\.test\.ts$|^test\/contract\/fuzz-socket\.test\.ts$/

/** Each takes ten seconds of a core or more, and something shorter tests the same part. */
const longTests = new RegExp(
  `^test/(${[
    'cli/(backup|cold-start|folder-in-use|pay|sandbox|serve)',
    'clients/(python|typescript-readme|typescript-streams)',
    'contract/client-types',
    'contributing',
    'database/sqlite/checkpoints',
    'docs-commands',
    'examples',
    'extensions/day-files/(archive-sql|damaged-files)',
    'features/(cold-rows|engine-files|overload|received-at)',
    'history/(codec/chunk-damage|corruption)',
    'ingest/(any-order|import-hashes|import-recordings|raw-messages)',
    'ledger/ledger-tampering',
    'recorder/(books-property|faults|hour|late-end|mixture|recordings|results|under-load|unreadable|venue-restart|windows)',
    'server/(extensions|test-data|threads/threads|usage-flush)',
    'simulator/(moving-market|sample)',
    'support/(affected-tests|venue/market)',
  ].join('|')})\\.test\\.ts$`,
)

/**
 * Why `bun run test` leaves a file to `bun run test:all`: the first pattern that fits its path, or
 * else its text.
 */
const reasons: [why: string, path: RegExp | undefined, text: RegExp | undefined][] = [
  [
    'PostgreSQL or a bucket',
    /^test\/(extensions\/(archive|postgres)|support\/engines)\//,
    /\/engines\/|ledger-engines/,
  ],
  ['pages in a browser', undefined, /support\/browser\.ts/],
  ['purchases, kills and faults of whole servers', /^test\/e2e\//, undefined],
  ['drills and fuzz', needsQuiet, undefined],
  ['recordings, damage, commands and clients at length', longTests, undefined],
]
/** One test of a page in a browser, and one of a purchase on the local chain, for `bun run test`. */
const smokeTests = ['test/web/pricing.test.ts', 'test/e2e/purchase.test.ts']

/** Optional programs, and what is skipped without them. */
const programs: [names: string[], skipped: string][] = [
  [['chromium-headless-shell', 'chromium', 'google-chrome'], 'the page in a browser'],
  [['python3'], 'the client for Python, and examples'],
  [['nginx'], 'requests through nginx'],
  [['curl'], 'commands of the documentation'],
  [['openssl'], 'servers with certificates'],
  [['prlimit'], 'full disks'],
]

function reasonFor(file: string): string | undefined {
  if (smokeTests.includes(file)) return undefined
  const text = readFileSync(join(root, file), 'utf8')
  return reasons.find(([, path, words]) => path?.test(file) || words?.test(text))?.[0]
}

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

const isAll = Bun.argv[2] === 'all'
const files = [...new Bun.Glob('test/**/*.test.ts').scanSync({ cwd: root })].sort()
const filesByReason = Map.groupBy(files, reasonFor)
const chosen = files.filter((file) => (reasonFor(file) !== undefined) === isAll)
const [alone = [], together = []] = [true, false].map((isAlone) =>
  chosen.filter((file) => needsQuiet.test(file) === isAlone).map((file) => `./${file}`),
)

process.exitCode = await run(
  ...[`--parallel=${PROCESSES}`, `--timings=${TIMINGS}`, '--timeout', '300000'],
  ...together,
)
if (process.exitCode === 0 && alone.length > 0)
  process.exitCode = await run('--timeout', '300000', ...alone)

const lines = programs
  .filter(([names]) => names.every((name) => Bun.which(name) === null))
  .map(([[name], skipped]) => `Skipped, because ${name} is not installed: ${skipped}.`)
if (!isAll)
  for (const [why, left] of filesByReason)
    if (why !== undefined) lines.push(`Left to \`bun run test:all\`: ${left.length} files, ${why}.`)
process.stdout.write(lines.map((line) => `${line}\n`).join(''))
