/**
 * Bookfeed on several machines, in small: two recorders of a venue and two servers that sell, on
 * one PostgreSQL with a synchronous standby, one Redis, one bucket and one chain. Each program is a
 * process that can be killed.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startLittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'

import { fillAnswers } from './answers.ts'
import { startPostgres } from './engines/postgres.ts'
import { startRedis } from './engines/redis.ts'
import { startS3 } from './engines/s3.ts'
import { startGate } from './gate.ts'
import { addKey } from './harness.ts'
import { type KillableServer, startKillableServer } from './killable-server.ts'
import { bookfeed } from './program.ts'
import { openProxy } from './proxy-thread.ts'
import { recordingEnv } from './recording-env.ts'
import { runCommand } from './run-command.ts'
import { startScriptedFacilitator } from './scripted-facilitator.ts'
import { generatedPlaybook } from './venue/generated.ts'
import { startVenue, systemClock, type Venue } from './venue/venue.ts'

const SERVERS = 2
const STEPS_PER_SECOND = 20

export type ScaleWorld = Awaited<ReturnType<typeof startScaleWorld>>
export type ScaleServer = Awaited<ReturnType<typeof startServer>>

/** Of everything that the drills read, without a limit that they could reach. */
export const unlimited: Tier = {
  ...{ tierId: 'drill', name: 'Drill', rank: 98, isForSale: false, requestsPerMinute: 1_000_000 },
  ...{ coins: ['btc'], routes: ['markets', 'snapshots'] },
}

/** `stack`: ends all of it. */
export async function startScaleWorld(stack: AsyncDisposableStack) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-scale-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const engines = await startEngines(stack)
  const { postgres, redis, s3, chain, facilitator, databaseUrl } = engines
  const common = {
    ...{ BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off', BOOKFEED_SAMPLE: 'off' },
    ...{ BOOKFEED_HISTORY: databaseUrl, BOOKFEED_LEDGER: databaseUrl },
    ...{ BOOKFEED_LIMITS: redis.url, BOOKFEED_ARCHIVE: `s3://${s3.bucket}/drill`, ...s3.env },
    ...{ BOOKFEED_RPC_URL: chain.url, BOOKFEED_PAY_TO: chain.payee.address },
  }
  const homeOf = (name: string): string => {
    const path = join(folder, name)
    mkdirSync(path)
    return path
  }
  const run = (...words: string[]) =>
    runCommand({ ...common, BOOKFEED_DATA: join(folder, 'commands') }, ...words)
  homeOf('commands')
  const [hot, cold] = await archiveOldMarkets(postgres.url, run)
  const venue = stack.use(
    await startVenue({
      playbook: generatedPlaybook({
        ...{ seed: 'drill', startMs: systemClock(), stepsPerSecond: STEPS_PER_SECOND },
      }),
      pace: { by: 'clock', clock: systemClock },
    }),
  )
  const recorders = ['recorder-1', 'recorder-2'].map((name) => {
    const recorder = startRecorder(venue, { home: homeOf(name), databaseUrl })
    stack.defer(() => recorder.kill())
    return recorder
  })
  const servers: ScaleServer[] = []
  for (let number = 1; number <= SERVERS; number++) {
    const home = homeOf(`server-${number}`)
    const server = await startServer(facilitator.url, { ...common, BOOKFEED_DATA: home })
    stack.defer(() => server.stop())
    servers.push(server)
  }
  return { ...engines, run, venue, recorders, servers, hot, cold }
}

async function startEngines(stack: AsyncDisposableStack) {
  const [postgres, redis, s3, chain] = await Promise.all([
    ...([startPostgres(), startRedis(), startS3()] as const),
    startLittlePolygon({ slotsInAnEpoch: 0 }),
  ])
  for (const engine of [postgres, redis, s3]) stack.use(engine)
  stack.defer(() => chain.stop())
  const facilitator = await startScriptedFacilitator({
    ...{ rpcUrl: chain.url, key: chain.facilitator.key },
  })
  stack.defer(() => facilitator.stop())
  const proxy = openProxy(portOf(postgres.url))
  stack.defer(proxy.stop)
  const address = new URL(postgres.url)
  address.port = String(proxy.port)
  return { postgres, redis, s3, chain, facilitator, proxy, databaseUrl: address.href }
}

export const portOf = (url: string): number => Number(new URL(url).port)

type Run = (...words: string[]) => ReturnType<typeof runCommand>

/** Two markets whose books are in the bucket alone. */
async function archiveOldMarkets(url: string, run: Run): Promise<[hot: string, cold: string]> {
  const history = openHistory(url)
  fillAnswers(history)
  const [, hot, cold] = history.listMarkets({ coin: 'btc', limit: 3, order: 'asc' })
  history.dispose()
  const { exitCode, errors } = await run('archive', '--days', '0')
  if (exitCode !== 0 || !hot || !cold) throw new Error(`Nothing was archived: ${errors}`)
  return [hot.conditionId, cold.conditionId]
}

type RecorderPlace = { home: string; databaseUrl: string }

function startRecorder(venue: Venue, { home, databaseUrl }: RecorderPlace) {
  const child = Bun.spawn(bookfeed('record'), {
    env: { ...recordingEnv(home, venue), BOOKFEED_HISTORY: databaseUrl },
    ...{ stdout: 'ignore', stderr: 'pipe' },
  })
  return {
    /** All that it wrote, once it is gone. */
    errors: new Response(child.stderr).text(),
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** A server that can be killed and started again, with a gate before its facilitator. */
async function startServer(facilitatorUrl: string, env: Record<string, string>) {
  const gate = await startGate(facilitatorUrl)
  const start = () => startKillableServer({ ...env, BOOKFEED_FACILITATOR: gate.url })
  let life: KillableServer | undefined = await start()
  const lives = [life]
  const kill = async (): Promise<void> => {
    const ending = life
    life = undefined
    await ending?.kill()
  }
  return {
    gate,
    kill,
    /** Undefined while it is dead; another after each start. */
    life: () => life,
    /** What it wrote in all its lives. */
    errors: () => lives.map(({ errors }) => errors()).join(''),
    async restart(): Promise<void> {
      life = await start()
      lives.push(life)
    },
    async stop(): Promise<void> {
      await kill()
      await gate.stop()
    },
  }
}

/** Opens the ledger from outside for one thing; a connection would not outlive the primary. */
export function withLedger<T>(
  { postgres }: Pick<ScaleWorld, 'postgres'>,
  act: (ledger: ReturnType<typeof openLedger>) => T,
): T {
  using ledger = openLedger(postgres.url, { nowMs: systemClock() })
  return act(ledger)
}

/** A key that nothing limits. */
export const addDrillKey = (world: Pick<ScaleWorld, 'postgres'>): string =>
  withLedger(world, (ledger) => addKey(ledger, unlimited))
