/** The package that `npm pack` makes, installed without a checkout: a first program, and the README. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import ts from 'typescript'

import { hasAnvil } from '#dev/sandbox/anvil.ts'

import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { SANDBOX_TEST_MS_MAX, startSandbox } from '../support/sandbox-process.ts'

setDefaultTimeout(SANDBOX_TEST_MS_MAX)
const root = join(import.meta.dir, '../..')
const source = join(root, 'clients/typescript')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-readme-'))
const node = Bun.which('node')
/** An empty folder, in which only the package is installed. */
const empty = join(folder, 'empty')
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

/** What a program prints with these variables, or those of this process; it has to succeed. */
async function print(
  command: string[],
  env: Record<string, string> | undefined,
  cwd = folder,
): Promise<string> {
  const child = Bun.spawn(command, { cwd, ...(env && { env }), stderr: 'pipe' })
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

/** Packs the client, which builds it, and installs the file. */
async function installPackage(): Promise<void> {
  await Bun.write(join(empty, 'package.json'), '{"type":"module"}')
  // The scripts of the package run `bun`.
  const npm = `PATH="${dirname(process.execPath)}:$PATH" npm`
  await print(['sh', '-c', `${npm} pack --pack-destination ${empty}`], undefined, source)
  const install = 'install --offline --no-audit --no-fund *.tgz'
  await print(['sh', '-c', `${npm} ${install}`], undefined, empty)
}

beforeAll(async () => {
  if (node === null) return
  await installPackage()
  await Bun.write(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(empty, 'node_modules/@bookfeed'), join(folder, 'node_modules/@bookfeed'))
  for (const name of ['ws', 'viem', '@x402', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  const window = ['--coins', 'btc', '--markets', '2', '--start', '2026-04-13T00:00:00Z']
  const env = data
  await print(bookfeed('simulate', ...window), env)
  await print(bookfeed('files', 'make'), env)
  key = (await print(bookfeed('keys', 'create', '--tier', 'enterprise'), env)).trim()
  server = await startKillableServer(data)
})
afterAll(async () => {
  await server?.kill()
  rmSync(folder, { recursive: true, force: true })
  rmSync(join(source, 'dist'), { recursive: true, force: true })
})

describe.skipIf(node === null)('the package of the TypeScript client, with Node', () => {
  test('default: types and runs a first program, with nothing else installed', async () => {
    const program = `import { Bookfeed } from '@bookfeed/client'
const bookfeed = new Bookfeed({ server: '${server?.origin}', key: '${key}' })
const [market] = await bookfeed.markets({ coin: 'btc', status: 'resolved' }).take(1)
const rows = await bookfeed.quotes({ coin: 'btc', conditionId: market!.conditionId }).take(200)
const { log } = console
log(rows.length, rows[0]!.outcome.toUpperCase())
`
    await Bun.write(join(empty, 'first.ts'), program)
    const script = join(root, 'node_modules/typescript/bin/tsc')
    const tsc = [node ?? '', script, '--strict', '--target', 'es2022', '--module', 'nodenext']
    await print([...tsc, 'first.ts'], {}, empty)
    expect(await print([node ?? '', 'first.js'], {}, empty)).toMatch(/^200 (UP|DOWN)\n$/)
    // A member that rows do not have is a fault of types.
    await Bun.write(join(empty, 'wrong.ts'), program.replace('.outcome', '.outcomes'))
    const wrong = Bun.spawnSync([...tsc, '--noEmit', 'wrong.ts'], { cwd: empty })
    expect([wrong.exitCode, String(wrong.stdout)]).toEqual([2, expect.stringMatching(/TS2551/)])
  })
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

  test('default: keeps books by their changes', async () => {
    expect(await runExample('new Book()')).toEqual([expect.stringMatching(/^\d+ \{ price: /)])
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

  test('default: saves the files of days', async () => {
    const days = join(folder, 'days')
    const [line = ''] = await runExample('saveDays', { FOLDER: days })
    expect(line).toMatch(/^2026-04-13 .*btc-5m-2026-04-13-quotes-double-r1\.parquet \d+$/)
    expect(readdirSync(days)).toEqual(['btc-5m-2026-04-13-quotes-double-r1.parquet'])
  })

  test('default: reads a part of a file by its link, without a key', async () => {
    expect(await runExample("links: '1h'")).toEqual([expect.stringMatching(/^206 \S+Z PAR1$/)])
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

  test('behavior: no example is left out', () => expect(examples).toHaveLength(10))
})
