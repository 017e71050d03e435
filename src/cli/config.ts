import { Command } from 'commander'

import { listVariables } from '#src/config/config.ts'

import { type CliContext, variablesOf } from '../server/extension.ts'
import { CONTINUATION_MIN } from './help.ts'

const intro = `
An empty variable counts as absent. All commands read the same variables; bookfeed serve also takes the port and
the folder as options. docs/configuration.md explains how to open signup and how to sell.`

/**
 * `bookfeed config` and `bookfeed help config`: every variable, from the table of the
 * configuration.
 */
export const configCommand = (context: CliContext): Command => {
  const config: Command = new Command('config')
    .description('list the environment variables of the configuration')
    .addHelpText('after', () => `${intro}\n\n${renderVariables(context)}`)
    .action(() => config.outputHelp())
  return config
}

function renderVariables({ extensions }: CliContext): string {
  const lines = listVariables(variablesOf(extensions)).flatMap((variable) => {
    const { name, description, accepts, default: fallback } = variable
    const about = `${description} Accepts ${accepts}. Default: ${fallback || 'empty'}.`
    return [`  ${name}`, ' '.repeat(CONTINUATION_MIN) + about]
  })
  return ['Variables:', ...lines].join('\n')
}
