import { Command } from 'commander'

import { renderJson } from '#src/cli/command-line.ts'
import { toPrintable } from '#src/platform/printable.ts'
import type { CliContext } from '#src/server/extension.ts'

import { createServer, parseUrl, realWorld, type VerifyWorld } from './verify-manifest.ts'

type CiteFlags = { server: URL; json?: true | undefined }

const help = `
Examples:
  bookfeed cite bookfeed:btc/5m/2026-04-14 --server https://books.example.com
  bookfeed cite bookfeed:btc/5m/2026-04-14@r3 --server https://books.example.com --json`

export const citeCommand = (context: CliContext): Command =>
  new Command('cite')
    .description('show the data of a citation')
    .argument('<citation>', 'such as bookfeed:btc/5m/2026-04-14@r3; without @r3 the newest')
    .requiredOption('--server <url>', 'address of the server', parseUrl)
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', help)
    .action((id: string, flags: CiteFlags) => cite(context, { id, ...flags }, realWorld))

/**
 * Prints the server's answer to a citation. Throws a `command` fault if the server does not know
 * it.
 */
export async function cite(
  { print }: CliContext,
  { id, server, json }: CiteFlags & { id: string },
  world: VerifyWorld,
): Promise<void> {
  const path = `/v1/cite?id=${encodeURIComponent(id)}`
  const answer = await createServer(server, undefined, world).json(path)
  if (json) return print(renderJson(answer))
  for (const [name, value] of Object.entries(answer))
    print(toPrintable(`${name.padEnd(16)} ${String(value)}`))
}
