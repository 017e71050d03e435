/** `bookfeed verify --manifest`: the command of the core, and a server to check in place of a folder. */
import type { Command } from 'commander'

import * as core from '#src/cli/verify.ts'
import type { CliContext } from '#src/server/context.ts'

import { parseUrl, realWorld, type VerifyFlags, verifyManifest } from './verify-manifest.ts'

const help = `
With --manifest a server is checked by its public routes: the chain of its manifests, their signatures, and
the digests of the newest, or of the one that the address names. With a key, every market of it is asked for
and compared.

Examples:
  bookfeed verify --manifest https://books.example.com --public-key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
  bookfeed verify --manifest 'https://books.example.com/v1/manifest?day=2026-04-14' --api-key-file bookfeed.key`

export const verifyCommand = (context: CliContext): Command =>
  core
    .verifyCommand(context)
    .description('re-read the whole history and report damage, or check the manifests of a server')
    .option(
      '--manifest <url>',
      'a server, or one of its manifests, to check in place of a folder',
      parseUrl,
    )
    .option('--public-key <base64>', 'key that must have signed; that of the server by default')
    .option('--api-key-file <path>', 'file with an API key, to compare what is served, too')
    .addHelpText('after', help)
    .action((flags: VerifyFlags) =>
      flags.manifest === undefined
        ? core.verify(context)
        : verifyManifest(context, flags, realWorld),
    )
