/**
 * `bun run drill`: Bookfeed on several machines under load, of which one part after the other is
 * killed, suspended, cut off or delayed. The judge keeps what was acknowledged, and compares it with
 * bodies of both servers and of a server of a file, plain SQL, and the chain.
 *
 * Options: `--seed drill`, `--rounds 1` (each with a world of its own), `--seconds 4` that a fault
 * lasts, `--faults server-1:kill,bucket,delay` (a part, a fault, or both; all by default).
 */
import { parseArgs } from 'node:util'

import { createRandom } from '#src/platform/random.ts'

import { judgeAll, watchStale } from '../support/scale-judge.ts'
import * as load from '../support/scale-load.ts'
import { addDrillKey, type Part, type ScaleWorld, startScaleWorld } from '../support/scale-world.ts'
import { systemClock } from '../support/venue/venue.ts'

const DELAY_MS = 10
const LOOK_MS = 200
const RESUME_MS_MAX = 120_000
const SHOWN = 10
const SETTLE_MS_MAX = 10_000

const faults = ['kill', 'suspend', 'cut', 'delay'] as const
type Fault = (typeof faults)[number]
type Case = { part: string; fault: Fault }
export type Line = {
  part: string
  fault: Fault | 'all'
  acknowledged: Record<load.Kind, number>
  /** The longest time without an acknowledgement, in milliseconds. */
  pauses: Record<load.Kind, number>
  errors: string[]
  findings: string[]
}

const engines = ['primary', 'standby', 'bucket']
const parts = [...engines, 'server-1', 'server-2', 'recorder-1', 'recorder-2']

function createParts(world: ScaleWorld, { writerLink }: load.Load): Record<string, Part> {
  const { postgres, replication, s3, facilitator, recorders } = world
  const servers = world.servers.map((server) => ({
    ...server,
    /** While it settles: the money has moved, and the server does not hear of it any more. */
    async kill(): Promise<void> {
      const before = facilitator.settles().length
      const held = server.gate.hold({ text: 'post /settle', side: 'answer' })
      const moved = held.then(() => facilitator.reached(before + 1))
      await Promise.race([moved, Bun.sleep(SETTLE_MS_MAX)])
      await server.kill()
      server.gate.open()
    },
  }))
  const primary: Part = {
    kill: postgres.killPrimary,
    restart: postgres.promote,
    suspend: postgres.hang,
    wake: postgres.wake,
    links: [...world.servers, ...recorders].flatMap(({ links }) => links.slice(0, 1)),
  }
  return {
    primary: { ...primary, links: [...primary.links, writerLink] },
    standby: {
      kill: postgres.standby.kill,
      restart: postgres.standby.start,
      suspend: postgres.standby.hang,
      wake: postgres.standby.wake,
      links: replication,
    },
    bucket: {
      kill: s3.kill,
      restart: s3.start,
      suspend: async () => s3.hang(),
      wake: async () => s3.wake(),
      links: world.servers.map(({ bucket }) => bucket),
    },
    'server-1': servers[0] as Part,
    'server-2': servers[1] as Part,
    'recorder-1': recorders[0] as Part,
    'recorder-2': recorders[1] as Part,
  }
}

/** Lets a fault happen, and resolves once it is over. */
async function happen(part: Part, fault: Fault, ms: number): Promise<void> {
  if (fault === 'kill') await part.kill()
  if (fault === 'suspend') await part.suspend()
  for (const link of part.links) {
    if (fault === 'cut') link.refuse(true)
    if (fault === 'delay') link.lag(DELAY_MS)
  }
  await Bun.sleep(ms)
  if (fault === 'kill') await part.restart()
  if (fault === 'suspend') await part.wake()
  for (const link of part.links) {
    link.refuse(false)
    link.lag(0)
  }
}

/** The kinds of which nothing was acknowledged within two minutes from now on. */
async function untilResumed({ acknowledged }: load.Load): Promise<string[]> {
  const from = acknowledged.length
  const missing = () => {
    const seen = new Set(acknowledged.slice(from).map(({ kind }) => kind))
    return load.kinds.filter((kind) => !seen.has(kind))
  }
  for (let waited = 0; missing().length > 0 && waited < RESUME_MS_MAX; waited += LOOK_MS)
    await Bun.sleep(LOOK_MS)
  return missing()
}

/** In an order that the seed determines; the primary is killed last, as nothing follows its heir. */
function chooseCases(seed: string, wanted: readonly string[]): Case[] {
  const random = createRandom(seed)
  const all = parts.flatMap((part) => faults.map((fault) => ({ part, fault })))
  const isLast = ({ part, fault }: Case) => part === 'primary' && fault === 'kill'
  const names = ({ part, fault }: Case) => [part, fault, `${part}:${fault}`]
  return all
    .filter((each) => wanted.length === 0 || names(each).some((name) => wanted.includes(name)))
    .map((each) => ({ ...each, at: isLast(each) ? 1 : random.uniform() }))
    .sort((a, b) => a.at - b.at)
}

/** What was acknowledged since a moment, and the longest pause between. */
function measure({ acknowledged }: load.Load, sinceMs: number) {
  const untilMs = performance.now()
  const of = (kind: load.Kind) =>
    acknowledged.filter((each) => each.kind === kind && each.atMs >= sinceMs)
  const pauseOf = (kind: load.Kind): number => {
    const times = [sinceMs, ...of(kind).map(({ atMs }) => atMs), untilMs]
    return Math.round(Math.max(...times.slice(1).map((ms, at) => ms - (times[at] ?? ms))))
  }
  const forEach = (figure: (kind: load.Kind) => number) =>
    Object.fromEntries(load.kinds.map((kind) => [kind, figure(kind)])) as Record<load.Kind, number>
  return { acknowledged: forEach((kind) => of(kind).length), pauses: forEach(pauseOf) }
}

/** One world, from its start to its end; the last line is that of the judge. */
export async function runRound(
  cases: readonly Case[],
  faultMs: number,
  report: (line: Line) => void,
) {
  await using stack = new AsyncDisposableStack()
  const world = await startScaleWorld(stack)
  const use = await load.startLoad(world)
  const parts = createParts(world, use)
  const missing = await untilResumed(use)
  if (missing.length > 0)
    throw new Error(`It never began: ${missing}\n${world.servers[0]?.errors()}`)
  const beganMs = performance.now()
  const sinceMs = systemClock()
  const stopWatching = watchStale(world, await addDrillKey(world), use)
  for (const { part, fault } of cases) {
    const fromMs = performance.now()
    const [errors, findings] = [use.errors.length, use.findings.length]
    await happen(parts[part] as Part, fault, faultMs)
    for (const kind of await untilResumed(use)) use.findings.push(`no ${kind} within two minutes`)
    report({
      part,
      fault,
      ...measure(use, fromMs),
      errors: use.errors.slice(errors).map(({ what, error }) => `${what}: ${error}`),
      findings: use.findings.slice(findings),
    })
  }
  await stopWatching()
  await use.stop()
  const seen = use.findings.length
  const measured = measure(use, beganMs)
  const hasKilledServer = cases.some(
    (each) => each.fault === 'kill' && each.part.startsWith('server'),
  )
  const judged = await judgeAll(world, use, { sinceMs, hasKilledServer })
  const findings = [...use.findings.slice(seen), ...judged]
  report({ part: 'judge', fault: 'all', ...measured, errors: [], findings })
}

const printTable = (lines: readonly Line[]): string =>
  Bun.inspect.table(
    lines.map(({ part, fault, acknowledged, pauses, errors, findings }) => ({
      part,
      fault,
      ...Object.fromEntries(
        load.kinds.map((kind) => [`${kind}s, pause`, `${acknowledged[kind]}, ${pauses[kind]} ms`]),
      ),
      errors: errors.length,
      findings: findings.length,
    })),
  )

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: 'drill' },
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '4' },
      faults: { type: 'string', default: '' },
    },
  })
  const wanted = values.faults.split(',').filter(Boolean)
  const lines: Line[] = []
  for (let round = 1; round <= Number(values.rounds); round++) {
    const seed = `${values.seed}${round}`
    await runRound(chooseCases(seed, wanted), Number(values.seconds) * 1000, (line) => {
      lines.push(line)
      const { part, fault, findings, errors } = line
      process.stderr.write(
        `${part} ${fault}: ${errors.length} errors, ${findings.length} findings\n`,
      )
      for (const finding of findings.slice(0, SHOWN)) process.stderr.write(`  ${finding}\n`)
    })
  }
  process.stdout.write(printTable(lines))
  process.exitCode = lines.some(({ findings }) => findings.length > 0) ? 1 : 0
}
