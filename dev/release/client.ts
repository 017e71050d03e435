/**
 * Makes what is generated of the TypeScript client: `bun run client types` writes the types of the
 * API document of this checkout, `bun run client package FOLDER` what npm publishes.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

const root = join(import.meta.dir, '../../clients/typescript')
const serverPath = join(import.meta.dir, '../../src/main.ts')
export const typesPath = join(root, 'src/api.ts')

/** Examples are of the data that a server holds, headers have few readers, failures one shape. */
function trimmed(name: string, value: unknown): unknown {
  if (/^(examples?|headers)$/.test(name)) return undefined
  if (name !== 'responses') return value
  return Object.fromEntries(Object.entries(value ?? {}).filter(([status]) => /^2/.test(status)))
}

/** Types of the parameters and bodies of an API document. */
export async function typesOf(document: object): Promise<string> {
  const text = astToString(await openapiTS(JSON.stringify(document, trimmed)))
  return `/** Generated from the API document by dev/release/client.ts: do not edit. */\n${text}`
}

/** Writes JavaScript with declarations; returns what the compiler has against it. */
export function buildPackage(folder: string): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const options = { ...parsed.options, noEmit: false, outDir: folder, rootDir: join(root, 'src') }
  const program = ts.createProgram(parsed.fileNames, options)
  const { diagnostics } = program.emit()
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(({ messageText }) =>
    ts.flattenDiagnosticMessageText(messageText, '\n'),
  )
}

/** Starts the server of this checkout on an empty data folder, and reads its API document. */
async function readDocument(): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-client-'))
  const server = Bun.spawn([process.execPath, serverPath, 'serve'], {
    env: {
      BOOKFEED_DATA: folder,
      BOOKFEED_PORT: '0',
      BOOKFEED_RECORD: 'off',
      BOOKFEED_LOG: 'off',
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  try {
    const origin = await readOrigin(server.stdout)
    const response = await fetch(`${origin}/swagger/json`)
    if (!response.ok) throw new Error(`/swagger/json answered ${response.status}.`)
    return (await response.json()) as object
  } finally {
    server.kill()
    await server.exited
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The address that a server prints once it listens. */
async function readOrigin(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  let text = ''
  for await (const part of output.pipeThrough(new TextDecoderStream())) {
    text += part
    const origin = /listens on (\S+)\s/.exec(text)?.[1]
    if (origin !== undefined) return origin
  }
  throw new Error(`The server ended before it listened:\n${text}`)
}

const [command, folder] = process.argv.slice(2)
if (import.meta.main) {
  if (command === 'types') {
    await Bun.write(typesPath, await typesOf(await readDocument()))
  } else if (command === 'package' && folder !== undefined) {
    const faults = buildPackage(folder)
    if (faults.length > 0) throw new Error(faults.join('\n'))
  } else {
    throw new Error('Usage: bun run client types, or bun run client package FOLDER')
  }
}
