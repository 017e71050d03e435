/**
 * Generates the clients' files: `bun run client types` writes the types of both clients, and the
 * routes in docs/llms.txt, from the API document of this checkout; `bun run client package FOLDER`
 * writes the files of the npm package.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

import { isRecord } from '#src/platform/record.ts'

import { withRoutes } from './llms-text.ts'
import { type ApiDocument, pythonTypesOf } from './python-types.ts'

const clients = join(import.meta.dir, '../../clients')
const root = join(clients, 'typescript')
const llmsPath = join(import.meta.dir, '../../docs/llms.txt')
const serverPath = join(import.meta.dir, '../../src/main.ts')

/** The generated files of an API document, by path. */
export const generatedFiles = async (document: ApiDocument): Promise<Record<string, string>> => ({
  [join(root, 'src/api.ts')]: await typesOf(document),
  [join(clients, 'python/bookfeed/api.py')]: pythonTypesOf(document),
  [llmsPath]: withRoutes(readFileSync(llmsPath, 'utf8'), document),
})

/**
 * Drops examples, headers and failures, which types do not need. Lists of names, which are
 * comma-separated text, get a format.
 */
function prepared(name: string, value: unknown): unknown {
  if (/^(examples?|headers)$/.test(name)) return undefined
  if (isNames(value)) return { ...value, format: 'names' }
  if (isParameter(value) && isNames({ ...value.schema, description: value.description }))
    return { ...value, schema: { ...value.schema, format: 'names' } }
  if (name !== 'responses') return value
  return Object.fromEntries(Object.entries(value ?? {}).filter(([status]) => /^2/.test(status)))
}

const isParameter = (value: unknown): value is { schema: object; description: string } =>
  isRecord(value) && value.in === 'query' && isRecord(value.schema)

const isNames = (value: unknown): value is object =>
  isRecord(value) && value.type === 'string' && /by commas/.test(String(value.description))

const { factory } = ts
const text = factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword)
/** Types of parameters, by the format of the schema. */
const inputTypes: Readonly<Record<string, ts.TypeNode>> = {
  'date-time': factory.createUnionTypeNode([text, factory.createTypeReferenceNode('Date')]),
  decimal: factory.createUnionTypeNode([
    text,
    factory.createKeywordTypeNode(ts.SyntaxKind.NumberKeyword),
  ]),
  names: factory.createUnionTypeNode([
    text,
    factory.createTypeOperatorNode(
      ts.SyntaxKind.ReadonlyKeyword,
      factory.createArrayTypeNode(text),
    ),
  ]),
}

/** Types of the parameters and bodies of an API document. */
async function typesOf(document: object): Promise<string> {
  const nodes = await openapiTS(JSON.stringify(document, prepared), {
    transform: ({ format = '' }, { path = '' }) =>
      /\/(parameters|requestBody)\//.test(path) ? inputTypes[format] : undefined,
  })
  const text = astToString(nodes)
  return `/** Generated from the API document by dev/release/client.ts: do not edit. */\n${text}`
}

/** Writes JavaScript with declarations; returns the errors of the compiler. */
function buildPackage(folder: string): string[] {
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
async function readDocument(): Promise<ApiDocument> {
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
    return (await response.json()) as ApiDocument
  } finally {
    server.kill()
    await server.exited
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The URL that a server prints once it listens. */
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
    const files = await generatedFiles(await readDocument())
    for (const [path, text] of Object.entries(files)) await Bun.write(path, text)
  } else if (command === 'package' && folder !== undefined) {
    const faults = buildPackage(folder)
    if (faults.length > 0) throw new Error(faults.join('\n'))
  } else {
    throw new Error('Usage: bun run client types, or bun run client package FOLDER')
  }
}
