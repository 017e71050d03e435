import { parseArgs } from 'node:util'

import { assertAgreement, assertSeriesAgreement } from './agreement.ts'
import { type Dataset, prepareDataset, prepareDay, sourceTitle } from './dataset.ts'
import { measureAt, measurePanel } from './in-process.ts'
import { assertTools, CONNECTIONS } from './load.ts'
import { compare, type Contestant, type Result, type Timing } from './measure.ts'
import {
  describeMachine,
  referenceNames,
  toFacts,
  toInteger,
  toSummary,
  toTable,
} from './report.ts'
import {
  accessScenarios,
  callerScenarios,
  drawPages,
  drawSeriesPages,
  type Pages,
  type Scenario,
  scenarios,
  type SeriesScenario,
  seriesScenarios,
} from './scenarios.ts'
import {
  bookfeed,
  fastifyOnNode,
  hello,
  installBaselines,
  openBookfeed,
  plain,
  startCeiling,
} from './servers.ts'
import { measureDisk, measureGrowth, measureImport, measureStart } from './single-figures.ts'

/**
 * `bun run bench`: prints figures as Markdown, progress goes to standard error.
 *
 *   --quick           a tenth of the data and short rounds: shows that the benches run, no more
 *   --fresh           builds our history again (after a change of the store's format)
 *   --only <text>     scenarios whose title contains it; `growth`, `single figures`
 *   --grow-to <n>     snapshots of the large store of `growth`: 1,000,000, up to 6,000,000
 *   --warm-up <s>     seconds of load before what is measured, in each fresh process: 2
 */
const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    'grow-to': { type: 'string' },
    'warm-up': { type: 'string' },
  },
})

const snapshots = flags.quick ? 100_000 : 1_000_000
const timing: Timing = flags.quick
  ? { rounds: 1, seconds: 2, warmUpSeconds: Number(flags['warm-up'] ?? 1) }
  : { rounds: 3, seconds: 5, warmUpSeconds: Number(flags['warm-up'] ?? 2) }

/** Contestants that answer the pages, each with what it reads from disk. */
const contestantsOf = (dataset: Dataset, pages: Pages, ...settings: string[]) => {
  const ours = [dataset.dataPath]
  const theirs = [dataset.plainFile]
  const server = { command: bookfeed(dataset, ...settings) }
  return {
    gzip: { name: 'Bookfeed, gzip', encoding: 'gzip', server, files: ours, pages },
    identity: { name: 'Bookfeed, identity', encoding: 'identity', server, files: ours, pages },
    plain: {
      name: referenceNames.plain,
      encoding: 'identity',
      server: { command: plain(dataset) },
      files: theirs,
      pages,
    },
    fastify: {
      name: referenceNames.fastify,
      encoding: 'identity',
      server: { command: fastifyOnNode(dataset) },
      files: theirs,
      pages,
    },
    hello: {
      name: referenceNames.hello,
      encoding: 'gzip',
      server: { command: hello },
      files: [],
      pages,
    },
  } satisfies Record<string, Contestant>
}

/** Beside a ceiling that holds the first of the pages. */
async function compareWithCeiling(
  dataset: Dataset,
  pages: Pages,
  contestants: readonly Contestant[],
): Promise<Result[]> {
  const pagesMax = Math.min(pages.ceilingPages, pages.count)
  const ceiling = await startCeiling(dataset, { pathsFile: pages.pathsFile, count: pagesMax })
  const server = { running: ceiling }
  const name = referenceNames.ceiling
  try {
    return await compare(
      [...contestants, { name, encoding: 'gzip', server, files: [], pages, pagesMax }],
      timing,
    )
  } finally {
    await ceiling.stop()
  }
}

async function runScenario(dataset: Dataset, scenario: Scenario): Promise<Result[]> {
  const pages = await drawPages(dataset, scenario)
  const of = contestantsOf(dataset, pages)
  // Without compression, and beside Fastify, once for each length: the others are for the ratios.
  const isWhole = !scenario.isRepeated && scenario.query.outcome === undefined
  const contestants = isWhole ? [of.gzip, of.identity, of.plain, of.fastify] : [of.gzip, of.plain]
  return await compareWithCeiling(dataset, pages, contestants)
}

/** Quotes and prices against the plain server, which opens each book for them. */
async function runSeries(dataset: Dataset, scenario: SeriesScenario): Promise<Result[]> {
  const pages = await drawSeriesPages(dataset, scenario)
  const of = contestantsOf(dataset, pages, ...scenario.settings)
  return await compareWithCeiling(dataset, pages, [of.gzip, of.identity, of.plain])
}

/** One caller, beside the least that this runtime takes. */
async function runCaller(dataset: Dataset, scenario: Scenario): Promise<Result[]> {
  const of = contestantsOf(dataset, await drawPages(dataset, scenario))
  return await compare([of.gzip, of.hello], timing)
}

/** What authentication, tier check, limiter, rate headers and metering take from a page. */
async function runAccess(dataset: Dataset, scenario: Scenario): Promise<Result[]> {
  const { gzip } = contestantsOf(dataset, await drawPages(dataset, scenario))
  const open = {
    ...gzip,
    name: referenceNames.open,
    server: { command: openBookfeed(dataset) },
  }
  return await compare([{ ...gzip, name: 'with access' }, open], {
    ...timing,
    rounds: 2 * timing.rounds + 1,
  })
}

async function main(): Promise<void> {
  assertTools()
  await installBaselines()
  const dataset = await prepareDataset(snapshots, { isFresh: flags.fresh })
  await assertAgreement(dataset)
  console.log(`${describeMachine()}.\n`)
  console.log(
    `${toInteger(snapshots)} snapshots: ${sourceTitle}. wrk with ${CONNECTIONS} connections unless said; every page is drawn at random over all rows; ${timing.rounds} interleaved rounds of ${timing.seconds} s, medians. The baselines do not compress. All servers were first asked for the same pages and agreed.\n`,
  )
  const isMeant = ({ title }: { title: string }) => title.includes(flags.only)
  const runAll = async <Kind extends { title: string }>(
    list: readonly Kind[],
    run: (dataset: Dataset, scenario: Kind) => Promise<Result[]>,
  ) => {
    const measured: { title: string; results: Result[] }[] = []
    for (const scenario of list.filter(isMeant)) {
      console.error(`measuring: ${scenario.title}`)
      const results = await run(dataset, scenario)
      measured.push({ title: scenario.title, results })
      console.log(`${toTable(scenario.title, results)}\n`)
    }
    return measured
  }
  const pages = await runAll(scenarios, runScenario)
  if (pages.length > 0) console.log(`${toSummary(pages)}\n`)
  await runAll(callerScenarios, runCaller)
  await runAll(accessScenarios, runAccess)
  if (seriesScenarios.some(isMeant)) await assertSeriesAgreement(dataset)
  await runAll(seriesScenarios, runSeries)
  if (isMeant({ title: 'at and panel' })) {
    console.error('measuring: at and panel')
    const day = await prepareDay({ isFresh: flags.fresh })
    const facts = [...(await measureAt(dataset)), ...(await measurePanel(day))]
    console.log(`${toFacts('at and panel', facts)}\n`)
  }
  if (isMeant({ title: 'growth' })) {
    console.error('measuring: growth')
    const growth = await measureGrowth(Number(flags['grow-to'] ?? snapshots), timing)
    console.log(`${toTable('growth, random over all rows, without the page cache', growth)}\n`)
  }
  if (isMeant({ title: 'single figures' })) {
    console.error('measuring: single figures')
    const facts = [
      ...(await measureStart(dataset)),
      ...measureDisk(dataset),
      ...(await measureImport()),
    ]
    console.log(toFacts('single figures', facts))
  }
}

await main()
