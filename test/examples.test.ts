/** Each file in examples/ does what it says against a real server, so that a copy of it works. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasAnvil } from '#dev/sandbox/anvil.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { makeManifests } from '#src/extensions/trust/day-manifest.ts'
import { openHistory } from '#src/history/open.ts'

import { type KillableServer, startKillableServer } from './support/killable-server.ts'
import { SANDBOX_TEST_MS_MAX, startSandbox } from './support/sandbox-process.ts'

setDefaultTimeout(SANDBOX_TEST_MS_MAX)

const root = join(import.meta.dir, '..')
const bun = process.execPath
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-examples-'))
const data = {
  BOOKFEED_DATA: join(folder, 'data'),
  BOOKFEED_PORT: '0',
  BOOKFEED_RECORD: 'off',
  BOOKFEED_SAMPLE: 'off',
}
const DAY = '2026-04-13'
/** Start of the second window. */
const MOMENT_MS = Date.UTC(2026, 3, 13, 0, 5)

/** A language, the command that runs a file of it, and whether it is here. */
const languages = {
  curl: { command: ['bash'], isHere: Bun.which('bash') !== null && Bun.which('curl') !== null },
  typescript: { command: [bun], isHere: true },
  python: { command: ['python3'], isHere: Bun.which('python3') !== null },
}
type Language = keyof typeof languages

const run = new Set<string>()
let server: KillableServer | undefined
let key = ''
let markets: Market[] = []

type Market = { conditionId: string; snapshots: number; windowStart: string; winner: string }
type Row = Record<string, unknown>
type Page = { data: Row[]; nextCursor: string | null }

/** Runs a command in the environment of this process, with some variables more; what it printed. */
async function print(command: string[], variables: Record<string, string>): Promise<string> {
  const more = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const child = Bun.spawn(['env', ...more, ...command], { cwd: root, stderr: 'pipe' })
  const [text, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  // After five seconds it says how far it is.
  const faults = errors.replaceAll(/^simulating: \d+ %.*\n/gm, '')
  expect([command.join(' '), await child.exited, faults]).toEqual([command.join(' '), 0, ''])
  return text
}

/** Runs an example that fails; its exit code and what it said why. */
async function failExample(language: Language, file: string, ...args: string[]) {
  const variables = [`KEY=${key}`, `SERVER=${server?.origin}`]
  const command = [...languages[language].command, join('examples', language, file), ...args]
  const options = { cwd: root, stdout: 'ignore', stderr: 'pipe' } as const
  const child = Bun.spawn(['env', ...variables, ...command], options)
  const said = await new Response(child.stderr).text()
  return [await child.exited, said.trim().split('\n').length, said] as const
}

/** Runs an example; what it printed. */
async function runExample(language: Language, file: string, ...args: string[]): Promise<string> {
  const path = join('examples', language, file)
  run.add(path)
  const variables = { KEY: key, SERVER: server?.origin ?? '' }
  return await print([...languages[language].command, path, ...args], variables)
}

async function get<T = Page>(path: string): Promise<T> {
  const headers = { authorization: `Bearer ${key}` }
  return (await (await fetch(`${server?.origin}${path}`, { headers })).json()) as T
}

/** All rows of a paged route. */
async function readAll(path: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Page = await get(cursor === '' ? path : `${path}&cursor=${cursor}`)
    rows.push(...page.data)
    cursor = page.nextCursor
  }
  return rows
}

const pathOf = ({ conditionId }: Market) => `/v1/btc/markets/${conditionId}`

const snapshotsOf = (all: Market[]) => all.reduce((sum, { snapshots }) => sum + snapshots, 0)

function newest(): Market {
  const [market] = markets
  if (market === undefined) throw new Error('The server has no market.')
  return market
}

beforeAll(async () => {
  const simulate = ['--coins', 'btc', '--markets', '2', '--start', `${DAY}T00:00:00Z`]
  await print([bun, 'src/main.ts', 'simulate', ...simulate], data)
  const history = openHistory(join(data.BOOKFEED_DATA, 'history.db'))
  for (const _ of makeManifests(history, Date.parse(DAY) + 9 * DAY_MS));
  history.dispose()
  const create = [bun, 'src/main.ts', 'keys', 'create', '--tier', 'enterprise']
  const child = Bun.spawn(create, { cwd: root, env: data, stderr: 'ignore' })
  key = (await new Response(child.stdout).text()).trim()
  server = await startKillableServer({ ...data, BOOKFEED_LOG: 'off' })
  markets = (await get<{ data: Market[] }>('/v1/btc/markets')).data
}, SANDBOX_TEST_MS_MAX)

afterAll(async () => {
  await server?.kill()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(['typescript', 'python'] as const)('examples in %s', (language) => {
  const nameOf = (name: string) =>
    language === 'python' ? `${name.replace('-', '_')}.py` : `${name}.ts`
  const testHere = test.skipIf(!languages[language].isHere)

  testHere('default: lists markets', async () => {
    const lines = (await runExample(language, nameOf('markets'))).trim().split('\n')
    expect(lines).toEqual(
      markets.map(
        ({ conditionId, windowStart, winner, snapshots }) =>
          `${conditionId} 5m ${windowStart} ${winner} ${snapshots}`,
      ),
    )
  })

  testHere('error: a refusal is shown as it was answered, without a stack', async () => {
    const path = join(folder, 'refused')
    const at = String(MOMENT_MS)
    const { conditionId } = newest()
    const calls = {
      markets: [],
      history: [conditionId],
      'book-at': [conditionId, at],
      'quotes-csv': [conditionId],
      'export-day': [DAY, path],
    }
    for (const [name, args] of Object.entries(calls)) {
      const failed = await failExample(language, nameOf(name), ...args, 'nocoin')
      const said = expect.stringContaining('"code":"unknown_coin"')
      expect([name, ...failed]).toEqual([name, 1, 1, said])
    }
  })

  testHere('default: pages through the whole history of a market, each row once', async () => {
    const market = newest()
    const rows = await readAll(`${pathOf(market)}/snapshots?limit=1000&depth=1`)
    const tops = rows.map(({ outcome, bids, asks }) => ({
      outcome,
      top: Bun.inspect([bids, asks]),
    }))
    const changes = (['up', 'down'] as const).flatMap((side) => {
      const own = tops.filter(({ outcome }) => outcome === side)
      return own.filter(({ top }, index) => top !== own[index - 1]?.top)
    })
    expect(await runExample(language, nameOf('history'), market.conditionId)).toBe(
      `${market.snapshots} snapshots, ${changes.length} changes of the top of the book\n`,
    )
  })

  testHere('default: prints the book as of a moment', async () => {
    const { conditionId } = newest()
    const { data: states } = await get(`${pathOf(newest())}/snapshots/at?ts=${MOMENT_MS}`)
    const text = await runExample(language, nameOf('book-at'), conditionId, `${MOMENT_MS}`)
    expect(states).toHaveLength(2)
    for (const { outcome, timestamp, ageMs, bids } of states) {
      const [best] = bids as { price: number; size: number }[]
      const first = `${String(best?.price).padStart(8)} ${best?.size}`
      expect(text).toContain(`${outcome}, of ${timestamp}, ${ageMs} ms old\n`)
      expect(text).toContain(`---\n${first}\n`)
    }
  })

  testHere('default: writes quotes as CSV', async () => {
    const columns = ['time', 'outcome', 'bid', 'bidSize', 'ask', 'askSize', 'mid', 'spread']
    const rows = await readAll(`${pathOf(newest())}/quotes?interval=1s&limit=1000`)
    const lines = rows.map((row) => columns.map((name) => row[name] ?? '').join(','))
    const text = await runExample(language, nameOf('quotes-csv'), newest().conditionId)
    expect(text).toBe(`${[columns.join(','), ...lines].join('\n')}\n`)
  })

  testHere('default: downloads a day, whole', async () => {
    const path = join(folder, `day.${language}`)
    const text = await runExample(language, nameOf('export-day'), DAY, path)
    expect(text).toMatch(new RegExp(`^${snapshotsOf(markets)} snapshots, \\d+ bytes, complete: `))
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(snapshotsOf(markets))
  })
})

describe('examples of the live stream', () => {
  test('default: plays a market again, in the messages of the stream', async () => {
    const { conditionId } = newest()
    const rows = await readAll(`${pathOf(newest())}/quotes?limit=1000`)
    const lines = rows.map(
      ({ timestamp, outcome, bid, ask }) =>
        `${timestamp} ${conditionId} ${outcome} ${bid ?? '-'} ${ask ?? '-'}`,
    )
    const text = await runExample('typescript', 'live.ts', 'btc', conditionId)
    expect(text.trim().split('\n')).toEqual(lines)
  })
})

describe('examples in curl', () => {
  const testHere = test.skipIf(!languages.curl.isHere)

  testHere('default: lists markets', async () => {
    const { data: listed }: { data: Market[] } = JSON.parse(await runExample('curl', 'markets.sh'))
    expect(listed).toEqual(markets)
  })

  testHere('default: pages through the whole history of a market, each row once', async () => {
    const text = await runExample('curl', 'history.sh', newest().conditionId)
    const pages: Page[] = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const ids = pages.flatMap((page) => page.data.map(({ id }) => id))
    expect([ids.length, new Set(ids).size]).toEqual([newest().snapshots, newest().snapshots])
  })

  testHere('default: prints the book as of a moment', async () => {
    const text = await runExample('curl', 'book-at.sh', newest().conditionId, `${MOMENT_MS}`)
    const expected = await get(`${pathOf(newest())}/snapshots/at?ts=${MOMENT_MS}&depth=5`)
    expect(JSON.parse(text)).toEqual(expected)
  })

  testHere('default: downloads a day, whole', async () => {
    const path = join(folder, 'day.curl')
    const text = await runExample('curl', 'export-day.sh', DAY, path)
    expect(text).toMatch(new RegExp(`^[0-9a-f]{64} ${path}\n$`))
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(snapshotsOf(markets))
  })
})

describe('examples that pay', () => {
  test.skipIf(!hasAnvil)('default: buys a tier of a sandbox with the stock client', async () => {
    const sandbox = await startSandbox(join(folder, 'sandbox'))
    try {
      const { greeting, origin, script } = sandbox
      const variables = {
        KEY: /bf_live_\w+/.exec(greeting)?.[0] ?? '',
        SERVER: origin,
        WALLET_KEY: /0x[0-9a-f]{64}/.exec(readFileSync(script, 'utf8'))?.[0] ?? '',
      }
      const example = join('examples', 'typescript', 'buy-tier.ts')
      run.add(example)
      const text = await print([bun, example, 'pro'], variables)
      expect(text).toMatch(/^active 0x[0-9a-f]{64}\ntier: pro\n$/)
    } finally {
      await sandbox.stop()
    }
  })
})

describe.skipIf(!languages.python.isHere)('a manifest, checked by Python', () => {
  const file = 'check_manifest.py'

  test('default: chain, signatures where OpenSSL is there, and every row of a day', async () => {
    const text = await runExample('python', file, DAY)
    expect(text.split('\n').slice(1)).toEqual([`${DAY} r1: 2 markets compared`, 'sound', ''])
    expect(text).toMatch(
      Bun.which('openssl') === null
        ? /^1 manifests; signatures were not checked/
        : /^1 manifests\n/,
    )
  })

  test.each([
    ['a row', '/snapshots', '"size":', '"size":1', 'its snapshots are others'],
    ['the manifest', '/v1/manifest', '"snapshots":', '"snapshots":1', 'not the one of its digest'],
    ['a statement', '/v1/manifests', '"digest":"', '"digest":"0', 'does not end with its head'],
  ])('error: %s that was changed on the way is found', async (_, ...[end, from, to, said]) => {
    const { origin = '' } = server ?? {}
    using proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch({ url, headers }) {
        const { pathname, search } = new URL(url)
        const authorization = headers.get('authorization') ?? ''
        const answer = await fetch(origin + pathname + search, { headers: { authorization } })
        const text = await answer.text()
        return new Response(pathname.endsWith(end) ? text.replace(from, to) : text, {
          status: answer.status,
        })
      },
    })
    const script = ['python3', join('examples', 'python', file), DAY]
    const variables = [`KEY=${key}`, `SERVER=${proxy.url.origin}`]
    const options = { cwd: root, stdout: 'ignore', stderr: 'pipe' } as const
    const child = Bun.spawn(['env', ...variables, ...script], options)
    expect(await new Response(child.stderr).text()).toContain(said)
    expect(await child.exited).toBe(1)
  })
})

describe('examples', () => {
  const isRunnable = Object.values(languages).every(({ isHere }) => isHere) && hasAnvil
  test.skipIf(!isRunnable)('behavior: none is left out of these tests', () => {
    const files = Object.keys(languages).flatMap((language) =>
      readdirSync(join(root, 'examples', language)).map((file) => join('examples', language, file)),
    )
    expect([...run].toSorted()).toEqual(files.toSorted())
  })
})
