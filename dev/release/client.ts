/**
 * Makes what is generated of the TypeScript client: `bun run client types URL` writes the types of
 * a server's API document, `bun run client package FOLDER` what npm publishes.
 */
import { join } from 'node:path'

import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

const root = join(import.meta.dir, '../../clients/typescript')
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

const [what, where = ''] = process.argv.slice(2)
if (import.meta.main && what === 'types') {
  const response = await fetch(new URL('/swagger/json', where))
  await Bun.write(typesPath, await typesOf((await response.json()) as object))
}
if (import.meta.main && what === 'package') {
  const faults = buildPackage(where)
  if (faults.length > 0) throw new Error(faults.join('\n'))
}
