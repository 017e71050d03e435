import { Command } from 'commander'

import { variables } from '#src/config/variables.ts'

import type { CliContext } from '../server/extension.ts'
import { serve } from '../server/serve.ts'
import { variableOption } from './command-line.ts'

const help = `
The first start fills an empty folder with a simulated sample, and prints an API key for this machine. Unless
BOOKFEED_RECORD is off, the server also records the venue.

On a terminal, the log is text for people; elsewhere it is JSON lines. BOOKFEED_LOG chooses.
All other settings are environment variables: bookfeed help config lists them.

Examples:
  bookfeed serve
  bookfeed serve --port 8080 --data /srv/books`

export const serveCommand = (context: CliContext): Command =>
  new Command('serve')
    .description('serve the history over HTTP until SIGTERM or SIGINT')
    .addOption(variableOption(context, ['--port <port>', 'port to listen on'], variables.port))
    .addOption(
      variableOption(context, ['--data <folder>', 'folder of all data'], variables.dataPath),
    )
    .addHelpText('after', help)
    .action(() => serve(context))
