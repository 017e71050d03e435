/**
 * Commands of the documents as a shell runs them: every block of a document in order, in one shell,
 * beside a server that was started for the first time. What needs something else is named below.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'

import { createCommandLine } from './support/command-line.ts'
import { type KillableServer, startKillableServer } from './support/killable-server.ts'

// biome-ignore lint/style/noProcessEnv: pasted commands find the programs that a shell finds.
const programs = process.env.PATH ?? ''
const root = join(import.meta.dir, '..')
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'clients/python/README.md',
  'clients/typescript/README.md',
  'examples/README.md',
]

/** Commands that are not run: how they begin, and what they need. */
const skips: readonly (readonly [document: string, start: string, needs: string])[] = [
  ['README.md', 'npx -y bun@1.4.5 run start', 'the network; it is what the test starts'],
  ['docs/data.md', 'duckdb', 'DuckDB; test/extensions/day-files reads the archive with it'],
  ['docs/live.md', 'npx -y wscat', 'the network'],
  ['docs/operations.md', 'bun install && bun run build && docker', 'Docker'],
  ['docs/operations.md', 'docker run', 'Docker'],
  ['docs/operations.md', 'docker exec', 'Docker'],
  ['docs/operations.md', 'bookfeed payments show', 'a payment'],
  ['docs/operations.md', 'bookfeed payments resolve', 'a payment'],
  ['docs/operations.md', 'bookfeed payments release', 'a quote'],
  ['docs/operations.md', 'bookfeed sandbox', 'a process that does not end; test/e2e runs it'],
  ['docs/operations.md', 'git worktree add', 'a clone, and the network'],
  ['docs/payments.md', 'curl -X POST "$SERVER/v1/billing/x402/quote"', 'an operator who sells'],
  ['docs/payments.md', 'bookfeed pay --server https://books.example.com', 'an operator who sells'],
  ['docs/payments.md', 'cast send', 'a wallet on a chain'],
  ['docs/payments.md', 'bookfeed payments show', 'a payment'],
  ['docs/payments.md', 'bookfeed keys create --account', 'an account that paid'],
  ['docs/payments.md', 'bookfeed payments resolve', 'a payment'],
  ['docs/payments.md', 'bookfeed payments release', 'a quote'],
  ['docs/recording.md', 'bookfeed serve', 'the venue, and a process that does not end'],
  ['docs/recording.md', 'bookfeed status', 'a recorder'],
  ['docs/recording.md', 'bun test/support/venue/main.ts', 'ten minutes'],
  ['docs/scale.md', 'psql', 'PostgreSQL; test/e2e/setup-drill.test.ts runs the setup'],
  ['docs/scale.md', 'createdb', 'PostgreSQL; as above'],
  ['docs/scale.md', 'pg_', 'a second machine for PostgreSQL'],
  ['docs/scale.md', 'bookfeed record', 'a process that does not end; as above'],
  ['docs/scale.md', 'BOOKFEED_HOST=0.0.0.0', 'a process that does not end; as above'],
  ['docs/scale.md', 'bookfeed keys create', 'PostgreSQL; as above'],
  ['docs/scale.md', 'curl --fail http://server-', 'two servers; as above'],
  ['docs/scale.md', 'export S3_ENDPOINT', 'a bucket; as above'],
  ['docs/scale.md', 'bookfeed copy', 'PostgreSQL'],
  ['docs/scale.md', 'bookfeed migrate', 'PostgreSQL'],
  ['docs/scale.md', 'export BOOKFEED_', 'PostgreSQL'],
  ['docs/testing.md', 'npx s3rver', 'the network'],
  ['docs/testing.md', 'bookfeed backup --to s3:', 'a bucket'],
  ['docs/testing.md', 'BOOKFEED_DATA=/tmp/restored', 'a bucket'],
  ['docs/testing.md', 'bun test/support/venue/main.ts', 'ten minutes'],
  ['clients/python/README.md', 'pip install', 'the network'],
  ['clients/python/README.md', 'pip wheel', 'the network; test/clients/python.test.ts builds one'],
  [
    'clients/python/README.md',
    'bun test test/clients/python.test.ts',
    'minutes; it is in the suite',
  ],
  ['clients/python/README.md', 'mypy', 'mypy'],
  ['clients/typescript/README.md', 'bun install', 'the network'],
  ['clients/typescript/README.md', '(cd clients/typescript && npm pack)', 'npm'],
  ['clients/typescript/README.md', 'npm install', 'the network, and a project of yours'],
  ['examples/README.md', 'npx -y bun@1.4.5 run start', 'the network; it is what the test starts'],
]

type Command = { document: string; text: string }

/** With the lines that a backslash joins. */
function commandsOf(document: string, text: string): Command[] {
  return [...text.matchAll(/^```(?:sh|bash|console)\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll('\\\n', '\u0000')
      .split('\n')
      .map((line) => ({ document, text: line.replaceAll('\u0000', '\\\n') }))
      .filter((command) => command.text.trim() !== '' && !command.text.startsWith('#')),
  )
}

const skipOf = ({ document, text }: Command) =>
  skips.find(([of, start]) => of === document && text.startsWith(start))

const all = await Promise.all(
  documents.map(async (document) =>
    commandsOf(document, await Bun.file(join(root, document)).text()),
  ),
)
const commands = all.flat()

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-docs-commands-'))
const data = join(folder, 'data')
const bin = join(folder, 'bin')
let server: KillableServer
let key = ''

/** A program of its own name, which a shell finds first. */
async function putProgram(name: string, line: string): Promise<void> {
  const path = join(bin, name)
  await Bun.write(path, `#!/usr/bin/env bash\n${line}\n`)
  chmodSync(path, 0o755)
}

beforeAll(async () => {
  mkdirSync(bin)
  const curl = Bun.which('curl')
  await putProgram('bookfeed', `exec '${process.execPath}' '${root}/src/main.ts' "$@"`)
  // A refusal is a failure, and events have no end: what came in five seconds is enough.
  await putProgram(
    'curl',
    [
      `if [ "$1" != -N ]; then exec '${curl}' --fail-with-body -sS "$@"; fi`,
      `'${curl}' --fail-with-body -sS --max-time 5 "$@"; code=$?; [ $code = 28 ] || exit $code`,
    ].join('\n'),
  )
  await putProgram('bun', `exec '${process.execPath}' "$@"`)
  server = await startKillableServer({
    BOOKFEED_DATA: data,
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_TEST_MODE: 'on',
  })
  using line = createCommandLine({ BOOKFEED_DATA: data })
  const made = await line.run('keys', 'create', '--tier', 'enterprise', '--label', 'documents')
  key = made.printed[0] ?? ''
  // On a busy machine the data of test mode take longer than a request waits for them.
  const headers = { authorization: `Bearer ${PUBLIC_TEST_KEY}` }
  const areMade = async () => (await fetch(`${server.origin}/v1/coins`, { headers })).ok
  while (!(await areMade())) await Bun.sleep(500)
}, 180_000)
afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true })
})

/** Copies the checkout into a folder in which commands may create files. */
function makeCheckout(name: string): string {
  const path = join(folder, name.replaceAll('/', '-'))
  mkdirSync(path)
  for (const entry of ['clients', 'docs', 'examples', 'src', 'test', 'package.json']) {
    symlinkSync(join(root, entry), join(path, entry))
  }
  return path
}

describe.skipIf(Bun.which('bash') === null || Bun.which('curl') === null)(
  'commands of the documents',
  () => {
    test.each(documents.filter((each) => commands.some(({ document }) => document === each)))(
      'default: %s',
      async (document) => {
        const own = commands.filter((each) => each.document === document && !skipOf(each))
        const lines = own.map(({ text }) => text.replaceAll('http://127.0.0.1:3000', server.origin))
        const script = join(folder, 'script.sh')
        // It stops at the first that fails, and says which.
        await Bun.write(
          script,
          ['set -Ee', 'trap \'echo "failed: $BASH_COMMAND" >&2\' ERR', ...lines, ''].join('\n'),
        )
        const child = Bun.spawn(['bash', script], {
          cwd: makeCheckout(document),
          env: {
            PATH: `${bin}:${programs}`,
            HOME: folder,
            BOOKFEED_DATA: data,
            KEY: key,
            SERVER: server.origin,
          },
          stdout: 'pipe',
          stderr: 'pipe',
        })
        const [said, errors] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ])
        const code = await child.exited
        expect([code, code === 0 ? '' : said.slice(-2000) + errors]).toEqual([0, ''])
      },
      300_000,
    )

    test.each(readdirSync(join(root, 'examples/curl')))(
      'default: examples/curl/%s runs as it is pasted, with nothing added',
      async (name) => {
        const pasted = await Bun.file(join(root, 'examples/curl', name)).text()
        expect(pasted).not.toMatch(/^\s*(set -e|exit\b)/m)
        const child = Bun.spawn(['bash', '-s'], {
          cwd: folder,
          env: { PATH: programs, KEY: PUBLIC_TEST_KEY, SERVER: server.origin },
          stdin: Buffer.from(pasted),
          stdout: 'pipe',
          stderr: 'pipe',
        })
        const [said, errors] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
        ])
        expect([await child.exited, errors]).toEqual([0, ''])
        expect(said.length).toBeGreaterThan(50)
      },
      300_000,
    )

    for (const [document, start, needs] of skips) {
      test.skip(`${document}: ${start} (needs ${needs})`, () => undefined)
    }

    test('behavior: every command that is not run is still there', () => {
      const unused = skips.filter((skip) => !commands.some((command) => skipOf(command) === skip))
      expect(unused).toEqual([])
    })

    test('behavior: what is run has no prompt, no `set -e` and nothing to fill in', () => {
      const wrong = commands.filter(
        (command) =>
          /^[$>] |\bset -e/.test(command.text) ||
          (!skipOf(command) && /…|YOUR-|\bSEQ:HASH\b|<[a-z-]+>/.test(command.text)),
      )
      expect(wrong).toEqual([])
    })
  },
)
