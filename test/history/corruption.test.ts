/**
 * Damages copies of a file and asks a server for all that it serves. No answer may be wrong, and
 * none endless. More trials: `TRIALS=300 bun test test/history/corruption.test.ts`; other ones:
 * `SEED=2`. `FLIPS=3000` flips more single bits.
 */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { isStorageError } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { type Fate, flipBits } from '../support/bit-flips.ts'
import { createHarness } from '../support/harness.ts'
import { someTicks } from '../support/market-history.ts'
import { appendAll, randomHash } from './books.ts'

// biome-ignore lint/style/noProcessEnv: how much is asked for is the runner's business, not the server's.
const { TRIALS: trials = '12', FLIPS: flips = '8', SEED = '1' } = process.env
const TRIALS = Number(trials)
const FLIPS = Number(flips)
const START_MS = Date.UTC(2026, 0, 1)
const WINDOW_MS = 300_000
const PAGE_BYTES = 4096
/** First byte of the pages that are tables or indexes and not the rest of a long row. */
const TREE_PAGES = [2, 5, 10, 13]

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-corruption-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'sound.db')
const conditionIds = await fill()
const soundBytes = await Bun.file(path).bytes()

/** Three markets with everything that is served; the last is still open. */
async function fill(): Promise<string[]> {
  const random = createRandom('corruption')
  const history = openHistory(path)
  const options = { seed: 'corruption', coins: ['btc'], timeframes: ['5m'], markets: 3 } as const
  const made = simulate({ ...options, startMs: START_MS, maxSnapshotsPerMarket: 210 })
  const snapshots = [...made].flatMap((batch) => batch.snapshots)
  const markets = [...Map.groupBy(snapshots, ({ conditionId }) => conditionId)]
  for (const [number, [conditionId, rows]] of markets.entries()) {
    await putMarket(history, conditionId, number)
    await appendAll(
      history,
      rows.map((row) => ({ ...row, sourceHash: randomHash(random) })),
    )
    await addPauseAndTrades(history, rows, random)
    if (number < 2) await history.close(conditionId)
  }
  await history.putSpot(someTicks('btc', 600))
  history.dispose()
  const db = openDatabase(path)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return markets.map(([conditionId]) => conditionId)
}

async function putMarket(
  history: MarketHistory,
  conditionId: string,
  number: number,
): Promise<void> {
  const windowStartMs = START_MS + number * WINDOW_MS
  const slug = `btc-updown-5m-${windowStartMs / 1000}`
  const identity = { coin: 'btc', timeframe: '5m', source: 'simulated', conditionId, slug } as const
  const window = { windowStartMs, windowEndMs: windowStartMs + WINDOW_MS }
  await history.putMarket({ ...identity, ...window, strike: '76211.8', winner: 'up' })
}

async function addPauseAndTrades(
  history: MarketHistory,
  rows: readonly Snapshot[],
  random: Random,
): Promise<void> {
  const last = rows.at(-1)
  if (last === undefined) throw new Error('A market has rows.')
  const { conditionId } = last
  await appendAll(history, [{ ...last, timestampMs: last.timestampMs + 60_000 }])
  const trades = rows
    .filter((_, at) => at % 3 === 0)
    .map(({ timestampMs }) => ({ timestampMs, price: random.integer(100) * 10_000 }))
  await history.putTrades({ id: `trades-${conditionId}`, conditionId, trades })
  const gap = { outcome: 'up', fromMs: START_MS, toMs: START_MS + 900, reason: 'import' } as const
  await history.putGaps(conditionId, [gap])
}

const day = new Date(START_MS).toISOString().slice(0, 10)
const ofCoin = [
  'panel?timeframe=5m&offsets=-60s,-200s',
  `export?day=${day}`,
  `export?day=${day}&format=csv&shape=states`,
  'markets?limit=100',
  'spot?limit=1000',
  'spot?limit=1000&order=desc&source=chainlink',
  `coverage?from=${START_MS}&to=${START_MS + 1}`,
]
const ofMarket = [
  '',
  '/snapshots?limit=1000',
  '/snapshots?limit=1000&outcome=up',
  '/snapshots?limit=150&order=desc',
  '/snapshots?limit=1000&interval=1s',
  `/snapshots/at?ts=${START_MS + 800_000}&outcome=down`,
  '/quotes?limit=1000',
  '/prices?limit=1000',
  '/prices?interval=5s&limit=1000',
  '/coverage',
  '/export',
  '/export?outcome=down&format=csv',
]
const targets = [
  ...ofCoin.map((each) => `/v1/btc/${each}`),
  ...conditionIds.flatMap((id) => ofMarket.map((each) => `/v1/btc/markets/${id}${each}`)),
]
/** Pages and lines are made in another way for each encoding; all else is the same text. */
const questions = targets.flatMap((target) =>
  (/snapshots.limit|export/.test(target) ? ['identity', 'gzip'] : ['identity']).map((encoding) => ({
    target,
    encoding,
  })),
)

type Answer = { status: number; isCut: boolean; body: Buffer; code: string | undefined }

/** Asks everything; of each body no more is read than `most` of it and a byte. */
async function askAll(history: MarketHistory, most: (at: number) => number): Promise<Answer[]> {
  const { send, lines } = createHarness({ history })
  const answers: Answer[] = []
  for (const [at, { target, encoding }] of questions.entries()) {
    const response = await send(target, { headers: { 'accept-encoding': encoding } })
    const answer = { status: response.status, ...(await readUpTo(response, most(at))) }
    const isProblem = response.headers.get('content-type') === 'application/problem+json'
    const code = isProblem ? String(JSON.parse(answer.body.toString()).code) : undefined
    // Whoever runs the server reads what is wrong: one line a failure.
    if (answer.status >= 500 || answer.isCut) expect(lines.at(-1)).toMatch(/"error":".+/)
    answers.push({ ...answer, code })
  }
  return answers
}

async function readUpTo({ body }: Response, most: number) {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = body?.getReader()
  try {
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      parts.push(part.value.slice())
      length += part.value.length
      if (length > most) break
    }
  } catch {
    return { body: Buffer.concat(parts), isCut: true }
  }
  await reader?.cancel()
  return { body: Buffer.concat(parts), isCut: false }
}

function openOrRefuse(file: string): MarketHistory | undefined {
  try {
    return openHistory(file)
  } catch (error) {
    if (isStorageError(error)) return undefined
    throw error
  }
}

const damages: readonly ((bytes: Uint8Array, random: Random) => void)[] = [
  function anywhere(bytes, random) {
    for (let count = 0; count < 8; count++)
      bytes[random.integer(bytes.length)] = random.integer(256)
  },
  function sectorOfNoise(bytes, random) {
    const at = random.integer(bytes.length / PAGE_BYTES) * PAGE_BYTES
    for (let offset = 0; offset < PAGE_BYTES; offset++) bytes[at + offset] = random.integer(256)
  },
  function sectorOfZeros(bytes, random) {
    const at = random.integer(bytes.length / PAGE_BYTES) * PAGE_BYTES
    bytes.fill(0, at, at + PAGE_BYTES)
  },
  function sectorElsewhere(bytes, random) {
    const from = random.integer(bytes.length / PAGE_BYTES) * PAGE_BYTES
    const to = random.integer(bytes.length / PAGE_BYTES) * PAGE_BYTES
    bytes.copyWithin(to, from, from + PAGE_BYTES)
  },
  /** Most of a file is books; this is for the rest. */
  function tables(bytes, random) {
    const pages = Array.from({ length: bytes.length / PAGE_BYTES }, (_, page) => page * PAGE_BYTES)
    const trees = pages.filter((at) => TREE_PAGES.includes(bytes[at] ?? 0))
    for (let count = 0; count < 4; count++) {
      const at = trees[random.integer(trees.length)] ?? 0
      // SQLite fills a page from its end.
      const offset = PAGE_BYTES - 1 - random.integer(1 + random.integer(PAGE_BYTES - 1))
      bytes[at + offset] = (bytes[at + offset] ?? 0) ^ (1 << random.integer(8))
    }
  },
]

test(
  'behavior: a damaged file gives true answers, refusals and cut streams, and nothing else',
  async () => {
    const before = openHistory(path)
    const truth = await askAll(before, () => Number.POSITIVE_INFINITY)
    before.dispose()
    expect(
      truth.flatMap(({ status, isCut }, at) => (status === 200 && !isCut ? [] : [questions[at]])),
    ).toEqual([])
    const wrong: string[] = []
    let damaged = 0
    for (let trial = 0; trial < TRIALS; trial++) {
      const damage = damages[trial % damages.length]
      const bytes = soundBytes.slice()
      damage?.(bytes, createRandom(`corruption-${SEED}-${trial}`))
      const copy = join(folder, `${trial}.db`)
      await Bun.write(copy, bytes)
      const history = openOrRefuse(copy)
      if (history === undefined) continue
      const answers = await askAll(history, (at) => truth[at]?.body.length ?? 0)
      const kinds = answers.map((answer, at) => judge(answer, truth[at]))
      damaged += kinds.filter((kind) => kind === 'damaged').length
      for (const [at, kind] of kinds.entries())
        if (kind === 'wrong')
          wrong.push(`${trial} ${damage?.name} ${JSON.stringify(questions[at])}`)
      history.dispose()
      rmSync(copy)
    }
    expect(wrong).toEqual([])
    expect(damaged).toBeGreaterThan(TRIALS)
  },
  120_000 + TRIALS * 20_000,
)

test(
  'behavior: `verify` finds every flipped bit that changes an answer',
  async () => {
    const before = openHistory(path)
    const truth = await askAll(before, () => Number.POSITIVE_INFINITY)
    before.dispose()
    const options = { random: createRandom(`flips-${SEED}`), flips: FLIPS }
    const result = await flipBits(path, options, async (copy): Promise<Fate> => {
      const history = openOrRefuse(copy)
      if (history === undefined || findsFault(history)) return 'found'
      const answers = await askAll(history, (at) => truth[at]?.body.length ?? 0)
      history.dispose()
      return answers.every((answer, at) => judge(answer, truth[at]) === 'same')
        ? 'unused'
        : 'silent'
    })
    process.stderr.write(`history: ${JSON.stringify(result)}\n`)
    expect(result.where).toEqual([])
    expect(result.found).toBeGreaterThan(FLIPS / 5)
  },
  120_000 + FLIPS * 10_000,
)

function findsFault(history: MarketHistory): boolean {
  const isFound = [...history.verify()].length > 0
  if (isFound) history.dispose()
  return isFound
}

/** What is cut off misleads nobody, and what cannot be found is refused. */
function judge({ status, isCut, body, code }: Answer, truth: Answer | undefined) {
  if (isCut || status === 404) return 'refused'
  if (code === 'damaged') return 'damaged'
  return status === 200 && truth?.body.equals(body) === true ? 'same' : 'wrong'
}
