/**
 * A disk that is full for a while, from a random write on: a server that records and hands out keys
 * works on, and loses nothing that it acknowledged. `DISK_ROUNDS=100 bun test
 * test/e2e/disk-full.test.ts` is the long run; `DISK_SEED` chooses the writes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { messageOf } from '#src/platform/message.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { judgeStored } from '../recorder/judge-stored.ts'
import { failingDisk } from '../support/failing-disk.ts'
import { createKeyLoad, lostKeys } from '../support/key-load.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'
import { recordingEnv, signupEnv } from '../support/recording-env.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { DISK_ROUNDS = '2', DISK_SEED = 'full' } = process.env
const ROUNDS = Number(DISK_ROUNDS)
const ROUND_MS_MAX = 300_000
const LOAD_MS = 1500
const CLIENTS = 3
/** A thread writes some hundred times a second. */
const FIRST_MAX = 400
const COUNT_MAX = 300
const FRESH_ONE_IN = 8

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bookfeed-disk-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const made = join(folder, 'made')
const list = join(folder, 'SDN.XML')
const sum = { failed: 0, keys: 0, rows: 0, refused: 0 }

/** Files in which the sanctions list is, without which nobody may sign up. */
async function makeFiles(): Promise<void> {
  mkdirSync(made)
  writeFileSync(list, sdnXml())
  const env = { ...signupEnv(list), BOOKFEED_DATA: made, BOOKFEED_PORT: '0' }
  const server = await startKillableServer({ ...env, BOOKFEED_SAMPLE: 'off', BOOKFEED_LOG: 'off' })
  const load = createKeyLoad(createRandom(DISK_SEED))
  const work = load.use(server.origin).catch(() => {})
  while (load.events.length === 0) await Bun.sleep(20)
  process.kill(server.pid, 'SIGTERM')
  await Promise.all([server.ended, work])
}

/** Runs a server whose disk fails, until it has answered as ever again. */
async function fillDisk(round: number, random: Random): Promise<void> {
  const data = join(folder, `${round}`)
  const told = join(folder, `${round}-told`)
  mkdirSync(data)
  // Making the files takes more writes than a second of work, so mostly they are there.
  if (random.integer(FRESH_ONE_IN) > 0) cpSync(made, data, { recursive: true })
  await using venue = await startVenue({
    playbook: generatedPlaybook({
      seed: `${DISK_SEED}${round}`,
      startMs: systemClock(),
      stepsPerSecond: 50,
    }),
    pace: { by: 'clock', clock: systemClock },
  })
  const first = 1 + random.integer(FIRST_MAX)
  const last = first + random.integer(COUNT_MAX)
  const env = { ...recordingEnv(data, venue), ...signupEnv(list) }
  const start = startKillableServer(env, failingDisk(data, { first, last }, told))
  const server = await start.catch((error: unknown) => messageOf(error))
  if (typeof server === 'string') {
    // It was full before the files were made.
    expect(server).toMatch(/^bookfeed: No room is left on the disk/m)
    await (await startKillableServer(env)).kill()
    sum.refused++
    return
  }
  const load = createKeyLoad(random)
  const work = Array.from({ length: CLIENTS }, () => load.use(server.origin))
  const isOver = Promise.all(work).then(
    () => undefined,
    (error: unknown) => error,
  )
  let acknowledged = 0
  const readRows = async () => {
    const headers = { 'x-forwarded-for': load.anyAddress() }
    const response = await fetch(`${server.origin}/v1/coins`, { headers })
    const { data: coins = [] } = (await response.json()) as { data?: { snapshots: number }[] }
    return coins.reduce((rows, { snapshots }) => rows + snapshots, 0)
  }
  const failedSoFar = () => readFileSync(told, 'utf8').split('INJECTED').length - 1
  const isReady = async () => (await fetch(`${server.origin}/readyz`)).ok
  // The writes that fail are made by the load itself; so the disk is full for as long as it takes.
  for (const endMs = systemClock() + LOAD_MS; systemClock() < endMs; await Bun.sleep(20))
    acknowledged = await readRows()
  while (failedSoFar() === 0 || !(await isReady())) await Bun.sleep(20)
  const before = { rows: await readRows(), events: load.events.length }
  while ((await readRows()) <= before.rows || load.events.length <= before.events)
    await Bun.sleep(20)
  acknowledged = await readRows()
  const failed = failedSoFar()
  process.kill(server.pid, 'SIGTERM')
  expect(await server.ended).toBe(0)
  await isOver
  await check(data, { load, acknowledged, venue, failed })
}

type Seen = {
  load: ReturnType<typeof createKeyLoad>
  acknowledged: number
  venue: Awaited<ReturnType<typeof startVenue>>
  failed: number
}

async function check(data: string, { load, acknowledged, venue, failed }: Seen): Promise<void> {
  const ledger = openLedger(join(data, 'ledger.db'), { nowMs: 0 })
  expect([load.faults, [...ledger.verifyAudit()], lostKeys(ledger, load)]).toEqual([[], [], []])
  ledger.dispose()
  const history = openHistory(join(data, 'history.db'))
  expect([...history.verify()]).toEqual([])
  const { snapshots } = history.totals()
  expect(snapshots).toBeGreaterThanOrEqual(acknowledged)
  expect((await judgeStored(history, venue)).faults).toEqual([])
  history.dispose()
  sum.failed += failed
  sum.keys += load.events.length
  sum.rows += snapshots
}

describe.skipIf(Bun.which('strace') === null)('a full disk', () => {
  beforeAll(makeFiles)

  test(
    `behavior: from any write on, takes nothing that was acknowledged, ${ROUNDS} times`,
    async () => {
      const random = createRandom(DISK_SEED)
      for (let round = 0; round < ROUNDS; round++) await fillDisk(round, random)
      process.stderr.write(`${ROUNDS} full disks: ${JSON.stringify(sum)}\n`)
      expect(sum.failed).toBeGreaterThan(ROUNDS)
    },
    ROUNDS * ROUND_MS_MAX,
  )
})
