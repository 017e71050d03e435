#!/usr/bin/env bun
/** The process: the only place that reads the environment, the clock and randomness. */
import { realpathSync } from 'node:fs'

import { version } from '../package.json'
import { type Config, readConfig } from './config/config.ts'
import { addStores } from './database/stores.ts'
import { extensions } from './extensions.ts'
import { createIdGenerator } from './platform/id-generator.ts'
import { compileLittle } from './platform/jit.ts'
import { workerName } from './platform/worker.ts'
import { type CliContext, variablesOf } from './server/extension.ts'
import { describeInvocation } from './server/invocation.ts'

/** Shells report a process that a signal ended as 128 and the signal's number. */
const SIGNAL_EXIT_CODE = 128
/** Width of what is printed where there is no terminal. */
const COLUMNS_DEFAULT = 80

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length))

let config: Config | undefined
const stops = new Set<() => void>()

const context: CliContext = {
  env: process.env,
  config: () => {
    config ??= readConfig(process.env, variablesOf(extensions))
    return config
  },
  clock: () => Date.now(),
  createId: createIdGenerator(randomBytes),
  randomBytes,
  extensions,
  invocation: describeInvocation({
    runtime: process.argv[0] ?? '',
    version: Bun.version,
    script: Bun.main,
    executable: Bun.isStandaloneExecutable ? process.execPath : undefined,
    folder: process.cwd(),
    which: Bun.which,
    realpath: realpathSync,
    isBunx: process.env.npm_config_user_agent?.startsWith('bun/') === true,
  }),
  version,
  program: Bun.main,
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
  writeLog: (lines) => void process.stderr.write(lines),
  isTty: process.stderr.isTTY === true,
  columns: process.stdout.columns || process.stderr.columns || COLUMNS_DEFAULT,
  setVariable(name, value) {
    process.env[name] = value
    config = undefined
  },
  onStop: (stop) => {
    stops.add(stop)
    return () => void stops.delete(stop)
  },
}

/** The first signal stops what runs, if anything can be stopped; the second ends the process. */
function handleSignal(_name: string, number: number): void {
  if (stops.size === 0) process.exit(SIGNAL_EXIT_CODE + number)
  const asked = [...stops]
  stops.clear()
  for (const stop of asked) stop()
}

// A reader of the output may stop, as `head` does; the server does not end for that.
process.stdout.on('error', () => {})

/** A pipe takes some at a time, and what it has not taken yet would be lost. */
const finish = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.end(resolve))

/**
 * The runtime reads the certificates of private authorities when it starts, and no later: so it
 * starts again, as the same process, with the file in its own variable.
 */
function trustCertificates(): void {
  const { BOOKFEED_CA_FILE: file = '', NODE_EXTRA_CA_CERTS: trusted } = process.env
  if (file === '' || file === trusted) return
  const args = process.argv.slice(Bun.isStandaloneExecutable ? 2 : 1)
  const words = [process.execPath, ...process.execArgv, ...args]
  process.execve?.(process.execPath, words, { ...process.env, NODE_EXTRA_CA_CERTS: file })
}

/** Runs a command, in the first thread. Other threads load only what answering takes. */
async function run(): Promise<void> {
  trustCertificates()
  const args = process.argv.slice(2)
  if (args[0] === 'serve') compileLittle()
  const { runCli } = await import('./cli/program.ts')
  process.on('SIGTERM', handleSignal)
  process.on('SIGINT', handleSignal)
  process.exitCode = await runCli(args, context)
  await Promise.all([finish(process.stdout), finish(process.stderr)])
  process.exit()
}

/**
 * The modules that define workers, by the name of the worker. In an executable all threads begin
 * here; from source only those that need this file begin with it.
 */
const workers = new Map<string, (context: CliContext) => Promise<unknown>>([
  ['checkpoints', () => import('./database/sqlite/checkpoints.ts')],
  ['pool', async () => (await import('./server/pool-thread.ts')).poolWorker(extensions)],
  ['serve', async () => (await import('./server/threads/serve-thread.ts')).serveWorker(context)],
  ['test-data', () => import('./server/test-data.ts')],
  ['verify', async () => (await import('./server/verify-in-worker.ts')).verifyWorker(context)],
  ...extensions.flatMap((extension) => Object.entries(extension.workers ?? {})),
])

for (const { stores } of extensions) if (stores !== undefined) addStores(stores)

const worker = workerName()
await (worker === undefined ? run() : workers.get(worker)?.(context))
