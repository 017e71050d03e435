/** The command line as a whole: its help, its commands, and how failures end it. */

import { Command, CommanderError } from 'commander'

import { listVariables } from '#src/config/config.ts'
import { AppError } from '#src/domain/errors.ts'
import { redactKeys } from '#src/domain/selling/api-key.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from '../server/context.ts'
import { type CommandEntry, variablesOf } from '../server/extension.ts'
import { asTyped, type CoreCommand } from '../server/invocation.ts'
import { prepareStores } from '../server/open-data-folder.ts'
import { backUpBeforeUpgrade, isUpgradeDue } from '../server/scheduled-backups.ts'

const USAGE_EXIT_CODE = 2

const intro =
  'Bookfeed records the order books of prediction markets and serves their history over HTTP. It is one ' +
  'process with one folder: start it with `bookfeed serve`. The first start fills an empty folder with a ' +
  'simulated sample, so that you can send requests at once.'

const examples = `
Examples:
  bookfeed serve                             serve ./data on http://127.0.0.1:3000
  BOOKFEED_PORT=8080 bookfeed serve          serve on another port
  bookfeed status                            show what is recorded now
  bookfeed simulate --help                   make simulated markets
  bookfeed import books.jsonl                add recorded snapshots from a file
  bookfeed doctor                            check everything that a server needs
  bookfeed verify                            re-read the whole history and report damage
  bookfeed backup --to /mnt/backups          back up the data folder, also while a server uses it
  KEY=$(bookfeed keys create --tier pro)     make an API key
  bookfeed keys list                         list the valid keys
  bookfeed tiers set pro --price 59          change the price of a tier
  bookfeed payments list --state review      list payments that need your decision
  bookfeed audit verify                      verify the audit chain
  bookfeed sandbox                           sell tiers for play money on a chain of this machine`

const upgradesNothing = () => true

/** In the order of the help; what one needs is loaded when it is called. */
const commands: Readonly<Record<CoreCommand, CommandEntry>> = {
  serve: { load: async () => (await import('./serve.ts')).serveCommand },
  record: { load: async () => (await import('./record.ts')).recordCommand },
  status: { load: async () => (await import('./status.ts')).statusCommand, upgradesNothing },
  import: { load: async () => (await import('./import.ts')).importCommand },
  simulate: { load: async () => (await import('./simulate.ts')).simulateCommand },
  'test-data': { load: async () => (await import('./test-data.ts')).testDataCommand },
  verify: { load: async () => (await import('./verify.ts')).verifyCommand },
  doctor: { load: async () => (await import('./doctor.ts')).doctorCommand, upgradesNothing },
  prune: { load: async () => (await import('./prune.ts')).pruneCommand },
  backup: { load: async () => (await import('./backup.ts')).backupCommand, upgradesNothing },
  restore: { load: async () => (await import('./backup.ts')).restoreCommand, upgradesNothing },
  keys: { load: async () => (await import('./keys.ts')).keysCommand },
  tiers: { load: async () => (await import('./tiers.ts')).tiersCommand },
  payments: { load: async () => (await import('./payments.ts')).paymentsCommand },
  audit: { load: async () => (await import('./audit.ts')).auditCommand },
  sanctions: { load: async () => (await import('./sanctions.ts')).sanctionsCommand },
  pay: { load: async () => (await import('./pay.ts')).payCommand, upgradesNothing },
  sandbox: { load: async () => (await import('./sandbox.ts')).sandboxCommand, upgradesNothing },
}

/** Runs one command line, without the program's name, and returns the exit code. */
export async function runCli(args: readonly string[], real: CliContext): Promise<number> {
  const context = {
    ...real,
    printError: (line: string) => real.printError(asTyped(line, real)),
  }
  try {
    await prepareStores(context)
    const program = await createProgram(context, args[0])
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    return reportFailure(error, context)
  }
}

/** With all commands where `first` is none of them. */
async function createProgram(context: CliContext, first = ''): Promise<Command> {
  const program = new Command('bookfeed')
    .description(intro)
    .version(context.version)
    .addHelpText('after', () => `${renderExamples(context)}\n\n${renderVariables(context)}`)
  const entries = new Map<string, CommandEntry>(Object.entries(commands))
  for (const extension of context.extensions)
    for (const [name, entry] of Object.entries(extension.commands ?? {})) entries.set(name, entry)
  const called = entries.get(first)
  for (const { load } of called ? [called] : entries.values())
    program.addCommand((await load())(context))
  program.hook('preAction', (_, command) => {
    const own = (command.parent === program ? command : command.parent) ?? command
    const isElsewhere = entries.get(own.name())?.upgradesNothing?.(own.opts()) ?? false
    const isDue = !isElsewhere && isUpgradeDue(context)
    return isDue ? backUpBeforeUpgrade(context) : undefined
  })
  for (const command of withSubcommands(program)) {
    command.exitOverride().showHelpAfterError('(--help lists commands and options)')
    command.configureOutput({
      writeOut: (text) => context.print(asTyped(text.trimEnd(), context)),
      // A key may have been pasted where it does not belong.
      writeErr: (text) => context.printError(redactKeys(text.trimEnd())),
    })
  }
  return program
}

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

function renderExamples({ extensions }: CliContext): string {
  const own = extensions.flatMap((extension) => Object.entries(extension.examples ?? {}))
  return [examples, ...own.map(([call, about]) => `  ${call.padEnd(41)}  ${about}`)].join('\n')
}

function renderVariables({ extensions }: CliContext): string {
  const variables = listVariables(variablesOf(extensions))
  const width = Math.max(...variables.map(({ name }) => name.length))
  const lines = variables.map(
    ({ name, description, accepts, default: fallback }) =>
      `  ${name.padEnd(width)}  ${description} Accepts ${accepts}. Default: ${fallback}`,
  )
  return ['Environment variables:', ...lines].join('\n')
}

/** Faults whose message says by itself what to do. */
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

/** One line a failure; commander has printed its own already. */
function reportFailure(error: unknown, context: CliContext): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  const isExpected = error instanceof AppError || isFault(error, ...expectedFaults)
  const message = messageOf(error)
  context.printError(`bookfeed: ${isExpected ? '' : 'unexpected failure: '}${message}`)
  return isFault(error, 'usage', 'wrong_value') ? USAGE_EXIT_CODE : 1
}
