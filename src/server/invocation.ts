/** The words that run this program in a shell, however it was started. */
import { relative } from 'node:path'

import type { CliContext } from './extension.ts'

type Started = {
  /** The runtime, its version, and the file that it runs. */
  runtime: string
  version: string
  script: string
  /** The file of the executable; undefined if the program runs from source. */
  executable: string | undefined
  folder: string
  /** Finds the file of a command as a shell does. */
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

/** True if npx or bunx added the folder for one command, so that a shell does not find the file. */
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
  'export',
  'prune',
  'backup',
  'restore',
  'migrate',
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

/** Replaces `bookfeed` before a command by the words that the user types. */
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
