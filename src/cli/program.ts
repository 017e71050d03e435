/** The command line as a whole: its help, its commands, and how failures end it. */
import { Command, CommanderError } from 'commander'

import { ConfigError, configVariables } from '#src/config.ts'
import { AppError } from '#src/core/errors.ts'
import { messageOf } from '#src/lib/message.ts'
import { SecretFault } from '#src/lib/secret-file.ts'
import { OperatorFault } from '#src/operator/values.ts'
import { redactKeys } from '#src/selling/api-key.ts'

import { auditCommand } from './audit.ts'
import { type CliContext, CliError } from './context.ts'
import { importCommand } from './import.ts'
import { keysCommand } from './keys.ts'
import { payCommand } from './pay.ts'
import { paymentsCommand } from './payments.ts'
import { recordCommand } from './record.ts'
import { sanctionsCommand } from './sanctions.ts'
import { sandboxCommand } from './sandbox.ts'
import { serveCommand } from './serve.ts'
import { simulateCommand } from './simulate.ts'
import { statusCommand } from './status.ts'
import { tiersCommand } from './tiers.ts'
import { verifyCommand } from './verify.ts'

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
  bookfeed verify                            re-read the whole history and report damage
  KEY=$(bookfeed keys create --tier pro)     make an API key
  bookfeed keys list                         show who has keys, and revoke them by id
  bookfeed tiers set pro --price 59          change what is offered
  bookfeed payments list --state review      see what was paid and waits for a decision
  bookfeed audit verify                      check the record of what was done
  bookfeed sandbox                           sell tiers for play money on a chain of this machine`

const commands = [
  serveCommand,
  recordCommand,
  statusCommand,
  importCommand,
  simulateCommand,
  verifyCommand,
  keysCommand,
  tiersCommand,
  paymentsCommand,
  auditCommand,
  sanctionsCommand,
  payCommand,
  sandboxCommand,
]

/** Runs one command line, without the program's name, and returns the exit code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  try {
    await createProgram(context).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    return reportFailure(error, context)
  }
}

function createProgram(context: CliContext): Command {
  const program = new Command('bookfeed')
    .description(intro)
    .version(context.version)
    .addHelpText('after', () => `${examples}\n\n${renderVariables()}`)
  for (const command of commands) program.addCommand(command(context))
  for (const command of withSubcommands(program)) {
    command.exitOverride().showHelpAfterError('(--help lists commands and options)')
    command.configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
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

/** One line a failure; commander has printed its own already. */
function reportFailure(error: unknown, context: CliContext): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
  const expected = [CliError, ConfigError, AppError, SecretFault, OperatorFault]
  const isExpected = expected.some((kind) => error instanceof kind)
  const message = messageOf(error)
  context.printError(`bookfeed: ${isExpected ? '' : 'unexpected failure: '}${message}`)
  if (error instanceof OperatorFault) return error.kind === 'value' ? USAGE_EXIT_CODE : 1
  return error instanceof CliError ? error.exitCode : 1
}
