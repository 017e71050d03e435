/** The command line program: its help, its commands, and the handling of failures. */

import { Command, CommanderError } from 'commander'

import { prepareStore } from '#src/database/stores.ts'
import { AppError } from '#src/domain/errors.ts'
import { redactKeys } from '#src/domain/selling/api-key.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'
import { nearestName } from '#src/platform/nearest.ts'

import { type CliContext, type CommandEntry, commandGroups } from '../server/extension.ts'
import { asTyped, type CoreCommand } from '../server/invocation.ts'
import { backUpBeforeUpgrade } from '../server/scheduled-backups.ts'
import { layoutHelp, NO_BREAK_SPACE } from './help.ts'

const USAGE_EXIT_CODE = 2
const HELP_OPTION = '--help'

const intro =
  'Bookfeed records the order books of prediction markets and serves their history over HTTP. It is one ' +
  'process with one folder: start it with `bookfeed serve`. The first start fills an empty folder with a ' +
  'simulated sample, so that you can send requests at once.'

const examples = `
Examples:
  bookfeed serve                          serve ./data on port 3000
  bookfeed serve --port 8080 --data /srv  serve another folder
  bookfeed status                         show what is recorded now
  bookfeed doctor                         check what a server needs
  bookfeed import books.jsonl             add recorded snapshots
  bookfeed backup --to /mnt/backups       back up the data folder
  KEY=$(bookfeed keys create --tier pro)  make an API key
  bookfeed sandbox                        sell tiers for play money`

const settings = `
All other settings are environment variables: bookfeed help config lists them.`

const upgradesNothing = () => true

/** Commands in the order of the help, each loaded when it is called. */
const commands: Readonly<Record<CoreCommand, CommandEntry>> = {
  serve: {
    group: 'Serve and record',
    load: async () => (await import('./serve.ts')).serveCommand,
    upgradesItself: true,
  },
  record: {
    group: 'Serve and record',
    load: async () => (await import('./record.ts')).recordCommand,
    upgradesItself: true,
  },
  status: {
    group: 'Serve and record',
    load: async () => (await import('./status.ts')).statusCommand,
    upgradesNothing,
  },
  doctor: {
    group: 'Serve and record',
    load: async () => (await import('./doctor.ts')).doctorCommand,
    upgradesNothing,
  },
  import: {
    group: 'Markets and books',
    load: async () => (await import('./import.ts')).importCommand,
  },
  simulate: {
    group: 'Markets and books',
    load: async () => (await import('./simulate.ts')).simulateCommand,
  },
  'test-data': {
    group: 'Markets and books',
    load: async () => (await import('./test-data.ts')).testDataCommand,
  },
  verify: {
    group: 'Markets and books',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  export: {
    group: 'Markets and books',
    load: async () => (await import('./export.ts')).exportCommand,
  },
  prune: {
    group: 'Markets and books',
    load: async () => (await import('./prune.ts')).pruneCommand,
  },
  backup: {
    group: 'Copies of the data',
    load: async () => (await import('./backup.ts')).backupCommand,
    upgradesNothing,
  },
  restore: {
    group: 'Copies of the data',
    load: async () => (await import('./backup.ts')).restoreCommand,
    upgradesNothing,
  },
  migrate: {
    group: 'Copies of the data',
    load: async () => (await import('./migrate.ts')).migrateCommand,
    upgradesNothing,
  },
  keys: {
    group: 'Keys, tiers and payments',
    load: async () => (await import('./keys.ts')).keysCommand,
  },
  tiers: {
    group: 'Keys, tiers and payments',
    load: async () => (await import('./tiers.ts')).tiersCommand,
  },
  payments: {
    group: 'Keys, tiers and payments',
    load: async () => (await import('./payments.ts')).paymentsCommand,
  },
  audit: {
    group: 'Keys, tiers and payments',
    load: async () => (await import('./audit.ts')).auditCommand,
  },
  sanctions: {
    group: 'Keys, tiers and payments',
    load: async () => (await import('./sanctions.ts')).sanctionsCommand,
  },
  pay: {
    group: 'Buy and try',
    load: async () => (await import('./pay.ts')).payCommand,
    upgradesNothing,
  },
  sandbox: {
    group: 'Buy and try',
    load: async () => (await import('./sandbox.ts')).sandboxCommand,
    upgradesNothing,
  },
  config: {
    group: 'Help',
    load: async () => (await import('./config.ts')).configCommand,
    upgradesNothing,
  },
  completions: {
    group: 'Help',
    load: async () => (await import('./completions.ts')).completionsCommand,
    upgradesNothing,
  },
}

/** Runs a command line, without the name of the program, and returns the exit code. */
export async function runCli(args: readonly string[], real: CliContext): Promise<number> {
  /** Options given in place of variables, by the name of the variable. */
  const options = new Map<string, string>()
  const context: CliContext = {
    ...real,
    printError: (line, ...more) => real.printError(asTyped(line, real), ...more),
    setVariable(name, value, option) {
      if (option !== undefined) options.set(name, option)
      real.setVariable(name, value, option)
    },
  }
  try {
    await prepareStore()
    const program = await createProgram(context, real.printError, args[0])
    const words = asHelpOption(args, program)
    assertHelpIsOfCommand(program, words)
    await program.parseAsync(words, { from: 'user' })
    return 0
  } catch (error) {
    return reportFailure(error, context, options)
  }
}

/** Converts `help keys create` and `keys help create` to `keys create --help`. */
function asHelpOption(args: readonly string[], { commands }: Command): readonly string[] {
  const [first = '', second = '-', third = '-'] = args
  if (first === 'help' && second === 'help') return [HELP_OPTION]
  if (first === 'help' && !second.startsWith('-')) return [...args.slice(1), HELP_OPTION]
  const isGroup = commands.some((each) => each.name() === first && each.commands.length > 0)
  if (isGroup && second === 'help' && !third.startsWith('-')) return [first, third, HELP_OPTION]
  return args
}

/**
 * Refuses help for an unknown command, for which commander would print the help of all commands.
 */
function assertHelpIsOfCommand(program: Command, words: readonly string[]): void {
  if (!words.includes(HELP_OPTION) && !words.includes('-h')) return
  let command = program
  for (const word of words) {
    const { commands } = command
    if (word.startsWith('-') || commands.length === 0) return
    const found = commands.find((each) => each.name() === word)
    if (found === undefined) {
      const nearest = nearestName(
        word,
        commands.map((each) => each.name()),
      )
      const meant = nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`
      command.error(`error: unknown command '${word}'${meant}`)
    } else command = found
  }
}

function entriesOf({ extensions }: CliContext): Map<string, CommandEntry> {
  const entries = new Map<string, CommandEntry>(Object.entries(commands))
  for (const extension of extensions)
    for (const [name, entry] of Object.entries(extension.commands ?? {})) entries.set(name, entry)
  return entries
}

/** Loads all commands, in the order of the help, or `only` one. */
async function loadCommands(context: CliContext, only?: string): Promise<Command[]> {
  const entries = [...entriesOf(context)].filter(([name]) => only === undefined || name === only)
  entries.sort(([, a], [, b]) => commandGroups.indexOf(a.group) - commandGroups.indexOf(b.group))
  const loaded: Command[] = []
  for (const [, { group, load }] of entries)
    loaded.push((await load())(context).helpGroup(`${group}:`))
  return loaded
}

/** Creates the program, with all commands if `first` is not one of them. */
async function createProgram(
  context: CliContext,
  printError: CliContext['printError'],
  first = '',
): Promise<Command> {
  const entries = entriesOf(context)
  const program = new Command('bookfeed')
    .description(intro)
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', `${renderExamples(context)}\n${settings}`)
  // Completions and the general help need all commands.
  const only = entries.has(first) && first !== 'completions' ? first : undefined
  for (const command of await loadCommands(context, only)) program.addCommand(command)
  program.addHelpCommand(helpCommand())
  program.hook('preAction', (_, command) => {
    const own = (command.parent === program ? command : command.parent) ?? command
    const { upgradesNothing, upgradesItself } = entries.get(own.name()) ?? {}
    if (upgradesItself === true || upgradesNothing?.(own.opts()) === true) return undefined
    return backUpBeforeUpgrade(context)
  })
  const invocation = context.invocation.replaceAll(' ', NO_BREAK_SPACE)
  /** Keeps the name of a command on the line of the program. */
  const layout = (text: string) => {
    const typed = asTyped(text.trimEnd(), { ...context, invocation })
    const joined = typed.replaceAll(`${invocation} `, invocation + NO_BREAK_SPACE)
    return layoutHelp(joined, context.columns)
  }
  for (const command of withSubcommands(program)) {
    command.exitOverride().showHelpAfterError('(--help lists commands and options)')
    command.configureOutput({
      writeOut: (text) => context.print(layout(text)),
      // A key may have been pasted in the wrong place.
      writeErr: (text) => printError(redactKeys(layout(text))),
      outputError: (text) => context.printError(redactKeys(text.trimEnd())),
      // The help consists of whole lines and is laid out at once.
      getOutHelpWidth: () => Number.MAX_SAFE_INTEGER,
      getErrHelpWidth: () => Number.MAX_SAFE_INTEGER,
    })
  }
  return program
}

const helpCommand = (): Command =>
  new Command('help')
    .argument('[command]', 'the command')
    .description('print the help of a command')
    .helpOption(false)
    .helpGroup('Help:')

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

function renderExamples({ extensions }: CliContext): string {
  const own = extensions.flatMap((extension) => Object.entries(extension.examples ?? {}))
  return [examples, ...own.map(([call, about]) => `  ${call.padEnd(38)}  ${about}`)].join('\n')
}

/** Faults whose message already contains the action. */
const expectedFaults = [
  'command',
  'usage',
  'config',
  'secret_file',
  'wrong_value',
  'wrong_state',
  'backup',
  'object_missing',
  'object_unreachable',
] as const

/** Prints a failure on one line, unless commander has printed it. */
function reportFailure(
  error: unknown,
  context: CliContext,
  options: ReadonlyMap<string, string>,
): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  const isExpected = error instanceof AppError || isFault(error, ...expectedFaults)
  let message = messageOf(error)
  // Names the option that was given instead of its variable.
  for (const [variable, option] of options)
    message = message.replaceAll(new RegExp(`\\b([Ss]et) ${variable}\\b`, 'g'), `$1 ${option}`)
  context.printError(`bookfeed: ${isExpected ? '' : 'unexpected failure: '}${message}`)
  return isFault(error, 'usage', 'wrong_value') ? USAGE_EXIT_CODE : 1
}
