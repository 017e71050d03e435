/**
 * `ENGINES` names the engines that tests use, separated by commas: `sqlite`, `postgres`, `bucket`,
 * or `all`, the default. Tests of the others are reported as skipped, and their engines are neither
 * installed nor started.
 */

const engines = ['sqlite', 'postgres', 'bucket'] as const
export type Engine = (typeof engines)[number]

export function readEngines(text = 'all'): ReadonlySet<Engine> {
  if (text === 'all') return new Set(engines)
  const names = text.split(',')
  const unknown = names.find((name) => !engines.some((engine) => engine === name))
  if (unknown !== undefined) {
    throw new Error(`ENGINES=${text}: "${unknown}" is none of ${engines.join(', ')}, all.`)
  }
  return new Set(engines.filter((engine) => names.includes(engine)))
}

// biome-ignore lint/style/noProcessEnv: which tests are run is not for the product's settings.
const chosen = readEngines(process.env.ENGINES)

export const isChosen = (engine: Engine): boolean => chosen.has(engine)

/** The engines without tests in this run. */
export const skippedEngines: readonly Engine[] = engines.filter((engine) => !chosen.has(engine))
