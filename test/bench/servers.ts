import { dirname, join } from 'node:path'

import { scripts } from '../../package.json'
import { bookfeed as program } from '../support/program.ts'
import type { Dataset, OurData } from './dataset.ts'
import { type ServerProcess, startServer } from './server-process.ts'

/** A server to be measured, as a command that listens on a port. */
export type Command = (port: number) => string[]

const openServer = new URL('./open-server.ts', import.meta.url).pathname
const plainElysia = new URL('./baselines/plain-elysia.ts', import.meta.url).pathname
const fastify = new URL('./baselines/fastify/server.mjs', import.meta.url).pathname
const ceiling = new URL('./static.ts', import.meta.url).pathname
const fastifyFolder = dirname(fastify)

/** What `bun run start` sets for the runtime. */
const runtime = scripts.start.match(/\b[A-Z]\w*=\S+/g) ?? []

/** The whole application with its defaults, access log included; other settings as variables. */
export function bookfeed({ dataPath }: Pick<OurData, 'dataPath'>, ...settings: string[]): Command {
  return (port) => {
    const folder = [`BOOKFEED_DATA=${dataPath}`, `BOOKFEED_PORT=${port}`]
    // Nothing writes beside what is measured.
    const quiet = ['BOOKFEED_RECORD=off', 'BOOKFEED_SAMPLE=off']
    return ['env', ...folder, ...quiet, ...runtime, ...settings, ...program('serve')]
  }
}

/** The same without its gate: what is left is what access costs. */
export const openBookfeed =
  ({ dataPath }: OurData): Command =>
  (port) => [process.execPath, openServer, dataPath, String(port)]

/** The least that this runtime answers. */
export const hello: Command = (port) => [
  process.execPath,
  '--eval',
  `Bun.serve({ port: ${port}, hostname: '127.0.0.1', fetch: () => new Response('hello') })`,
]

/** Runs a command of ours to its end on a data folder; throws when it fails. */
export async function runBookfeed(dataPath: string, args: string[]): Promise<void> {
  const command = ['env', `BOOKFEED_DATA=${dataPath}`, ...program(...args)]
  const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'pipe' })
  const [code, errors] = await Promise.all([child.exited, new Response(child.stderr).text()])
  if (code !== 0) throw new Error(`bookfeed ${args[0]} ended with ${code}:\n${errors}`)
}

export const plain =
  ({ plainFile }: Dataset): Command =>
  (port) => [process.execPath, plainElysia, plainFile, String(port)]

export const fastifyOnNode =
  ({ plainFile }: Dataset): Command =>
  (port) => ['node', fastify, plainFile, String(port)]

/** Starts the server that answers from memory what ours answers to the first `count` paths. */
export async function startCeiling(
  dataset: OurData,
  { pathsFile, count }: { pathsFile: string; count: number },
): Promise<ServerProcess> {
  const ours = await startServer({ command: bookfeed(dataset), readyPath: '/healthz' })
  const args = [ours.origin, pathsFile, String(count)]
  const server = await startServer({
    command: (port) => [process.execPath, ceiling, ...args, String(port)],
    readyPath: '/healthz',
  })
  await ours.stop()
  return server
}

/**
 * Installs Fastify and better-sqlite3, which may take a minute to compile, unless they are there.
 */
export async function installBaselines(): Promise<void> {
  if (await Bun.file(join(fastifyFolder, 'node_modules/better-sqlite3/package.json')).exists())
    return
  const flags = ['--no-audit', '--no-fund', '--no-package-lock']
  const child = Bun.spawn(['npm', 'install', ...flags], {
    cwd: fastifyFolder,
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if ((await child.exited) !== 0) throw new Error(`npm install failed in ${fastifyFolder}`)
}
