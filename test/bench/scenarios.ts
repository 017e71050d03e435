import { join } from 'node:path'

import { benchFolder, type Dataset } from './dataset.ts'
import { drawPaths, drawSeries, type PathQuery } from './request-paths.ts'

/** One kind of request, and how many of them. */
export type Scenario = {
  title: string
  query: PathQuery
  /** False: no page is asked for twice of one process, the warm-up included. */
  isRepeated: boolean
  /** Pages that the ceiling holds in memory: some hundred megabytes at most. */
  ceilingPages: number
}

/** The pages of a scenario, drawn. */
export type Pages = Pick<Scenario, 'isRepeated' | 'ceilingPages'> & {
  pathsFile: string
  count: number
  /** Pages at the start of the file that are for the warm-up. */
  skip: number
}

/** More than a process answers in the seconds of a round. */
const NEW_PAGES_OF_100 = 400_000
const NEW_PAGES_OF_1000 = 100_000
const REPEATED_PAGES = 500
/** The first part of new pages goes into the warm-up. */
const WARM_UP_SHARE = 0.25

export const scenarios: readonly Scenario[] = [
  {
    title: 'page of 100, never served before',
    query: { limit: 100, count: NEW_PAGES_OF_100, seed: 1 },
    isRepeated: false,
    ceilingPages: 20_000,
  },
  {
    title: 'page of 100, half with an outcome, never served before',
    query: { limit: 100, count: NEW_PAGES_OF_100, hasOutcome: true, seed: 2 },
    isRepeated: false,
    ceilingPages: 20_000,
  },
  {
    title: 'page of 1000, never served before',
    query: { limit: 1000, count: NEW_PAGES_OF_1000, seed: 3 },
    isRepeated: false,
    ceilingPages: 2_000,
  },
  {
    title: 'page of 100, served before',
    query: { limit: 100, count: REPEATED_PAGES, seed: 4 },
    isRepeated: true,
    ceilingPages: REPEATED_PAGES,
  },
  {
    title: 'page of 1000, served before',
    query: { limit: 1000, count: REPEATED_PAGES, seed: 5 },
    isRepeated: true,
    ceilingPages: REPEATED_PAGES,
  },
]

/** Where what stands before every page shows most: small pages. */
export const accessScenarios: readonly Scenario[] = [
  {
    title: 'access: page of 100, never served before',
    query: { limit: 100, count: NEW_PAGES_OF_100, seed: 9 },
    isRepeated: false,
    ceilingPages: 0,
  },
  {
    title: 'access: page of 100, served before',
    query: { limit: 100, count: REPEATED_PAGES, seed: 10 },
    isRepeated: true,
    ceilingPages: 0,
  },
]

/**
 * Whole markets, all changes of each in one answer, again and again; `settings` are our server's.
 */
export const seriesScenarios = (['quotes', 'prices'] as const).flatMap((route) => [
  {
    title: `${route} of a whole market, made at each request`,
    route,
    settings: ['BOOKFEED_PAGE_CACHE_MB=0'],
  },
  { title: `${route} of a whole market, asked for before`, route, settings: [] },
])
export type SeriesScenario = (typeof seriesScenarios)[number]

/** Draws the pages of a series into a file. */
export async function drawSeriesPages(
  { plainFile }: Dataset,
  { route }: SeriesScenario,
): Promise<Pages> {
  const paths = drawSeries(plainFile, route)
  const pathsFile = join(benchFolder, `paths-${route}.txt`)
  await Bun.write(pathsFile, `${paths.join('\n')}\n`)
  const count = paths.length
  return { isRepeated: true, ceilingPages: count, pathsFile, count, skip: 0 }
}

/** Draws the pages of a scenario into a file. */
export async function drawPages({ plainFile }: Dataset, scenario: Scenario): Promise<Pages> {
  const paths = drawPaths(plainFile, scenario.query)
  const pathsFile = join(benchFolder, `paths-${scenario.query.seed}.txt`)
  await Bun.write(pathsFile, `${paths.join('\n')}\n`)
  const skip = scenario.isRepeated ? 0 : Math.floor(paths.length * WARM_UP_SHARE)
  return { ...scenario, pathsFile, count: paths.length, skip }
}
