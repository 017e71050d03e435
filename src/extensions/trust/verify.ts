/**
 * `bookfeed verify --manifest`: extends the command of the core, and checks a server in place of a
 * folder.
 */
import type { Command } from 'commander'

import * as core from '#src/cli/verify.ts'
import type { CliContext } from '#src/server/extension.ts'

import { parseUrl, realWorld, type VerifyFlags, verifyManifest } from './verify-manifest.ts'

const help = `
With --manifest, the command checks a server by its public routes: the chain of its manifests, their signatures,
and the digests of the newest manifest, or of the one in the address. With a key, it also requests every market
of that manifest and compares it.

Examples:
  bookfeed verify --manifest https://books.example.com --public-key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
  bookfeed verify --manifest 'https://books.example.com/v1/manifest?day=2026-04-14' --api-key-file bookfeed.key`

export const verifyCommand = (context: CliContext): Command =>
  core
    .verifyCommand(context)
    .description('re-read the whole history and report damage, or check the manifests of a server')
    .option(
      '--manifest <url>',
      'URL of a server, or of one of its manifests, to check instead of a folder',
      parseUrl,
    )
    .option('--public-key <base64>', 'public key of the signatures; default: the key of the server')
    .option('--api-key-file <path>', 'file with an API key, to compare the markets too')
    .addHelpText('after', help)
    .action((flags: VerifyFlags) =>
      flags.manifest === undefined
        ? core.verify(context)
        : verifyManifest(context, flags, realWorld),
    )
