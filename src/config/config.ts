/** The configuration, read only from `BOOKFEED_*` environment variables. */

import { Fault } from '#src/platform/fault.ts'
import { nearestName } from '#src/platform/nearest.ts'

import { type ConfigVariable, type Variables, variables } from './variables.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The values of variables, as returned by their `parse`. */
export type Settings<T extends Variables> = Readonly<{
  [K in keyof T]: Exclude<ReturnType<T[K]['parse']>, undefined>
}>

export type Config = Settings<typeof variables>

/** The variables of the core, then those of extensions, in the order of the documentation. */
export const listVariables = (ofExtensions: readonly Variables[]): readonly ConfigVariable[] =>
  [variables, ...ofExtensions].flatMap((table) => Object.values<ConfigVariable>(table))

/**
 * Reads the `BOOKFEED_*` variables, including those of extensions, which `settingsOf` returns; an
 * empty variable counts as absent. Throws a `config` fault.
 */
export function readConfig(env: Env, ofExtensions: readonly Variables[]): Config {
  assertKnown(env, listVariables(ofExtensions))
  const settings: Record<string, unknown> = {}
  for (const table of [variables, ...ofExtensions])
    for (const [name, variable] of Object.entries<ConfigVariable>(table))
      settings[name] = read(env, variable)
  // Every value was returned by its variable's `parse`.
  const config = Object.freeze(settings as Config)
  assertCredentials(config)
  return config
}

/** The settings of an extension: its variables as read by `readConfig`. */
export function settingsOf<T extends Variables>(config: Config, own: T): Settings<T> {
  const missing = Object.keys(own).find((name) => !(name in config))
  if (missing !== undefined) throw new Error(`The variable of ${missing} was not read.`)
  return config as unknown as Settings<T>
}

function assertCredentials({ spotSources, spotKey }: Config): void {
  if (spotKey !== '' || spotSources.every(({ name }) => name !== 'live')) return
  const { spotKey: key, spotSources: sources } = variables
  throw new Fault(
    `${key.name} is empty, but \`live\` in ${sources.name} needs it. Set it to ${key.accepts}, or take \`live\` out of ${sources.name}.`,
    { kind: 'config' },
  )
}

function read(env: Env, variable: ConfigVariable): unknown {
  const text = env[variable.name] || variable.default
  const value = variable.parse(text)
  if (value === undefined) {
    const shown = variable.isSecret ? 'not valid: it' : `${JSON.stringify(text)}, but`
    throw new Fault(`${variable.name} is ${shown} must be ${variable.accepts}.`, { kind: 'config' })
  }
  return value
}

/** Refuses a misspelt variable, whose default would otherwise apply silently. */
function assertKnown(env: Env, listed: readonly ConfigVariable[]): void {
  const known = listed.map(({ name }) => name)
  const ours = Object.keys(env).filter((name) => name.startsWith('BOOKFEED_'))
  const unknown = ours.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown, known)
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  throw new Fault(
    `${unknown} is not a variable of bookfeed.${meant} All of them: bookfeed help config.`,
    { kind: 'config' },
  )
}
