/** Every example of the client's README is run with Node and the package as it is published. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import ts from 'typescript'

import { buildPackage } from '#dev/release/client.ts'
import { hasAnvil } from '#dev/sandbox/anvil.ts'

import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { SANDBOX_TEST_MS_MAX, startSandbox } from '../support/sandbox-process.ts'

setDefaultTimeout(SANDBOX_TEST_MS_MAX)
const root = join(import.meta.dir, '../..')
const source = join(root, 'clients/typescript')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-readme-'))
const installed = join(folder, 'node_modules/@bookfeed/client')
const node = Bun.which('node')
const data = {
  BOOKFEED_DATA: join(folder, 'data'),
  BOOKFEED_PORT: '0',
  BOOKFEED_SAMPLE: 'off',
  BOOKFEED_LOG: 'off',
  BOOKFEED_RECORD: 'off',
}
const readme = readFileSync(join(source, 'README.md'), 'utf8')
const examples = Array.from(readme.matchAll(/```ts\n([\s\S]*?)```/g), ([, code = '']) => code)
let server: KillableServer | undefined
let key = ''

/** What a program prints with these variables; it has to succeed. */
async function print(command: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, { cwd: folder, env, stderr: 'pipe' })
  const texts = [new Response(child.stdout).text(), new Response(child.stderr).text()]
  const [text, errors] = await Promise.all(texts)
  expect([await child.exited, errors]).toEqual([0, expect.any(String)])
  return text ?? ''
}

/** The example that has a text in it, as JavaScript, for Node has no types yet. */
async function runExample(part: string, more: Record<string, string> = {}): Promise<string[]> {
  const [code, ...others] = examples.filter((each) => each.includes(part))
  expect([typeof code, others]).toEqual(['string', []])
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  const { outputText } = ts.transpileModule(code ?? '', { compilerOptions: options })
  const file = join(folder, 'example.mjs')
  await Bun.write(file, outputText)
  const env = { SERVER: server?.origin ?? '', KEY: key, ...more }
  // Without WebSocket Node 20 has replay with the package `ws` alone.
  const preload = join(folder, 'websocket.mjs')
  await Bun.write(preload, "import { WebSocket } from 'ws'\nglobalThis.WebSocket ??= WebSocket\n")
  return (await print([node ?? '', '--import', preload, file], env)).trim().split('\n')
}

beforeAll(async () => {
  mkdirSync(installed, { recursive: true })
  expect(buildPackage(join(installed, 'dist'))).toEqual([])
  cpSync(join(source, 'package.json'), join(installed, 'package.json'))
  for (const name of ['ws', 'viem', '@x402', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  const window = ['--coins', 'btc', '--markets', '2', '--start', '2026-04-13T00:00:00Z']
  const env = data
  await print(bookfeed('simulate', ...window), env)
  key = (await print(bookfeed('keys', 'create', '--tier', 'enterprise'), env)).trim()
  server = await startKillableServer(data)
})
afterAll(async () => {
  await server?.kill()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(node === null)('README of the TypeScript client, with Node', () => {
  test('default: all of it compiles against the declarations of the package', async () => {
    const files = examples.map((code, index) => {
      const file = join(folder, `example-${index}.ts`)
      ts.sys.writeFile(file, code)
      return file
    })
    const options: ts.CompilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      typeRoots: [join(folder, 'node_modules/@types')],
    }
    await Bun.write(join(folder, 'package.json'), '{"type":"module"}')
    const faults = ts.getPreEmitDiagnostics(ts.createProgram(files, options))
    const texts = faults.map(({ messageText, file }) => [
      file?.fileName,
      ts.flattenDiagnosticMessageText(messageText, '\n'),
    ])
    expect(texts).toEqual([])
  })

  test('default: lists markets', async () => {
    const lines = await runExample("timeframe: '5m'")
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^0x[0-9a-f]{64} 2026-04-13T00:05:00.000Z (up|down)$/)
  })

  test('default: cuts a walk and continues it', async () => {
    expect(await runExample('walk.cursor()')).toEqual(['true'])
  })

  test('default: adds up exact numbers', async () => {
    expect((await runExample('millionths'))[0]).toMatch(/^\d+n$/)
  })

  test('default: plays markets again, and follows one', async () => {
    expect(await runExample('bookfeed.replay')).toEqual(['true 2', '1'])
  })

  test('default: saves a day', async () => {
    const file = join(folder, 'day.parquet')
    const [line = ''] = await runExample('saveExport', { FILE: file })
    const digest = new Bun.CryptoHasher('sha256').update(readFileSync(file)).digest('hex')
    expect(line).toMatch(new RegExp(`^\\d+ ${digest}$`))
  })

  test('error: branches on a code', async () => {
    expect(await runExample('instanceof BookfeedError')).toEqual(['unknown_market 404'])
  })

  test.skipIf(!hasAnvil)('default: signs up and buys a tier of a sandbox', async () => {
    const sandbox = await startSandbox(join(folder, 'sandbox'))
    try {
      const { origin, script } = sandbox
      const wallet = /0x[0-9a-f]{64}/.exec(readFileSync(script, 'utf8'))?.[0] ?? ''
      const variables = { SERVER: origin, WALLET_KEY: wallet }
      expect(await runExample('bookfeed.pay', variables)).toEqual(['active'])
    } finally {
      await sandbox.stop()
    }
  })

  test('behavior: no example is left out', () => expect(examples).toHaveLength(7))
})
