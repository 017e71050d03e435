/** The command line as a whole: its help, its commands, and how failures end it. */

import { Command, CommanderError } from 'commander'

import { configVariables } from '#src/config/config.ts'
import { AppError } from '#src/domain/errors.ts'
import { redactKeys } from '#src/domain/selling/api-key.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import type { CliContext } from '../server/context.ts'
import { asTyped, type CommandName, isCommandName } from '../server/invocation.ts'
import { backUpBeforeUpgrade, isUpgradeDue } from '../server/scheduled-backups.ts'

const USAGE_EXIT_CODE = 2

const intro =
  'Bookfeed keeps the history of the order books of prediction markets and serves it over HTTP. One ' +
  'process, one folder: start it with `bookfeed serve`, and the first start fills an empty ' +
  'folder with a simulated sample, so that there is something to ask for.'

const examples = `
Examples:
  bookfeed serve                             serve ./data on http://127.0.0.1:3000
  BOOKFEED_PORT=8080 bookfeed serve          serve on another port
  bookfeed status                            show what is recorded now
  bookfeed simulate --help                   make simulated markets
  bookfeed import books.jsonl                add recorded snapshots from a file
  bookfeed doctor                            check everything that a server needs
  bookfeed verify                            re-read the whole history and report damage
  bookfeed verify --manifest https://…       check what a server serves against its manifests
  bookfeed copy --to postgres://db/books     move books and accounts to a PostgreSQL
  bookfeed backup --to /mnt/backups          back up the data folder, also while it is served
  KEY=$(bookfeed keys create --tier pro)     make an API key
  bookfeed keys list                         show who has keys, and revoke them by id
  bookfeed tiers set pro --price 59          change what is offered
  bookfeed payments list --state review      see what was paid and waits for a decision
  bookfeed audit verify                      check the record of what was done
  bookfeed sandbox                           sell tiers for play money on a chain of this machine`

/** In the order of the help; what one needs is loaded when it is called. */
const commands: Record<CommandName, () => Promise<(context: CliContext) => Command>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  record: async () => (await import('./record.ts')).recordCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  import: async () => (await import('./import.ts')).importCommand,
  simulate: async () => (await import('./simulate.ts')).simulateCommand,
  'test-data': async () => (await import('./test-data.ts')).testDataCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  cite: async () => (await import('./cite.ts')).citeCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  prune: async () => (await import('./prune.ts')).pruneCommand,
  files: async () => (await import('./files.ts')).filesCommand,
  archive: async () => (await import('./archive.ts')).archiveCommand,
  copy: async () => (await import('./copy.ts')).copyCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./backup.ts')).restoreCommand,
  keys: async () => (await import('./keys.ts')).keysCommand,
  tiers: async () => (await import('./tiers.ts')).tiersCommand,
  payments: async () => (await import('./payments.ts')).paymentsCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  sanctions: async () => (await import('./sanctions.ts')).sanctionsCommand,
  pay: async () => (await import('./pay.ts')).payCommand,
  sandbox: async () => (await import('./sandbox.ts')).sandboxCommand,
}
/** Commands that leave the files of the data folder in the format that they have. */
const upgradesNothing = new Set([
  ...['backup', 'restore', 'doctor', 'status', 'pay', 'sandbox', 'cite', 'copy'],
])

/** Runs one command line, without the program's name, and returns the exit code. */
export async function runCli(args: readonly string[], real: CliContext): Promise<number> {
  const context = {
    ...real,
    printError: (line: string) => real.printError(asTyped(line, real.invocation)),
  }
  try {
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
    .addHelpText('after', () => `${examples}\n\n${renderVariables()}`)
  const called = isCommandName(first) ? commands[first] : undefined
  for (const load of called ? [called] : Object.values(commands))
    program.addCommand((await load())(context))
  program.hook('preAction', (_, command) => {
    const own = command.parent === program ? command : command.parent
    const isElsewhere = upgradesNothing.has(own?.name() ?? '') || own?.opts().manifest !== undefined
    const isDue = !isElsewhere && isUpgradeDue(context)
    return isDue ? backUpBeforeUpgrade(context) : undefined
  })
  for (const command of withSubcommands(program)) {
    command.exitOverride().showHelpAfterError('(--help lists commands and options)')
    command.configureOutput({
      writeOut: (text) => context.print(asTyped(text.trimEnd(), context.invocation)),
      // Somebody may have pasted a key where it does not belong.
      writeErr: (text) => context.printError(redactKeys(text.trimEnd())),
    })
  }
  return program
}

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
]

function renderVariables(): string {
  const width = Math.max(...configVariables.map(({ name }) => name.length))
  const lines = configVariables.map(
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
