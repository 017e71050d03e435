/**
 * `bun test/bench/workers.ts`: pages served before by two workers beside one, each with half of a
 * core, so that the load and the system have the rest of both. Prints Markdown.
 *
 *   --rounds <n>     3 by default; --seconds <n> of a round, 5 by default
 *   --warm-up <n>    seconds of load before, 20 by default
 *   --snapshots <n>  100000 by default
 */
import { parseArgs } from 'node:util'

import { prepareOurData, sourceTitle } from './dataset.ts'
import { assertTools, rateOf, runLoad } from './load.ts'
import { median } from './measure.ts'
import { describeMachine, toFacts, toInteger } from './report.ts'
import { drawPages, toScenario } from './scenarios.ts'
import { startServer } from './server-process.ts'
import { bookfeed } from './servers.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '20' },
    snapshots: { type: 'string', default: '100000' },
  },
})
const [seconds, warmUpSeconds] = [Number(flags.seconds), Number(flags['warm-up'])]
const [rounds, snapshots] = [Number(flags.rounds), Number(flags.snapshots)]
const SHARE_OF_CORE = 0.5
/** Of each load: the system spreads connections over workers by chance. */
const CONNECTIONS = 64

async function main(): Promise<void> {
  assertTools()
  const ours = await prepareOurData(snapshots, { isFresh: false })
  const scenario = toScenario('two workers', { limit: 100, isRepeated: true }, 31)
  const { pathsFile } = await drawPages(ours, scenario)

  async function measure(workers: number): Promise<number> {
    const command = bookfeed(ours, `BOOKFEED_WORKERS=${workers}`)
    const share = SHARE_OF_CORE * workers
    const server = await startServer({ command, core: 'any', share, readyPath: '/healthz' })
    const load = { server, pathsFile, skip: 0, encoding: 'gzip', connections: CONNECTIONS } as const
    const rate = async (ofSeconds: number): Promise<number> => {
      const runs = [0, 1].map((core) => runLoad({ ...load, core, seconds: ofSeconds }))
      return rateOf(await Promise.all(runs))
    }
    await rate(warmUpSeconds)
    const rates = await rate(seconds)
    await server.stop()
    return rates
  }

  const found: { one: number; two: number }[] = []
  for (let round = 0; round < rounds; round++)
    found.push({ one: await measure(1), two: await measure(2) })
  const [one, two] = [median(found.map((each) => each.one)), median(found.map((each) => each.two))]
  const times = median(found.map((each) => each.two / each.one))
  console.log(`${describeMachine()}.\n`)
  console.log(`${toInteger(snapshots)} snapshots: ${sourceTitle}.\n`)
  console.log(
    toFacts('two workers beside one, page of 100, served before', [
      ['one worker', `${toInteger(one)} req/s`],
      ['two workers', `${toInteger(two)} req/s: ${times.toFixed(2)} times`],
    ]),
  )
}

await main()
