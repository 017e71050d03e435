/**
 * `bun test/bench/changes.ts`: a page of 1,000 changes beside a page of 1,000 books with `depth=5`,
 * and the `.npz` file of each market of recorded books beside `deflate` alone of the same events.
 * Processor time of one process; rounds alternate.
 *
 *   --rounds <n>      5 by default
 *   --snapshots <n>   states of both outcomes, 100,000 by default
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'

import { openHistory } from '#src/history/open.ts'
import { enginePieces } from '#src/tables/engine-files.ts'

import { readConfig } from '../support/config.ts'
import { createHarness } from '../support/harness.ts'
import { prepareOurData } from './dataset.ts'
import { median } from './measure.ts'
import { describeMachine, toFacts, toInteger } from './report.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    snapshots: { type: 'string', default: '100000' },
  },
})
const rounds = Number(flags.rounds)

const EVENT_BYTES = 64
/** As many bytes as an export compresses at once. */
const PIECE_BYTES = 4096 * EVENT_BYTES
const CONTENT_AT = 30 + 'data.npy'.length
/** The end of a page has its cursor. */
const CURSOR_MAX = 500
const NAMES = ['changes', 'books', 'npz', 'deflate'] as const

const data = await prepareOurData(Number(flags.snapshots), { isFresh: false })
const history = openHistory(join(data.dataPath, 'history.db'))
const { send, closePool } = createHarness({
  history,
  config: readConfig({ BOOKFEED_PAGE_CACHE_MB: '0' }),
})

const seconds = new Map<string, number[]>(NAMES.map((name) => [name, []]))

/** Runs the work; keeps its processor time, garbage collection included. */
async function time<T>(name: (typeof NAMES)[number], work: () => Promise<T> | T): Promise<T> {
  Bun.gc(true)
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  seconds.get(name)?.push((user + system) / 1e6)
  return result
}

const markets = history.listMarkets({ coin: 'btc', limit: 1000 })

/** Reads all pages of all markets. */
async function readPages(list: string): Promise<void> {
  for (const { conditionId } of markets) {
    const path = `/v1/btc/markets/${conditionId}/${list}`
    for (let cursor = ''; ;) {
      const answer = await send(path + cursor)
      const next = /"nextCursor":"([^"]+)"/.exec((await answer.text()).slice(-CURSOR_MAX))?.[1]
      if (next === undefined) break
      cursor = `&cursor=${next}`
    }
  }
}

async function exportAll(): Promise<Uint8Array[]> {
  const files: Uint8Array[] = []
  for (const market of markets) {
    const pieces = enginePieces(history, [{ market }], { snapshots: 0 }, { format: 'npz' })
    files.push(Buffer.concat(await Array.fromAsync(pieces)))
  }
  return files
}

/** The array of a file, with its header. */
const eventsOf = (file: Uint8Array): Uint8Array =>
  inflateRawSync(file.subarray(CONTENT_AT), { finishFlush: constants.Z_SYNC_FLUSH })

function deflateAll(arrays: readonly Uint8Array[]): void {
  for (const array of arrays)
    for (let at = 0; at < array.length; at += PIECE_BYTES)
      deflateRawSync(array.subarray(at, at + PIECE_BYTES), {
        level: 1,
        finishFlush: constants.Z_SYNC_FLUSH,
      })
}

// Code is compiled, and chunks are read from the file, before anything is measured.
await readPages('changes?limit=1000')
await readPages('snapshots?limit=1000&depth=5')
const arrays = (await exportAll()).map(eventsOf)
const events = arrays.reduce((sum, { length }) => sum + Math.floor(length / EVENT_BYTES), 0)

for (let round = 0; round < rounds; round++) {
  await time('changes', () => readPages('changes?limit=1000'))
  await time('books', () => readPages('snapshots?limit=1000&depth=5'))
  await time('npz', exportAll)
  await time('deflate', () => deflateAll(arrays))
}
await closePool()
history.dispose()

const secondsOf = (name: (typeof NAMES)[number]) => median(seconds.get(name) ?? [])
const rate = (name: 'npz' | 'deflate') => toInteger(events / secondsOf(name))
const page = (name: 'changes' | 'books') =>
  `${toInteger((secondsOf(name) / data.snapshots) * 1e9)} µs`
console.log(describeMachine())
console.log(
  toFacts(`${toInteger(data.snapshots)} states, ${toInteger(events)} events of Up`, [
    ['page of 1,000 books, depth=5', page('books')],
    [
      'page of 1,000 changes',
      `${page('changes')}: ${(secondsOf('changes') / secondsOf('books')).toFixed(2)} × books`,
    ],
    ['deflate of the events alone', `${rate('deflate')} events/s`],
    [
      '.npz',
      `${rate('npz')} events/s: ${(secondsOf('deflate') / secondsOf('npz')).toFixed(2)} × deflate`,
    ],
    [
      'rounds, s',
      [...seconds].map(([name, all]) => `${name} ${all.map((each) => each.toFixed(2))}`).join('; '),
    ],
  ]),
)
