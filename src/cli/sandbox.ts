import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { Command } from 'commander'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'

/** The sandbox is for development; images of the service do not contain it. */
const folder = join(import.meta.dir, '../../dev/sandbox')
const absent =
  'This install has no sandbox. Run it in a checkout of the project, after bun install.'

const help = `
Everything runs on this machine: a chain that passes for Polygon, with the real contracts and play money,
and a server that sells tiers on it. Nothing touches the real Polygon. When the command ends, everything is
deleted, unless --data names a folder for the files of the server.

Needs the packages for development: run bun install in a checkout.

Example:
  bookfeed sandbox
  BOOKFEED_PORT=0 BOOKFEED_LOG=off bookfeed sandbox --data ./play`

/** `bookfeed sandbox`: a server that accepts test payments. */
export const sandboxCommand = (context: CliContext): Command =>
  new Command('sandbox')
    .description('serve on a local chain with play money, and print a script that buys')
    .option('--data <folder>', 'folder for the files of the server; must be empty or absent')
    .addHelpText('after', help)
    .action(async ({ data }: { data?: string }) => {
      if (!existsSync(folder)) throw commandError(absent)
      const { sandbox } = await import('#dev/sandbox/sandbox.ts')
      await sandbox(context, data)
    })
