/** What to type to run this program, as a shell reads it, however it was started. */
import { relative } from 'node:path'

import type { CliContext } from './extension.ts'

type Started = {
  /** The runtime, its version, and the file that it runs. */
  runtime: string
  version: string
  script: string
  /** The file of the executable that all of it is in; undefined where there is none. */
  executable: string | undefined
  folder: string
  /** The file that a shell finds by a name. */
  which: (name: string) => string | null
  realpath: (path: string) => string
  isBunx: boolean
}

const NAME = 'bookfeed'

export function describeInvocation(started: Started): string {
  const { script, executable, folder, which, realpath, isBunx } = started
  const program = executable ?? script
  const found = which(NAME)
  if (found !== null && realpath(found) === realpath(program)) {
    if (!isOfRunner(found)) return NAME
    return isBunx ? `bunx ${NAME}` : `npx ${NAME}`
  }
  const path = relative(folder, program)
  if (executable !== undefined) return quote(path.includes('/') ? path : `./${path}`)
  return `${describeRuntime(started)} ${quote(path)}`
}

function describeRuntime({ runtime, version, which, realpath }: Started): string {
  const found = which('bun')
  if (found === null || realpath(found) !== realpath(runtime)) return quote(runtime)
  return isOfRunner(found) ? `npx -y bun@${version}` : 'bun'
}

/** A runner of packages finds it for one command, and the shell does not. */
const isOfRunner = (found: string): boolean => /[\\/]node_modules[\\/]\.bin[\\/]/.test(found)

const quote = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

export const coreCommands = [
  'serve',
  'record',
  'status',
  'import',
  'simulate',
  'test-data',
  'verify',
  'doctor',
  'prune',
  'backup',
  'restore',
  'keys',
  'tiers',
  'payments',
  'audit',
  'sanctions',
  'pay',
  'sandbox',
  'config',
  'completions',
] as const
export type CoreCommand = (typeof coreCommands)[number]

/** Texts say `bookfeed serve`; what is printed is what the user types. */
export function asTyped(
  text: string,
  { invocation, extensions }: Pick<CliContext, 'invocation' | 'extensions'>,
): string {
  const names = [
    ...coreCommands,
    'help',
    ...extensions.flatMap(({ commands = {} }) => Object.keys(commands)),
  ]
  const named = new RegExp(`\\bbookfeed(?=\\s+(\\[|--|(${names.join('|')})\\b))`, 'g')
  return text.replace(named, () => invocation)
}
