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
import { createRandom, type Random } from '#src/lib/random.ts'
import { digestOf } from '#src/selling/api-key.ts'

import { textOf } from '../history/pages.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'
import { asJson, createSigner } from '../support/signup-client.ts'
import { someLines } from '../support/snapshot-lines.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { KILL_ROUNDS = '2', KILL_SEED = 'kill' } = process.env
const ROUNDS = Number(KILL_ROUNDS)
const ROUND_MS_MAX = 20_000
const CLIENTS = 4
const TOLD_EVERY = 10

const tell = (line: string): void => void process.stderr.write(`${line}\n`)

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-kill-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Keys that were acknowledged, and what is known of them. */
type Acknowledged = Map<string, 'made' | 'revoking' | 'revoked'>

/** Signs up, reads, rotates and revokes until the server is gone; a failure then is no failure. */
async function useServer(origin: string, keys: Acknowledged, random: Random): Promise<void> {
  const send = (path: string, init: RequestInit = {}, token?: string) => {
    const headers = new Headers(init.headers)
    // Each from elsewhere, or the allowance of one address would end the load.
    headers.set('x-forwarded-for', `198.51.${random.integer(256)}.${random.integer(256)}`)
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    return fetch(origin + path, { ...init, headers })
  }
  for (;;) {
    const signer = createSigner(send)
    const challenge = await send('/v1/keys/challenge', asJson({ address: signer.address }))
    // Until the sanctions list is read nobody may sign up.
    if (challenge.status === 503) {
      await Bun.sleep(20)
      continue
    }
    const { message } = (await challenge.json()) as { message: string }
    const body = { message, signature: await signer.sign(message) }
    const made = await readNewKey(await send('/v1/keys', asJson(body)))
    if (made === undefined) continue
    keys.set(made.key, 'made')
    await send('/v1/btc/markets?limit=100', {}, made.key).then((page) => page.text())
    const path = `/v1/keys/${made.id}`
    if (random.integer(2) === 0) {
      const rotated = await send(`${path}/rotate`, asJson({ overlapSeconds: 3600 }), made.key)
      const next = await readNewKey(rotated)
      if (next) keys.set(next.key, 'made')
    } else {
      keys.set(made.key, 'revoking')
      const { status } = await send(path, { method: 'DELETE' }, made.key)
      if (status === 204) keys.set(made.key, 'revoked')
    }
  }
}

/** A key that was acknowledged; on a loaded machine a request may be refused for a while (503). */
async function readNewKey(response: Response): Promise<{ key: string; id: string } | undefined> {
  const body = await response.text()
  if (response.status === 201) return JSON.parse(body) as { key: string; id: string }
  if (response.status !== 503) faults.push(`${response.status} ${body}`)
  return undefined
}

/** Answers that nobody should get; they would be lost with their client otherwise. */
const faults: string[] = []

function expectKept(ledgerPath: string, keys: Acknowledged): void {
  const ledger = openLedger(ledgerPath, { nowMs: 0 })
  expect([...ledger.verifyAudit()]).toEqual([])
  const lost = [...keys].filter(([key, state]) => {
    const kept = ledger.findKeyByDigest(digestOf(key))
    if (kept === undefined || ledger.findAccount(kept.accountId) === undefined) return true
    return state !== 'revoking' && (kept.revokedMs !== undefined) !== (state === 'revoked')
  })
  ledger.dispose()
  expect(lost).toEqual([])
}

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
        BOOKFEED_SANCTIONS_LIST: list,
        BOOKFEED_SIGNUPS_PER_DAY: '1000000',
        BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
      }
      const keys: Acknowledged = new Map()
      for (let round = 0; round < ROUNDS; round++) {
        const server = await startKillableServer(env)
        const clients = Array.from({ length: CLIENTS }, () =>
          useServer(server.origin, keys, random).catch(() => {}),
        )
        const before = keys.size
        for (let waits = 0; keys.size === before && waits < 1_000; waits++) await Bun.sleep(10)
        await Bun.sleep(random.integer(300))
        await server.kill()
        await Promise.all(clients)
        expect(faults).toEqual([])
        expectKept(join(data, 'ledger.db'), keys)
        expectSound(join(data, 'history.db')).dispose()
        if ((round + 1) % TOLD_EVERY === 0) tell(`server: ${round + 1} kills, ${keys.size} keys`)
      }
      expect(keys.size).toBeGreaterThan(ROUNDS)
    },
    ROUNDS * ROUND_MS_MAX,
  )

  test(
    `behavior: of an import loses no row that was committed, ${ROUNDS} times`,
    async () => {
      const random = createRandom(KILL_SEED)
      const files = Array.from({ length: Math.ceil(ROUNDS / 4) }, (_, n) => writeRecording(n))
      const path = join(folder, 'import', 'history.db')
      let seen = 0
      let killed = 0
      for (let round = 0; round < ROUNDS; round++) {
        const file = files[Math.floor(round / 4)] ?? ''
        const run = await importAndKill({ file, seen, random })
        killed += run.isKilled ? 1 : 0
        const history = expectSound(path)
        const { snapshots } = history.totals()
        history.dispose()
        expect(snapshots).toBeGreaterThanOrEqual(run.seen)
        seen = snapshots
        if ((round + 1) % TOLD_EVERY === 0) tell(`import: ${killed} kills, ${seen} rows`)
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
      expect(killed).toBeGreaterThan(0)
    },
    ROUNDS * ROUND_MS_MAX,
  )
})

const MARKETS = 40
const ROWS = 250

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
