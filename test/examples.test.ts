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
import { canImport, hasPython } from './support/python.ts'
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
  python: { command: ['python3'], isHere: hasPython },
}
type Language = keyof typeof languages
const hasNumpy = canImport('numpy')

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
  for await (const _ of makeManifests(history, Date.parse(DAY) + 9 * DAY_MS));
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

describe.skipIf(!languages.python.isHere)('examples of backtests in Python', () => {
  test('default: compares prices with results', async () => {
    const rows = await readAll('/v1/btc/panel?timeframe=5m&offsets=-60s&maxAgeMs=5000')
    const bins = rows.map(({ up, winner }) => {
      const { bid, ask } = up as { bid: number; ask: number }
      return [Math.min(9, Math.floor((bid + ask) * 5)), Number(winner === 'up')] as const
    })
    const expected = [...Map.groupBy(bins, ([bin]) => bin)]
      .toSorted(([a], [b]) => a - b)
      .map(([, of]) => [of.length, of.reduce((sum, [, won]) => sum + won, 0) / of.length])
    const [, ...lines] = (await runExample('python', 'calibration.py')).trim().split('\n')
    const found = lines.map((line) => line.split(/ {2,}/).map(Number))
    expect(found.map(([, count, , won]) => [count, won])).toEqual(expected)
    expect(rows).toHaveLength(markets.length)
  })

  test('default: saves a market as nautilus_trader reads it', async () => {
    const { conditionId } = newest()
    const text = await runExample('python', 'nautilus_tardis.py', conditionId, 'up', folder)
    expect(text).toStartWith(`${join(folder, 'up-book.csv')} ${join(folder, 'up-trades.csv')}\n`)
    const path = `${pathOf(newest())}/export?format=tardis&kind=book&outcome=up`
    const headers = { authorization: `Bearer ${key}` }
    const sent = await (await fetch(`${server?.origin}${path}`, { headers })).text()
    const saved = readFileSync(join(folder, 'up-book.csv'), 'utf8')
    expect(saved).toBe(sent.replaceAll('polymarket,', 'binance,'))
    expect(saved.split('\n').length).toBeGreaterThan(1000)
  })

  test.skipIf(!hasNumpy)('default: backtests a maker, whom only trades fill', async () => {
    // Simulated markets of the past have no trades.
    const text = await runExample('python', 'maker_backtest.py', newest().conditionId)
    const [first, ...others] = text.split('\n')
    expect([first, others.at(-2)]).toEqual([
      '0 fills, position 0.00, cash 0.00',
      `result: 0.00 USDC (${newest().winner} won)`,
    ])
    const program = `
import json, sys
sys.path.insert(0, "examples/python")
from maker_backtest import BUY, CLEAR, DEPTH, SELL, SNAPSHOT, TRADE, numpy, run
rows = [
    (SNAPSHOT | BUY, 0, 0.50, 100), (SNAPSHOT | SELL, 0, 0.52, 100),
    (TRADE | SELL, 1000, 0.50, 60),                               # 40 remain in front
    (TRADE | SELL, 2000, 0.50, 45),                               # 5 for the bid
    (DEPTH | BUY, 2050, 0.50, 0), (DEPTH | BUY, 2050, 0.49, 10),  # withdrawn: nothing
    (TRADE | SELL, 2100, 0.48, 3),                                # through the bid, which is still there
    (TRADE | SELL, 2500, 0.49, 10), (TRADE | SELL, 2600, 0.49, 1),
    (CLEAR, 3000, 0, 0), (TRADE | BUY, 3500, 0.60, 99),           # a gap ends all orders
]
names = ["ev", "exch_ts", "local_ts", "px", "qty"]
events = [(flags, ms * 10**6, ms * 10**6, price, size) for flags, ms, price, size in rows]
fills = run(numpy.array(events, list(zip(names, ["u8", "i8", "i8", "f8", "f8"]))))
print(json.dumps([(at // 10**6, price, shares) for at, price, shares in fills]))`
    expect(JSON.parse(await print(['python3', '-c', program], {}))).toEqual([
      [2000, 0.5, 5],
      [2100, 0.5, 3],
      [2600, 0.49, 1],
    ])
  })

  test('default: each cell of the notebook runs, one after the other', async () => {
    const path = join('examples', 'history.ipynb')
    const { cells }: { cells: Record<string, unknown>[] } = await Bun.file(join(root, path)).json()
    const codes = cells.filter(({ cell_type: type }) => type === 'code')
    expect(codes.map(({ outputs }) => outputs)).toEqual(codes.map(() => []))
    const program = `
import json
names = {}
for cell in json.load(open(${JSON.stringify(path)}))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)`
    const text = await print(['python3', '-c', program], {
      PYTHONPATH: 'clients/python',
      PYTHONDONTWRITEBYTECODE: '1',
      BOOKFEED_KEY: key,
      BOOKFEED_URL: server?.origin ?? '',
    })
    expect(text).toContain(`${markets.length} windows, Brier score`)
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
  const isRunnable = Object.values(languages).every(({ isHere }) => isHere) && hasAnvil && hasNumpy
  test.skipIf(!isRunnable)('behavior: none is left out of these tests', () => {
    const files = Object.keys(languages).flatMap((language) =>
      readdirSync(join(root, 'examples', language), { withFileTypes: true })
        // Python leaves a folder of bytecode beside files that were imported.
        .filter((entry) => entry.isFile())
        .map(({ name }) => join('examples', language, name)),
    )
    expect([...run].toSorted()).toEqual(files.toSorted())
  })
})
