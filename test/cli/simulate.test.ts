import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { runCli } from '#src/cli/program.ts'
import { coins } from '#src/domain/market.ts'

import { createCliContext } from '../support/cli-context.ts'
import { runCommandUnder } from '../support/run-command.ts'

const prlimit = Bun.which('prlimit')
const small = ['simulate', '--coins', 'btc', '--max-snapshots', '200']

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-simulate-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(args: string[], env: Record<string, string> = {}) {
  const fake = createCliContext(env)
  const exitCode = await runCli(args, fake.context)
  return { ...fake, exitCode }
}

describe('bookfeed simulate --output', () => {
  test('default: prints lines in the recorded shape, and the total on standard error', async () => {
    const { exitCode, printed, errors } = await run([...small, '--output', '-'])
    expect(exitCode).toBe(0)
    const lines = printed.join('\n').split('\n')
    expect(lines).toHaveLength(200)
    expect(errors.at(-1)).toStartWith('200 snapshots written')
    const row = JSON.parse(lines[0] ?? '')
    const members = 'id assetId conditionId symbol outcome timeframe timestamp bids asks'
    expect(Object.keys(row)).toEqual(members.split(' '))
    expect(row).toMatchObject({ symbol: 'btc', timeframe: '5m' })
    // No hash of the venue's.
    expect(row.id).toMatch(/^\d+-\d{13}$/)
    expect(Number(row.bids[0].price)).toBeLessThan(Number(row.bids.at(-1).price))
    expect(Number(row.asks[0].price)).toBeGreaterThan(Number(row.asks.at(-1).price))
  })

  test('behavior: the import reads every line back, and judges none', async () => {
    const path = join(folder, 'back.jsonl')
    const env = { BOOKFEED_DATA: join(folder, 'back') }
    const early = [...small, '--start', '2021-01-01T00:00:00Z']
    await run([...early, '--output', path])
    const text = readFileSync(path, 'utf8')
    const digest = (id: string) => new Bun.CryptoHasher('sha1').update(id).digest('hex')
    // As versions before 0.8.1 wrote it.
    const old = text.replace(/"id":"([^"]+)"/g, (_, id: string) => `"id":"${digest(id)}"`)
    const oldPath = join(folder, 'old.jsonl')
    writeFileSync(oldPath, old)
    const { exitCode, printed } = await run(['import', '--simulated', path], env)
    expect([exitCode, printed[0]]).toEqual([0, expect.stringContaining('imported 200 snapshots')])
    expect(printed.join('\n')).not.toContain('hash')
    const again = await run(['import', '--simulated', oldPath], env)
    expect(again.printed.join('\n')).toContain('held already: 200 snapshots')
    expect(again.printed.join('\n')).not.toContain('hash')
    const simulated = await run(early, env)
    expect(simulated.printed.join('\n')).toContain('already simulated')
  })

  test('behavior: writes the same to a plain and to a gzipped file', async () => {
    const plain = join(folder, 'books.jsonl')
    const zipped = join(folder, 'books.jsonl.gz')
    expect((await run([...small, '--output', plain])).exitCode).toBe(0)
    expect((await run([...small, '--output', zipped])).exitCode).toBe(0)
    const text = readFileSync(plain, 'utf8')
    expect(text.split('\n')).toHaveLength(201)
    expect(new TextDecoder().decode(Bun.gunzipSync(readFileSync(zipped)))).toBe(text)
  })

  test('error: never writes over a file', async () => {
    const path = join(folder, 'precious.jsonl')
    await Bun.write(path, 'precious')
    const { exitCode, errors } = await run([...small, '--output', path])
    expect([exitCode, errors.at(-1)]).toEqual([1, expect.stringContaining('exists already')])
    expect(readFileSync(path, 'utf8')).toBe('precious')
  })

  test.skipIf(prlimit === null)(
    'error: a file that cannot be written whole is not left',
    async () => {
      const target = mkdtempSync(join(folder, 'full-'))
      for (const name of ['books.jsonl', 'books.jsonl.gz']) {
        // A file that may have so many bytes stands in for the disk.
        const limits = [prlimit ?? '', '--fsize=20000']
        const output = join(target, name)
        const { exitCode, errors, printed } = await runCommandUnder(
          limits,
          {},
          ...small,
          '--output',
          output,
        )
        expect([exitCode, printed]).toEqual([1, ''])
        expect(errors).toContain(`Cannot write ${output}`)
      }
      expect(readdirSync(target)).toEqual([])
    },
  )

  test('behavior: options choose the books', async () => {
    const args = ['--timeframes', '15m', '--outcomes', 'up', '--start', '2026-05-01T08:01:00Z']
    const { printed } = await run([...small, ...args, '--output', '-'])
    const rows = printed
      .join('\n')
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(new Set(rows.map(({ outcome, timeframe }) => `${outcome} ${timeframe}`))).toEqual(
      new Set(['up 15m']),
    )
    const begins = Date.parse('2026-05-01T08:15:00Z') - 190_000
    expect(Date.parse(rows[0].timestamp)).toBeWithin(begins, begins + 2_000)
  })
})

describe('bookfeed simulate', () => {
  test('behavior: fills the history, and a second time changes nothing and says so', async () => {
    const env = { BOOKFEED_DATA: join(folder, 'data') }
    const first = await run(small, env)
    expect([first.exitCode, first.errors]).toEqual([0, []])
    expect(first.printed[0]).toStartWith('200 snapshots of 1 finished market simulated in ')
    const second = await run(small, env)
    expect([second.exitCode, second.printed]).toEqual([
      0,
      ['already simulated: nothing changed (200 snapshots of 1 finished market)'],
    ])
  })

  test('error: a stop ends it with exit code 1 and a way on', async () => {
    const { context, errors, stop } = createCliContext({ BOOKFEED_DATA: join(folder, 'stopped') })
    const ending = runCli(['simulate', '--markets', '50'], context)
    stop()
    expect(await ending).toBe(1)
    expect(errors.at(-1)).toContain('Run the same command again')
  })

  test('error: names what is wrong with an option, with exit code 2', async () => {
    const wrong: [args: string[], message: string][] = [
      [['--coins', 'btc,nocoin'], `"nocoin" is none of ${coins.join(', ')};`],
      [['--timeframes', '7m'], '"7m" is none of 5m, 15m, 1h, 4h, 1d;'],
      [['--markets', '0'], 'It must be an integer from 1 to 100,000.'],
      [['--max-snapshots', 'many'], 'It must be an integer from 1 to'],
      [['--start', '2026-05-01T08:00:00'], 'It must be ISO 8601 with a zone'],
      [['--start', '2026-13-01T08:00:00Z'], 'It must be ISO 8601 with a zone'],
      [['--outcomes', 'left'], 'Allowed choices are both, up, down.'],
    ]
    for (const [args, message] of wrong) {
      const { exitCode, errors, printed } = await run(['simulate', ...args])
      expect([exitCode, printed]).toEqual([2, []])
      expect(errors.join('\n')).toContain(message)
    }
  })

  test('default: help teaches with examples', async () => {
    const { exitCode, printed } = await run(['simulate', '--help'])
    expect(exitCode).toBe(0)
    expect(printed.join('\n')).toContain('bookfeed simulate --coins btc,eth --markets 12')
  })
})
