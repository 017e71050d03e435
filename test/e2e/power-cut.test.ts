/**
 * Power cuts: a server that records and hands out keys is traced, and disks that a cut could leave
 * are made of its writes, opened and checked. `CUT_IMAGES=10000 bun test
 * test/e2e/power-cut.test.ts` is the long run; `CUT_SEED` chooses the cuts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { messageOf } from '#src/platform/message.ts'
import { createRandom } from '#src/platform/random.ts'

import { createKeyLoad, lostKeys } from '../support/key-load.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { sdnXml } from '../support/ofac-xml.ts'
import {
  type DiskCall,
  explore,
  readTrace,
  type Syncs,
  tracing,
  withSyncs,
} from '../support/power-cut.ts'
import { recordingEnv, signupEnv } from '../support/recording-env.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

// biome-ignore lint/style/noProcessEnv: how long a test runs is not for the product's settings.
const { CUT_IMAGES = '200', CUT_SEED = 'cut' } = process.env
const IMAGES = Number(CUT_IMAGES)
/** Of a control, which only has to fail. */
const CONTROL_IMAGES = 100
const LOAD_MS = 4000
const CLIENTS = 3
const POLL_MS = 20

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bookfeed-cut-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** How many rows were served at a moment. */
type Count = { atMs: number; rows: number }

const load = createKeyLoad(createRandom(CUT_SEED))
const counts: Count[] = []
let calls: DiskCall[] = []
let fromMs = 0

async function countRows(origin: string): Promise<void> {
  for (;;) {
    const headers = { 'x-forwarded-for': load.anyAddress() }
    const body = (await (await fetch(`${origin}/v1/coins`, { headers })).json()) as CoinsBody
    const rows = body.data?.reduce((sum, { snapshots }) => sum + snapshots, 0)
    if (rows !== undefined) counts.push({ atMs: systemClock(), rows })
    await Bun.sleep(POLL_MS)
  }
}
type CoinsBody = { data?: { snapshots: number }[] }

const isEnough = (): boolean => load.events.length > 20 && (counts.at(-1)?.rows ?? 0) > 100

/** Runs a server under load until it is killed, and reads what it wrote. */
async function trace(): Promise<void> {
  const data = join(folder, 'data')
  const list = join(folder, 'SDN.XML')
  mkdirSync(data)
  writeFileSync(list, sdnXml())
  await using venue = await startVenue({
    playbook: generatedPlaybook({ seed: CUT_SEED, startMs: systemClock(), stepsPerSecond: 100 }),
    pace: { by: 'clock', clock: systemClock },
  })
  const log = join(folder, 'trace')
  const env = { ...recordingEnv(data, venue), ...signupEnv(list) }
  const server = await startKillableServer(env, tracing(log))
  const clients = Array.from({ length: CLIENTS }, () => load.use(server.origin))
  const work = [...clients, countRows(server.origin)].map((each) => each.catch(() => {}))
  while (!counts.at(-1)?.rows) await Bun.sleep(10)
  fromMs = systemClock()
  await Bun.sleep(LOAD_MS)
  while (!isEnough()) await Bun.sleep(10)
  await server.kill()
  await Promise.all(work)
  calls = await readTrace(log, data)
}

type Found = {
  images: number
  /** Of these, which lack a key, and which are not sound. */
  lacking: number
  unsound: number
  faults: string[]
  lostKeys: number
  lostRows: number
  oldestMs: number
}

/** Opens an image as a start does. */
function lookAt(image: string, cutMs: number, found: Found): void {
  const ledger = openLedger(join(image, 'ledger.db'), { nowMs: 0 })
  found.faults.push(...ledger.verifyAudit())
  found.lostKeys += lostKeys(ledger, load, cutMs).length
  ledger.dispose()
  const history = openHistory(join(image, 'history.db'))
  found.faults.push(...history.verify())
  const { snapshots } = history.totals()
  history.dispose()
  const acknowledged = counts.findLast(({ atMs }) => atMs <= cutMs)?.rows ?? 0
  found.lostRows = Math.max(found.lostRows, acknowledged - snapshots)
  const firstLost = counts.find(({ rows }) => rows > snapshots)
  if (firstLost) found.oldestMs = Math.max(found.oldestMs, cutMs - firstLost.atMs)
}

function cut(syncs: Syncs, images: number): Found {
  const found: Found = {
    images: 0,
    lacking: 0,
    unsound: 0,
    faults: [],
    lostKeys: 0,
    lostRows: 0,
    oldestMs: 0,
  }
  const image = join(folder, 'image')
  found.images = explore(withSyncs(calls, syncs), image, {
    random: createRandom(`${CUT_SEED}${syncs}`),
    images,
    fromMs,
    look(path, cutMs) {
      const before = { keys: found.lostKeys, faults: found.faults.length }
      try {
        lookAt(path, cutMs, found)
      } catch (error) {
        found.faults.push(messageOf(error))
      }
      found.lacking += Number(found.lostKeys > before.keys)
      found.unsound += Number(found.faults.length > before.faults)
    },
  })
  return found
}

const tell = (name: string, { faults, ...found }: Found): void =>
  void process.stderr.write(
    `${name}: ${JSON.stringify({ ...found, faults: faults.length })} ${faults.slice(0, 5).join(' | ')}\n`,
  )

describe.skipIf(Bun.which('strace') === null)('power cut', () => {
  beforeAll(trace, 300_000)

  test(
    'behavior: loses no key that was acknowledged, and leaves both files sound',
    () => {
      const found = cut('all', IMAGES)
      tell('as shipped', found)
      expect(found.images).toBeGreaterThan(IMAGES / 3)
      expect(isEnough()).toBe(true)
      expect([load.faults, found.faults, found.lostKeys]).toEqual([[], [], 0])
    },
    60_000 + IMAGES * 1000,
  )

  test('behavior: fires when not: with `synchronous=NORMAL` keys are lost', () => {
    const found = cut('normal', CONTROL_IMAGES)
    tell('NORMAL', found)
    expect(found.lostKeys).toBeGreaterThan(0)
  }, 300_000)

  test('behavior: fires when not: with `synchronous=OFF` files are damaged', () => {
    const found = cut('none', CONTROL_IMAGES)
    tell('OFF', found)
    expect(found.faults.length).toBeGreaterThan(0)
  }, 300_000)
})
