/**
 * kill -9 of the real processes at random moments: what was acknowledged is there, `verify` and
 * `audit verify` find nothing, and the work goes on. `KILL_ROUNDS=100 bun test
 * test/e2e/kill.test.ts` is the long run; `KILL_SEED` chooses the moments.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { textOf } from '../history/pages.ts'
import { createKeyLoad, lostKeys } from '../support/key-load.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'
import { signupEnv } from '../support/recording-env.ts'
import { someLines } from '../support/snapshot-lines.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { KILL_ROUNDS = '2', KILL_SEED = 'kill' } = process.env
const ROUNDS = Number(KILL_ROUNDS)
const ROUND_MS_MAX = 300_000
const CLIENTS = 4
const TOLD_EVERY = 10

const tell = (line: string): void => void process.stderr.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-kill-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function expectSound(path: string): MarketHistory {
  const history = openHistory(path)
  expect([...history.verify()]).toEqual([])
  return history
}

describe('kill -9', () => {
  test(
    `behavior: of a server under load loses no key and no revocation, ${ROUNDS} times`,
    async () => {
      const random = createRandom(KILL_SEED)
      const data = join(folder, 'server')
      const list = join(folder, 'SDN.XML')
      writeFileSync(list, sdnXml())
      const env = {
        BOOKFEED_DATA: data,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_RECORD: 'off',
        BOOKFEED_SAMPLE: 'off',
        ...signupEnv(list),
      }
      const load = createKeyLoad(random)
      for (let round = 0; round < ROUNDS; round++) {
        const server = await startKillableServer(env)
        const clients = Array.from({ length: CLIENTS }, () =>
          load.use(server.origin).catch(() => {}),
        )
        const before = load.events.length
        while (load.events.length === before) await Bun.sleep(10)
        await Bun.sleep(random.integer(300))
        await server.kill()
        await Promise.all(clients)
        const ledger = openLedger(join(data, 'ledger.db'), { nowMs: 0 })
        expect([load.faults, [...ledger.verifyAudit()], lostKeys(ledger, load)]).toEqual([
          [],
          [],
          [],
        ])
        ledger.dispose()
        expectSound(join(data, 'history.db')).dispose()
        if ((round + 1) % TOLD_EVERY === 0)
          tell(`server: ${round + 1} kills, ${load.events.length} acknowledgements`)
      }
      expect(load.events.length).toBeGreaterThan(ROUNDS)
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test(
    `behavior: of an import loses no row that was committed, ${ROUNDS} times`,
    async () => {
      const random = createRandom(KILL_SEED)
      const files: string[] = []
      const path = join(folder, 'import', 'history.db')
      let seen = 0
      let killed = 0
      let isWhole = true
      // One that ended before it was killed does not count.
      while (killed < ROUNDS) {
        if (isWhole) files.push(writeRecording(files.length))
        const run = await importAndKill({ file: files.at(-1) ?? '', seen, random })
        isWhole = !run.isKilled
        killed += run.isKilled ? 1 : 0
        const history = expectSound(path)
        const { snapshots } = history.totals()
        history.dispose()
        expect(snapshots).toBeGreaterThanOrEqual(run.seen)
        seen = snapshots
        if (run.isKilled && killed % TOLD_EVERY === 0) tell(`import: ${killed} kills, ${seen} rows`)
      }
      const history = openHistory(path)
      await importAll(history, files)
      const whole = openHistory(join(folder, 'whole.db'))
      await importAll(whole, files)
      expect(history.totals().snapshots).toBe(files.length * MARKETS * ROWS)
      expect(rowsOf(history)).toEqual(rowsOf(whole))
      for (const store of [history, whole]) {
        expect([...store.verify()]).toEqual([])
        store.dispose()
      }
    },
    ROUNDS * ROUND_MS_MAX,
  )
})

const MARKETS = 40
const ROWS = 1_000

/** A file of many markets, which nothing else names. */
function writeRecording(number: number): string {
  const path = join(folder, `recording-${number}.jsonl`)
  const parts = Array.from({ length: MARKETS }, (_, market) => {
    const name = 1_000_000 + number * 1_000 + market
    return someLines(ROWS, {
      conditionId: `0x${String(name).padStart(64, '0')}`,
      assetId: `${name}`.padEnd(77, '7'),
    })
  })
  writeFileSync(path, parts.join(''))
  return path
}

type Run = { file: string; seen: number; random: Random }

/** Kills the import some time after its first commit; what was committed when it was killed. */
async function importAndKill({ file, seen: before, random }: Run) {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, '../../src/main.ts'), 'import', file],
    { env: { BOOKFEED_DATA: join(folder, 'import') }, stdout: 'ignore', stderr: 'ignore' },
  )
  // The folder is made by the import itself.
  const path = join(folder, 'import', 'history.db')
  while (!(await Bun.file(path).exists()) && child.exitCode === null) await Bun.sleep(5)
  await Bun.sleep(100)
  const history = openHistory(path)
  const seenNow = () => history.totals().snapshots
  while (seenNow() === before && child.exitCode === null) await Bun.sleep(2)
  await Bun.sleep(random.integer(200))
  const seen = seenNow()
  child.kill('SIGKILL')
  await child.exited
  history.dispose()
  return { seen, isKilled: child.signalCode === 'SIGKILL' }
}

const importAll = (history: MarketHistory, files: readonly string[]) =>
  importFiles({
    history,
    files: [...files],
    source: 'recorded',
    clock: () => Date.UTC(2026, 3, 15),
    isStrict: false,
    signal: new AbortController().signal,
    onFault: () => {},
    onProgress: () => {},
  })

/** Every row of every market, without the ids, which are by order of arrival. */
function rowsOf(history: MarketHistory): string[] {
  const markets = history.listMarkets({ coin: 'btc', limit: 100_000 })
  return markets.map(({ conditionId }) => {
    const text = textOf(history, { conditionId, order: 'asc', limit: 1_000_000 })
    return text.replace(/"id":"\d+",?/g, '')
  })
}
