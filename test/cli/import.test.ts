import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { importCommand } from '#src/cli/import.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { openHistory } from '#src/history/open.ts'
import { isFault } from '#src/platform/fault.ts'

import { someHashedLines } from '../ingest/hashed-lines.ts'
import { NOW_MS } from '../ingest/import-harness.ts'
import { aGammaMarket, aToken, aTrade } from '../ingest/market-objects.ts'
import { createCliContext } from '../support/cli-context.ts'
import { aRecord, someLines } from '../support/snapshot-lines.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-cli-import-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** A command with a data folder of its own, and what it printed. */
function aCommand(dataPath = join(folder, crypto.randomUUID())) {
  const cli = createCliContext({ BOOKFEED_DATA: dataPath })
  cli.context.clock = () => NOW_MS
  const run = async (...args: string[]): Promise<string | undefined> => {
    try {
      await importCommand(cli.context).exitOverride().parseAsync(args, { from: 'user' })
      return undefined
    } catch (error) {
      if (isFault(error, 'command', 'usage')) return error.message
      throw error
    }
  }
  return { ...cli, run, dataPath }
}

function snapshotsIn(dataPath: string): number {
  const history = openHistory(join(dataPath, 'history.db'), { chunkCacheBytes: 0 })
  try {
    expect([...history.verify()]).toEqual([])
    return history.totals().snapshots
  } finally {
    history.dispose()
  }
}

type ChildImport = { dataPath: string; file: string; linesMax: number; stdin?: Blob }

function spawnImport({ dataPath, file, linesMax, stdin }: ChildImport) {
  const script = new URL('../support/import-process.ts', import.meta.url).pathname
  const command = ['bun', script, join(dataPath, 'history.db'), file, `${linesMax}`]
  return Bun.spawn(command, { stdin: stdin ?? 'ignore' })
}

const withoutGaps =
  'snapshots and exports do not list gaps: shorter gaps of their source are unknown'

describe('bookfeed import', () => {
  test('default: imports files, and says what it did', async () => {
    const { run, printed, errors, dataPath } = aCommand()
    const text = someLines(1500)
    const files = [
      write('one.jsonl', text),
      write(
        'two.jsonl.gz',
        Bun.gzipSync(someLines(10, { conditionId: `0x${'b'.repeat(64)}`, assetId: '22' })),
      ),
    ]
    expect(await run(...files)).toBeUndefined()
    expect(printed).toEqual([
      'imported 1,510 snapshots from 1,510 lines in 0.0 s (0 lines/s)',
      withoutGaps,
    ])
    expect(errors).toEqual([])
    expect(snapshotsIn(dataPath)).toBe(1510)
  })

  test.each([
    ['chunk', 'UPDATE chunk SET rows = zeroblob(length(rows))'],
    ['unfinished run', 'UPDATE tail SET frame = zeroblob(length(frame))'],
    ['row', "UPDATE market SET strike = '7'"],
  ])('behavior: beside a market with a damaged %s all others are imported', async (_, change) => {
    const { run, printed, errors, dataPath, context } = aCommand()
    context.clock = () => Date.UTC(2026, 3, 14, 8, 3)
    expect(await run(write('whole.jsonl', someLines(150)))).toBeUndefined()
    const db = openDatabase(join(dataPath, 'history.db'))
    expect(db.run(change).changes).toBeGreaterThan(0)
    db.close()
    printed.length = 0
    const other = { conditionId: `0x${'b'.repeat(64)}`, assetId: '22' }
    const lines = someLines(160, { bids: [{ price: '0.4', size: '1' }] }) + someLines(5, other)
    const { conditionId, assetId } = aRecord()
    const facts = aToken({ conditionId, assetId })
    const files = [write('more.jsonl', lines), write('facts.json', JSON.stringify([facts]))]
    context.clock = () => NOW_MS
    expect(await run(...files)).toStartWith('Some lines or entries were refused')
    expect(errors.join('\n')).toContain(`Market ${conditionId} is damaged`)
    const history = openHistory(join(dataPath, 'history.db'))
    expect(history.findMarket(other.conditionId)).toMatchObject({
      snapshotCounts: { up: 0, down: 5 },
      isClosed: true,
    })
    history.dispose()
  })

  test('behavior: says so when nothing changed', async () => {
    const { run, printed, dataPath } = aCommand()
    const file = write('twice.jsonl', someLines(20))
    await run(file)
    await run(file)
    expect(printed.slice(2)).toEqual([
      'imported 0 snapshots from 20 lines in 0.0 s (0 lines/s)',
      'imported before: 20 lines',
      'already imported: nothing changed',
    ])
    for (const text of ['', '\n\n', '[]', '{"data":[],"nextCursor":null}']) {
      const file = write('empty.jsonl', text)
      expect(await run(file)).toStartWith(
        'A file contains nothing that can be imported. A file must contain snap',
      )
    }
    expect(snapshotsIn(dataPath)).toBe(20)
  })

  test('behavior: a file of markets of coins that are not kept is passed over and counted', async () => {
    const { run, printed } = aCommand()
    const file = write(
      'hype.json',
      JSON.stringify([aToken({ slug: 'nocoin-updown-5m-1782287400' })]),
    )
    expect(await run(file)).toBeUndefined()
    expect(printed).toContain('left out 1 record of markets: nocoin is not a supported coin')
  })

  test('default: says what it did with facts and trades, and what it left out', async () => {
    const { run, printed, errors } = aCommand()
    const unknown = { slug: 'nocoin-updown-5m-1782287400' }
    const token = aToken({ assetId: aRecord().assetId })
    const files = [
      write(
        'facts.csv',
        'timestamp,outcome,btc_open,btc_close\n1776150000,up,1,2\n1776150300,up,1,2\n',
      ),
      write('facts.json', JSON.stringify([token, token, aToken(unknown), 17])),
      write('facts.jsonl', `${JSON.stringify(aTrade())}\n${someHashedLines(6, [2, 3])}`),
    ]
    expect(await run(...files)).toStartWith('Some lines or entries were refused')
    expect(printed).toEqual([
      'imported 6 snapshots, 1 last trade price and 1 fact of a market from 10 lines and 4 entries in 0.0 s (0 lines/s)',
      'held already: 1 fact of a market',
      withoutGaps,
      "verified by the venue's hash: 4 of 6 books held of these markets",
      'warning: 2 books contradict their hash; 1 gap until the next verified book',
      'left out 1 record of markets: nocoin is not a supported coin',
      '2 rows of outcomes wait for their markets',
      'warning: left out 1 bad line or entry',
    ])
    expect(errors).toEqual([expect.stringContaining('facts.json: entry 4: not a JSON object')])
  })

  test('behavior: says so when facts are imported twice', async () => {
    const { run, printed } = aCommand()
    const file = write('tokens.json', JSON.stringify([aToken()]))
    await run(file)
    expect(printed).toEqual(['imported 1 fact of a market from 1 entry in 0.0 s (0 lines/s)'])
    await run(file)
    expect(printed.slice(1)).toEqual([
      'imported 0 snapshots from 0 lines in 0.0 s (0 lines/s)',
      'imported before: 1 JSON document',
      'already imported: nothing changed',
    ])
  })

  test('error: names bad lines, counts them and fails, and all others are kept', async () => {
    const { run, printed, errors, dataPath } = aCommand()
    const file = write('bad.jsonl', `${someLines(3)}["nonsense"]\n${'{}\n'.repeat(30)}`)
    expect(await run(file)).toStartWith('Some lines or entries were refused')
    expect(errors[0]).toBe(`${file}:4: not a JSON object`)
    expect(errors).toHaveLength(21)
    expect(errors.at(-1)).toBe('further bad lines are counted, not shown')
    expect(printed.at(-1)).toBe('warning: left out 31 bad lines')
    expect(snapshotsIn(dataPath)).toBe(3)
  })

  test('error: names a file of which nothing could be kept, and fails', async () => {
    const { run, printed, dataPath } = aCommand()
    const good = write('some-good.jsonl', `${someLines(3)}["nonsense"]\n`)
    const document = write('all-bad.json', JSON.stringify([{ lastTradePrice: '0.5' }, {}]))
    const lines = write('all-bad.jsonl', '{}\n["nonsense"]\n')
    expect(await run(document, good, lines)).toMatch(
      /^Some lines or entries were refused.* A file must contain snapshots, /,
    )
    expect(printed.slice(-3)).toEqual([
      'warning: left out 5 bad lines or entries',
      `warning: nothing of ${document} was imported`,
      `warning: nothing of ${lines} was imported`,
    ])
    expect(snapshotsIn(dataPath)).toBe(3)
  })

  test('behavior: names a fact that it left out of an entry, and succeeds', async () => {
    const { run, printed, errors } = aCommand()
    const market = aGammaMarket({ eventMetadata: { priceToBeat: 'unknown' } })
    const file = write('no-strike.json', JSON.stringify([market]))
    expect(await run(file)).toBeUndefined()
    const fault = 'eventMetadata.priceToBeat: not a plain decimal such as 72815.25'
    expect(errors).toEqual([`${file}: entry 1: ${fault}; only this was left out`])
    expect(printed.slice(-2)).toEqual([
      'warning: 1 entry of a market states no version; its ids were read as those of v1',
      'warning: left out 1 fact of markets',
    ])
    expect(await run('--strict', file)).toContain('because of --strict')
    expect(errors.at(-1)).toBe(`${file}: entry 1: ${fault}`)
  })

  test('error: --strict ends at the first bad line with nothing of its batch', async () => {
    const { run, errors, dataPath } = aCommand()
    const file = write('strict.jsonl', `${someLines(3)}["nonsense"]\n`)
    expect(await run('--strict', file)).toContain('because of --strict')
    expect(errors).toEqual([`${file}:4: not a JSON object`])
    expect(snapshotsIn(dataPath)).toBe(0)
  })

  test('error: checks all files before it reads the first or makes a data folder', async () => {
    const { run, dataPath } = aCommand()
    const file = write('good.jsonl', someLines(3))
    const absent = join(folder, 'absent.jsonl')
    expect(await run(file, absent, folder)).toBe(
      `Nothing was imported. ${absent}: no such file; ${folder}: a folder, not a file.`,
    )
    expect(await run(file, file)).toBe(`Nothing was imported. ${file}: named twice.`)
    expect(await Bun.file(join(dataPath, 'history.db')).exists()).toBe(false)
  })

  test('error: a file that ends too early fails, and what was read of it stays', async () => {
    const { run, errors, dataPath } = aCommand()
    const whole = Bun.gzipSync(someLines(5000))
    const file = write('truncated.jsonl.gz', whole.subarray(0, whole.length - 100))
    expect(await run(file)).toBe('Could not read 1 file to the end.')
    expect(errors).toEqual([
      `${file}: the gzip data ends too early; the lines before that were read`,
    ])
    expect(snapshotsIn(dataPath)).toBeGreaterThan(0)
  })

  test('behavior: --simulated marks the markets', async () => {
    const { run, dataPath } = aCommand()
    await run('--simulated', write('simulated.jsonl', someLines(3)))
    const history = openHistory(join(dataPath, 'history.db'), { chunkCacheBytes: 0 })
    expect(history.findMarket(`0x${'1a'.repeat(32)}`)?.source).toBe('simulated')
    history.dispose()
  })

  test('behavior: a signal stops it in order, and the next run goes on', async () => {
    const { run, context, stop, dataPath, printed } = aCommand()
    const file = write('stopped.jsonl', someLines(9000))
    let nowMs = NOW_MS
    // The clock moves far enough for a line of progress after each batch; the first one stops it.
    context.clock = () => (nowMs += 6000)
    context.printError = (line) => {
      if (line.startsWith('importing: ')) stop()
    }
    expect(await run(file)).toContain('Run the same command again to continue')
    context.printError = () => {}
    expect(printed[0]).toStartWith('imported 2,000 snapshots')
    expect(await run(file)).toBeUndefined()
    expect(printed).toContain('imported before: 2,000 lines')
    expect(snapshotsIn(dataPath)).toBe(9000)
  })

  test('behavior: an import killed with SIGKILL goes on as if nothing had happened', async () => {
    const { run, printed, dataPath } = aCommand()
    const file = write('killed.jsonl', someLines(9000))
    mkdirSync(dataPath)
    const killed = spawnImport({ dataPath, file, linesMax: 4000 })
    await killed.exited
    expect(killed.signalCode).toBe('SIGKILL')
    expect(snapshotsIn(dataPath)).toBe(4000)
    expect(await run(file)).toBeUndefined()
    expect(printed).toEqual([
      'imported 5,000 snapshots from 9,000 lines in 0.0 s (0 lines/s)',
      'imported before: 4,000 lines',
      withoutGaps,
    ])
    expect(snapshotsIn(dataPath)).toBe(9000)
  })

  test('behavior: - is standard input, gzipped or not', async () => {
    const { dataPath } = aCommand()
    mkdirSync(dataPath)
    const text = someLines(3000)
    for (const content of [text.slice(0, text.length / 2), Bun.gzipSync(text)]) {
      const stdin = new Blob([content])
      const child = spawnImport({ dataPath, file: '-', linesMax: Infinity, stdin })
      expect(await child.exited).toBe(0)
    }
    expect(snapshotsIn(dataPath)).toBe(3000)
  })

  test('behavior: --help shows a line and how to go on', async () => {
    const { context } = aCommand()
    let shown = ''
    const command = importCommand(context).configureOutput({ writeOut: (text) => (shown += text) })
    command.outputHelp()
    for (const part of [
      'bookfeed import books.jsonl',
      '"lastTradePrice"',
      '--strict',
      'Exit code',
    ]) {
      expect(shown).toContain(part)
    }
  })
})

describe('bookfeed import --dry-run and --map', () => {
  const token = aToken()
  const table = (columns: string) =>
    `${columns}\n${token.assetId},2026-04-14 08:00:10+00:00,bid,0.49,10\n${token.assetId},2026-04-14 08:00:10+00:00,ask,0.51,12\n`

  test('default: says what would be read, and why not, and makes nothing', async () => {
    const { run, printed, errors, dataPath } = aCommand()
    const tokens = write('dry-tokens.json', JSON.stringify([token]))
    const books = write('dry.csv', table('token_id,timestamp,side,price,size'))
    const bad = write('dry-bad.jsonl', `${someLines(3, { assetId: token.assetId })}{"x":1}\n`)
    expect(await run('--dry-run', tokens, books, bad)).toContain('were refused')
    expect(printed.slice(0, 3)).toEqual([
      `${tokens}: read as a JSON document of markets, tokens or trades`,
      `${bad}: read as snapshots, trades or facts of markets, one a line`,
      `${books}: read as a table: books with one row per level`,
    ])
    expect(printed[3]).toStartWith('would import 4 snapshots and')
    expect(errors.join('\n')).toContain(`${bad}:4: is none of`)
    expect(existsSync(dataPath)).toBe(false)
  })

  test('behavior: markets of the history are known, and stay as they are', async () => {
    const { run, printed, dataPath } = aCommand()
    expect(await run(write('held-tokens.json', JSON.stringify([token])))).toBeUndefined()
    const books = write('held.csv', table('token_id,timestamp,side,price,size'))
    expect(await run('--dry-run', books)).toBeUndefined()
    expect(printed.join('\n')).toContain('would import 1 snapshot from')
    expect(snapshotsIn(dataPath)).toBe(0)
    expect(await run(books)).toBeUndefined()
    expect(snapshotsIn(dataPath)).toBe(1)
  })

  test('behavior: --map names columns', async () => {
    const { run, dataPath } = aCommand()
    const tokens = write('map-tokens.json', JSON.stringify([token]))
    const books = write('map.csv', table('tok,when,side,px,size'))
    expect(await run(tokens, books)).toContain('Could not read 1 file')
    const map = ['token_id=tok', 'timestamp=when', 'price=px'].flatMap((each) => ['--map', each])
    expect(await run(...map, tokens, books)).toBeUndefined()
    expect(snapshotsIn(dataPath)).toBe(1)
  })
})
