/** The configuration comes from `BOOKFEED_*` environment variables alone. */

import { Fault } from '#src/platform/fault.ts'

import { type ConfigVariable, variables } from './variables.ts'

type Env = Readonly<Record<string, string | undefined>>

export type Config = Readonly<{
  [K in keyof typeof variables]: Exclude<ReturnType<(typeof variables)[K]['parse']>, undefined>
}>

/** In the order in which they are documented. */
export const configVariables: readonly ConfigVariable[] = Object.values(variables)

/** Reads the `BOOKFEED_*` variables; an empty one counts as absent. Throws a `config` fault. */
export function readConfig(env: Env): Config {
  assertKnown(env)
  const entries = Object.entries<ConfigVariable>(variables)
  const settings = Object.fromEntries(
    entries.map(([name, variable]) => [name, read(env, variable)]),
  )
  // Each is what its variable's `parse` returned.
  const config = Object.freeze(settings as Config)
  assertCredentials(config)
  return config
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

/** A misspelt variable would silently leave its default. */
function assertKnown(env: Env): void {
  const known = configVariables.map(({ name }) => name)
  const ours = Object.keys(env).filter((name) => name.startsWith('BOOKFEED_'))
  const unknown = ours.find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new Fault(`${unknown} is not a variable of bookfeed. It knows ${known.join(', ')}.`, {
    kind: 'config',
  })
}
