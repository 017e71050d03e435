import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import { extensions } from '#src/extensions.ts'

const root = join(import.meta.dir, '../..')
const names = extensions.map(({ name }) => name)
const LIST = 'src/extensions.ts'
/** Each waits for ten seconds. */
const TRIES_MAX = 12

/** Of this checkout without its tests, which are of the extensions too, and what is installed. */
const files = ['*', '{src,db,dev,web,clients,docs,examples,deploy}/**/*']
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root })])
  .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))

let scratch = ''
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'bookfeed-extensions-'))
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** This checkout without some extensions. */
async function copyWithout(removed: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'copy-'))
  const isRemoved = (path: string) =>
    removed.some((name) => path.startsWith(`src/extensions/${name}/`))
  for (const path of files) {
    if (isRemoved(path)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    cpSync(join(root, path), join(folder, path))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  // Of the server, and of what it imports.
  const types = await Bun.file(join(root, 'tsconfig.json')).text()
  await Bun.write(
    join(folder, 'tsconfig.json'),
    types.replace(/"include": \[.*\]/, '"include": ["src", "db"]'),
  )
  await Bun.write(
    join(folder, LIST),
    withoutLines(await Bun.file(join(root, LIST)).text(), removed),
  )
  return folder
}

/** Without what an extension has in the list: a line, and the import that it names. */
function withoutLines(list: string, removed: readonly string[]): string {
  const isNamed = (line: string) =>
    removed.some((name) => {
      const [, imported] =
        new RegExp(`import \\{ (\\w+) \\} from '\\./extensions/${name}/`).exec(list) ?? []
      return line.startsWith(`import { ${imported} } `) || line.startsWith(`  ${imported},`)
    })
  const lines = list.split('\n')
  const left = lines.filter((line) => !isNamed(line))
  expect(lines.length - left.length).toBe(2 * removed.length)
  return left.join('\n')
}

function assertTypes(folder: string): void {
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, 'check'], { cwd: folder })
  expect([exitCode, `${stdout}${exitCode === 0 ? '' : stderr}`]).toEqual([0, ''])
}

/** Starts a server there, asks what the core promises, and stops it. */
async function assertServes(folder: string, hasTestMode: boolean): Promise<void> {
  const server = Bun.spawn([process.execPath, 'src/main.ts', 'serve'], {
    cwd: folder,
    env: { BOOKFEED_DATA: join(folder, 'data'), BOOKFEED_PORT: '0', BOOKFEED_RECORD: 'off' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  try {
    let greeting = ''
    for await (const bytes of server.stdout) {
      greeting += new TextDecoder().decode(bytes)
      if (greeting.includes('size_download')) break
    }
    const find = (pattern: RegExp) => pattern.exec(greeting)?.[0] ?? ''
    const origin = find(/http:[/\d.:]+\d/)
    const market = find(/\/v1\/\w+\/markets\/0x[0-9a-f]{64}/)
    const paths = [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/',
      '/v1/coins',
      '/v1/usage',
      '/v1/sample',
      '/v1/billing/tiers',
      '/v1/btc/markets',
      '/v1/btc/prices',
      market,
      `${market}/snapshots`,
    ]
    const ask = async (path: string, key: string) =>
      (await fetch(origin + path, { headers: { authorization: `Bearer ${key}` } })).status
    const key = find(/bf_live_\w+/)
    for (const path of paths) expect([path, await ask(path, key)]).toEqual([path, 200])
    // Its data take some seconds to be made: a request waits for them, and is refused until then.
    let status = hasTestMode ? 503 : 200
    for (let tries = 0; status === 503 && tries < TRIES_MAX; tries++)
      status = await ask('/v1/coins', PUBLIC_TEST_KEY)
    expect(status).toBe(200)
  } finally {
    server.kill('SIGTERM')
    await server.exited
  }
}

test('default: the folder of an extension has the name that its manifest has', () => {
  const folders = Array.from(
    new Bun.Glob('*/extension.ts').scanSync(join(root, 'src/extensions')),
    dirname,
  )
  expect(folders.sort()).toEqual(names.toSorted())
})

test.each([...names.map((name) => [name]), names])(
  'behavior: without %s the rest is checked, starts and answers',
  async (...removed) => {
    const folder = await copyWithout(removed)
    assertTypes(folder)
    await assertServes(folder, removed.length > 1)
    rmSync(folder, { recursive: true })
  },
  180_000,
)
