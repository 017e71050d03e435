/**
 * Bookfeed on several machines, in small: two recorders of a venue and two selling servers, on one
 * PostgreSQL with a synchronous standby, one bucket and one chain. Each program is a process that
 * can be killed and suspended, and whose connections can be cut and delayed.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { RecorderStatus } from '#src/server/recorder-status.ts'

import { fillAnswers } from './answers.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { startPostgres } from './engines/postgres.ts'
import { startS3 } from './engines/s3.ts'
import { startGate } from './gate.ts'
import { makeKey } from './harness.ts'
import { type KillableServer, startKillableServer } from './killable-server.ts'
import { bookfeed } from './program.ts'
import { openProxy } from './proxy-thread.ts'
import { recordingEnv } from './recording-env.ts'
import { runCommand } from './run-command.ts'
import { startScriptedFacilitator } from './scripted-facilitator.ts'
import { openHistoryIn, openLedgerIn } from './stores.ts'
import { generatedPlaybook } from './venue/generated.ts'
import { startVenue, systemClock, type Venue } from './venue/venue.ts'

const SERVERS = 2
const STEPS_PER_SECOND = 20
const LOOK_MS = 100
const RECORDING_MS_MAX = 180_000

export type ScaleWorld = Awaited<ReturnType<typeof startScaleWorld>>
export type ScaleServer = Awaited<ReturnType<typeof startServer>>
type Engines = Awaited<ReturnType<typeof startEngines>>

/** A program of the world and its possible faults. */
export type Part = {
  kill(): Promise<unknown>
  /** Restarts after `kill`. */
  restart(): Promise<unknown>
  suspend(): Promise<unknown>
  wake(): Promise<unknown>
  /** Its connections to the other programs, which can be cut and delayed. */
  links: readonly Link[]
}
export type Link = {
  /** Ends its connections, and permits none until it is false. */
  refuse(isSo: boolean): unknown
  /** Delays everything from now on. */
  lag(ms: number): unknown
}
type Proxy = Awaited<ReturnType<typeof startCuttingProxy>>

/** Includes all data of the drills, without reachable limits. */
const unlimited: Tier = {
  tierId: 'drill',
  name: 'Drill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets', 'snapshots', 'quotes', 'prices'],
}

/** Starts the world; `stack` ends all of it. */
export async function startScaleWorld(stack: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-scale-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const engines = await startEngines(stack)
  const { postgres, s3 } = engines
  const homeOf = (name: string): string => {
    const path = join(folder, name)
    mkdirSync(path)
    return path
  }
  const run = (...words: string[]) =>
    runCommand(
      {
        BOOKFEED_DATA: join(folder, 'commands'),
        BOOKFEED_HISTORY: postgres.url,
        BOOKFEED_LEDGER: postgres.url,
        BOOKFEED_ARCHIVE: `s3://${s3.bucket}/drill`,
        ...s3.env,
      },
      ...words,
    )
  homeOf('commands')
  const [hot, cold] = await archiveOldMarkets(postgres.url, run)
  const venue = stack.use(
    await startVenue({
      playbook: generatedPlaybook({
        seed: 'drill',
        startMs: systemClock(),
        stepsPerSecond: STEPS_PER_SECOND,
      }),
      pace: { by: 'clock', clock: systemClock },
    }),
  )
  const recorders: Awaited<ReturnType<typeof startRecorder>>[] = []
  for (const name of ['recorder-1', 'recorder-2']) {
    const recorder = await startRecorder(venue, homeOf(name), engines)
    stack.defer(recorder.kill)
    recorders.push(recorder)
  }
  const servers: ScaleServer[] = []
  for (let number = 1; number <= SERVERS; number++) {
    const server = await startServer(homeOf(`server-${number}`), engines)
    stack.defer(server.end)
    servers.push(server)
  }
  const fileServerEnv = {
    BOOKFEED_DATA: join(folder, 'file'),
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_ARCHIVE: `s3://${s3.bucket}/drill`,
    ...s3.env,
  }
  return { ...engines, run, venue, recorders, servers, hot, cold, fileServerEnv }
}

async function startEngines(stack: AsyncDisposableStack) {
  const replication: Link[] = []
  const linkTo = async (port: number | (() => number)): Promise<Proxy> => {
    const link = await startCuttingProxy(port)
    stack.defer(link.stop)
    return link
  }
  const [postgres, s3, chain] = await Promise.all([
    startPostgres({
      async linkTo(port) {
        // In a thread, because commits block this one when the ledger is opened from outside.
        const link = openProxy(port)
        stack.defer(link.stop)
        replication.push(link)
        return link.port
      },
    }),
    startS3(),
    startLittlePolygon({ slotsInAnEpoch: 0 }),
  ])
  for (const engine of [postgres, s3]) stack.use(engine)
  stack.defer(() => chain.stop())
  const facilitator = await startScriptedFacilitator({
    rpcUrl: chain.url,
    key: chain.facilitator.key,
  })
  stack.defer(() => facilitator.stop())
  return { postgres, replication, s3, chain, facilitator, linkTo }
}

/** The address of a proxy in front of the same server. */
const behind = ({ origin }: Proxy, address: string): string => {
  const url = new URL(address)
  url.port = new URL(origin).port
  return url.href
}

export const portOf = (url: string): number => Number(new URL(url).port)

type Run = (...words: string[]) => ReturnType<typeof runCommand>

/** Archives the books of two markets completely. */
async function archiveOldMarkets(url: string, run: Run): Promise<[hot: string, cold: string]> {
  const history = await openHistoryIn(url)
  await fillAnswers(history)
  const [, hot, cold] = history.listMarkets({ coin: 'btc', limit: 3, order: 'asc' })
  history.dispose()
  const { exitCode, errors } = await run('archive', '--days', '0')
  if (exitCode !== 0 || !hot || !cold) throw new Error(`Nothing was archived: ${errors}`)
  return [hot.conditionId, cold.conditionId]
}

async function startRecorder(venue: Venue, home: string, { postgres, s3, linkTo }: Engines) {
  const link = await linkTo(() => portOf(postgres.url))
  const start = () =>
    Bun.spawn(bookfeed('record'), {
      env: {
        ...recordingEnv(home, venue),
        ...s3.env,
        BOOKFEED_HISTORY: behind(link, postgres.url),
      },
      stdout: 'ignore',
      stderr: 'ignore',
    })
  let child = start()
  const statusPath = join(home, 'recorder.json')

  /** True if it has the books of all markets; its status file is incomplete during a write. */
  function isRecording(): boolean {
    try {
      const { markets } = JSON.parse(readFileSync(statusPath, 'utf8')) as Pick<
        RecorderStatus,
        'markets'
      >
      return markets.length > 0 && markets.every(({ unknown }) => unknown.length === 0)
    } catch {
      return false
    }
  }

  return {
    links: [link],
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await child.exited
      rmSync(statusPath, { force: true })
    },
    /** Resolves when it records: before that, killing the other one would leave a gap. */
    async restart(): Promise<void> {
      child = start()
      for (let waited = 0; !isRecording(); waited += LOOK_MS) {
        if (waited > RECORDING_MS_MAX) throw new Error('A recorder never began to record.')
        await Bun.sleep(LOOK_MS)
      }
    },
    suspend: async () => child.kill('SIGSTOP'),
    wake: async () => child.kill('SIGCONT'),
  }
}

/** A server that can be killed and restarted, with a gate before its facilitator. */
async function startServer(home: string, engines: Engines) {
  const { postgres, s3, chain, facilitator, linkTo } = engines
  const gate = await startGate(facilitator.url)
  const database = await linkTo(() => portOf(postgres.url))
  const bucket = await linkTo(portOf(s3.client.endpoint))
  const start = () =>
    startKillableServer({
      BOOKFEED_DATA: home,
      BOOKFEED_PORT: '0',
      BOOKFEED_LOG: 'off',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_DRAIN_SECONDS: '0',
      BOOKFEED_HISTORY: behind(database, postgres.url),
      BOOKFEED_LEDGER: behind(database, postgres.url),
      BOOKFEED_ARCHIVE: `s3://${s3.bucket}/drill`,
      ...s3.env,
      S3_ENDPOINT: bucket.origin,
      BOOKFEED_RPC_URL: chain.url,
      BOOKFEED_PAY_TO: chain.payee.address,
      BOOKFEED_FACILITATOR: gate.url,
    })
  let life: KillableServer | undefined = await start()
  const lives = [life]
  let isSuspended = false
  const kill = async (): Promise<void> => {
    const ending = life
    life = undefined
    isSuspended = false
    await ending?.kill()
  }
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    if (life !== undefined) process.kill(life.pid, name)
  }
  return {
    gate,
    kill,
    links: [database, bucket],
    bucket,
    /** Undefined while it is dead; a new one after each start. */
    life: () => life,
    isSuspended: () => isSuspended,
    /** Standard error of the process and its restarts. */
    errors: () => lives.map(({ errors }) => errors()).join(''),
    async restart(): Promise<void> {
      life = await start()
      lives.push(life)
    },
    async suspend(): Promise<void> {
      isSuspended = true
      await signal('SIGSTOP')
    },
    async wake(): Promise<void> {
      await signal('SIGCONT')
      isSuspended = false
    },
    /** Stops in order; resolves with its exit code. */
    async stop(): Promise<number | undefined> {
      const ending = life
      life = undefined
      if (ending !== undefined) process.kill(ending.pid, 'SIGTERM')
      return await ending?.ended
    },
    async end(): Promise<void> {
      await kill()
      await gate.stop()
    },
  }
}

/** Opens the ledger from outside for one action; a connection would not outlive the primary. */
export async function withLedger<T>(
  { postgres }: Pick<ScaleWorld, 'postgres'>,
  act: (ledger: Ledger) => T | Promise<T>,
): Promise<T> {
  using ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
  return await act(ledger)
}

/** A key without limits. */
export const addDrillKey = (world: Pick<ScaleWorld, 'postgres'>): Promise<string> =>
  withLedger(world, (ledger) => makeKey(ledger, unlimited))
