import { parseArgs } from 'node:util'

import { assertAgreement, assertSeriesAgreement } from './agreement.ts'
import { type Dataset, prepareDataset, prepareDay, sourceTitle } from './dataset.ts'
import { measureAt, measurePanel } from './in-process.ts'
import { assertTools, CONNECTIONS } from './load.ts'
import { compare, type Contestant, type Result, type Timing } from './measure.ts'
import { describeMachine, referenceNames, toFacts, toInteger, toTable } from './report.ts'
import {
  accessScenarios,
  drawPages,
  drawSeriesPages,
  type Scenario,
  scenarios,
  type SeriesScenario,
  seriesScenarios,
} from './scenarios.ts'
import {
  bookfeed,
  fastifyOnNode,
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
 *   --only <text>     scenarios whose title contains it, and no single figures
 */
const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

const snapshots = flags.quick ? 100_000 : 1_000_000
const timing: Timing = flags.quick
  ? { rounds: 1, seconds: 2, warmUpSeconds: 1 }
  : { rounds: 3, seconds: 5, warmUpSeconds: 2 }

async function runScenario(dataset: Dataset, scenario: Scenario): Promise<Result[]> {
  const pages = await drawPages(dataset, scenario)
  const pagesMax = Math.min(scenario.ceilingPages, pages.count)
  const ceiling = await startCeiling(dataset, { pathsFile: pages.pathsFile, count: pagesMax })
  const ours = { server: { command: bookfeed(dataset) }, files: [dataset.dataPath] }
  const contestants: Contestant[] = [
    { ...ours, name: 'Bookfeed, gzip', encoding: 'gzip' },
    { ...ours, name: 'Bookfeed, identity', encoding: 'identity' },
    {
      name: referenceNames.plain,
      encoding: 'identity',
      server: { command: plain(dataset) },
      files: [dataset.plainFile],
    },
    {
      name: referenceNames.fastify,
      encoding: 'identity',
      server: { command: fastifyOnNode(dataset) },
      files: [dataset.plainFile],
    },
    {
      name: referenceNames.ceiling,
      encoding: 'gzip',
      server: { running: ceiling },
      files: [],
      pagesMax,
    },
  ]
  try {
    return await compare(pages, contestants, timing)
  } finally {
    await ceiling.stop()
  }
}

/** Quotes and prices against the plain server, which opens each book for them. */
async function runSeries(dataset: Dataset, scenario: SeriesScenario): Promise<Result[]> {
  const pages = await drawSeriesPages(dataset, scenario)
  const ceiling = await startCeiling(dataset, pages)
  const ours = {
    server: { command: bookfeed(dataset, ...scenario.settings) },
    files: [dataset.dataPath],
  }
  const contestants: Contestant[] = [
    { ...ours, name: 'Bookfeed, gzip', encoding: 'gzip' },
    { ...ours, name: 'Bookfeed, identity', encoding: 'identity' },
    {
      name: referenceNames.plain,
      encoding: 'identity',
      server: { command: plain(dataset) },
      files: [dataset.plainFile],
    },
    { name: referenceNames.ceiling, encoding: 'gzip', server: { running: ceiling }, files: [] },
  ]
  try {
    return await compare(pages, contestants, timing)
  } finally {
    await ceiling.stop()
  }
}

/** What authentication, tier check, limiter, rate headers and metering take from a page. */
async function runAccess(dataset: Dataset, scenario: Scenario): Promise<Result[]> {
  const pages = await drawPages(dataset, scenario)
  const files = [dataset.dataPath]
  const encoding = 'gzip'
  return await compare(
    pages,
    [
      { name: 'with access', encoding, server: { command: bookfeed(dataset) }, files },
      { name: referenceNames.open, encoding, server: { command: openBookfeed(dataset) }, files },
    ],
    { ...timing, rounds: 2 * timing.rounds + 1 },
  )
}

async function main(): Promise<void> {
  assertTools()
  await installBaselines()
  const dataset = await prepareDataset(snapshots, { isFresh: flags.fresh })
  await assertAgreement(dataset)
  console.log(`${describeMachine()}.\n`)
  console.log(
    `${toInteger(snapshots)} snapshots: ${sourceTitle}. wrk with ${CONNECTIONS} connections on one core, the server on the other; ${timing.rounds} interleaved rounds of ${timing.seconds} s, medians. The baselines do not compress. All servers were first asked for the same pages and agreed.\n`,
  )
  for (const scenario of scenarios.filter(({ title }) => title.includes(flags.only))) {
    console.error(`measuring: ${scenario.title}`)
    console.log(`${toTable(scenario.title, await runScenario(dataset, scenario))}\n`)
  }
  for (const scenario of accessScenarios.filter(({ title }) => title.includes(flags.only))) {
    console.error(`measuring: ${scenario.title}`)
    console.log(`${toTable(scenario.title, await runAccess(dataset, scenario))}\n`)
  }
  const series = seriesScenarios.filter(({ title }) => title.includes(flags.only))
  if (series.length > 0) await assertSeriesAgreement(dataset)
  for (const scenario of series) {
    console.error(`measuring: ${scenario.title}`)
    console.log(`${toTable(scenario.title, await runSeries(dataset, scenario))}\n`)
  }
  if ('at and panel'.includes(flags.only)) {
    console.error('measuring: at and panel')
    const day = await prepareDay({ isFresh: flags.fresh })
    const facts = [...(await measureAt(dataset)), ...(await measurePanel(day))]
    console.log(`${toFacts('at and panel', facts)}\n`)
  }
  if (flags.only !== '') return
  console.error('measuring: growth, start, disk, import')
  console.log(
    `${toTable('growth, without the page cache', await measureGrowth(dataset, timing))}\n`,
  )
  const facts = [await measureStart(dataset), ...measureDisk(dataset), ...(await measureImport())]
  console.log(toFacts('single figures', facts))
}

await main()
