import { join } from 'node:path'

import { benchFolder, type OurData } from './dataset.ts'
import { drawPaths, drawSeries, type PathQuery } from './request-paths.ts'

/** One kind of request, and how many of them. */
export type Scenario = {
  title: string
  query: PathQuery
  /** False: no page is asked for twice of one process, the warm-up included. */
  isRepeated: boolean
  /** Pages that the ceiling holds in memory: some hundred megabytes at most. */
  ceilingPages: number
  /** Of the load, 16 when absent. */
  connections?: number | undefined
}

/** The pages of a scenario, drawn. */
export type Pages = Pick<Scenario, 'isRepeated' | 'ceilingPages' | 'connections'> & {
  pathsFile: string
  count: number
  /** Pages at the start of the file that are for the warm-up. */
  skip: number
}

const REPEATED_PAGES = 500
/** More than a process answers in the seconds of a round, and some hundred megabytes. */
const newPages = {
  100: { count: 400_000, ceiling: 20_000 },
  1000: { count: 100_000, ceiling: 2_000 },
}
/** The first part of new pages goes into the warm-up. */
const WARM_UP_SHARE = 0.25

type Kind = { limit: 100 | 1000; outcome?: 'all'; isRepeated: boolean }

/** Pages drawn with a seed of their own. */
export const toScenario = (
  title: string,
  { limit, outcome, isRepeated }: Kind,
  seed: number,
): Scenario => ({
  title,
  query: { limit, outcome, count: isRepeated ? REPEATED_PAGES : newPages[limit].count, seed },
  isRepeated,
  ceilingPages: isRepeated ? REPEATED_PAGES : newPages[limit].ceiling,
})

const served = (isRepeated: boolean) => (isRepeated ? 'served before' : 'never served')

export const scenarios: readonly Scenario[] = ([100, 1000] as const).flatMap((limit) =>
  ([undefined, 'all'] as const).flatMap((outcome) =>
    [false, true].map((isRepeated) => {
      const rows = outcome ? 'one outcome of both' : 'both outcomes'
      const title = `page of ${limit}, ${rows}, ${served(isRepeated)}`
      const seed = limit + (outcome ? 2 : 0) + (isRepeated ? 1 : 0)
      return toScenario(title, { limit, isRepeated, ...(outcome && { outcome }) }, seed)
    }),
  ),
)

/** What a single caller waits who sends one request after the other. */
export const callerScenarios: readonly Scenario[] = [false, true].map((isRepeated, seed) => {
  const title = `one connection: page of 100, ${served(isRepeated)}`
  return { ...toScenario(title, { limit: 100, isRepeated }, 12 + seed), connections: 1 }
})

/** Where what stands before every page shows most: small pages. */
export const accessScenarios: readonly Scenario[] = [false, true].map((isRepeated, seed) =>
  toScenario(`access: page of 100, ${served(isRepeated)}`, { limit: 100, isRepeated }, 9 + seed),
)

/** Random pages over all rows of a store, whatever its size. */
export const growthScenario = toScenario('growth', { limit: 100, isRepeated: false }, 6)

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
export async function drawSeriesPages(ours: OurData, { route }: SeriesScenario): Promise<Pages> {
  const paths = drawSeries(ours, route)
  const pathsFile = join(benchFolder, `paths-${route}.txt`)
  await Bun.write(pathsFile, `${paths.join('\n')}\n`)
  const count = paths.length
  return { isRepeated: true, ceilingPages: count, pathsFile, count, skip: 0 }
}

/** Draws the pages of a scenario into a file. */
export async function drawPages(ours: OurData, scenario: Scenario): Promise<Pages> {
  const paths = drawPaths(ours, scenario.query)
  const pathsFile = join(benchFolder, `paths-${ours.snapshots}-${scenario.query.seed}.txt`)
  await Bun.write(pathsFile, `${paths.join('\n')}\n`)
  const skip = scenario.isRepeated ? 0 : Math.floor(paths.length * WARM_UP_SHARE)
  return { ...scenario, pathsFile, count: paths.length, skip }
}
