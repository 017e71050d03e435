import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { Command, InvalidArgumentError, Option } from 'commander'

import { type Coin, coins, createMarketFinder, type Market, outcomes } from '#src/domain/market.ts'
import { DAY_MS, parseMoment } from '#src/domain/time.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { count } from '#src/platform/count.ts'
import { codeOf } from '#src/platform/message.ts'
import {
  assertEngineFile,
  engineEndings,
  type EngineFile,
  engineFileName,
  engineFormats,
  enginePieces,
} from '#src/tables/engine-files.ts'
import { pmxtName } from '#src/tables/pmxt.ts'
import { tardisKinds } from '#src/tables/tardis.ts'

import { commandError, usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openDataFolder } from '../server/open-data-folder.ts'

const help = `
Writes what GET …/export?format=… sends: of a market, named by its condition id, slug or asset id, or with
--day of every market of a coin whose window begins on that day (UTC), a file each. pmxt has a file per hour
instead, with all markets of the coin. A file appears when it is complete.

Examples:
  bookfeed export btc-updown-5m-1776153600 --format npz --outcome down
  bookfeed export --day 2026-04-14 --coin btc --format tardis --kind trades --to /srv/tardis
  bookfeed export --day 2026-04-14 --coin btc --format pmxt`

type Flags = EngineFile & { day?: number; coin: Coin; to: string }

const HOUR_MS = DAY_MS / 24
const MARKETS_A_READ = 50

/** `bookfeed export`: files that engines of backtests load. */
export const exportCommand = (context: CliContext): Command =>
  new Command('export')
    .description('write files that engines of backtests load')
    .argument('[market]', 'a market; without one, those of --day')
    .addOption(
      new Option('--format <format>', 'what to write').choices(engineFormats).makeOptionMandatory(),
    )
    .addOption(
      new Option('--outcome <outcome>', 'only this outcome; npz and tardis have one (up)').choices(
        outcomes,
      ),
    )
    .addOption(new Option('--kind <kind>', 'of tardis').choices(tardisKinds))
    .option('--day <day>', 'a day in UTC, such as 2026-04-14', parseDay)
    .addOption(new Option('--coin <coin>', 'the coin of --day').choices(coins).default('btc'))
    .option('--to <folder>', 'folder of the files', '.')
    .addHelpText('after', help)
    .action((market: string | undefined, flags: Flags) => run(context, market, flags))

function parseDay(text: string): number {
  const dayMs = parseMoment(`${text}T00:00:00Z`)
  if (dayMs === undefined) throw new InvalidArgumentError('It must be a date, such as 2026-04-14.')
  return dayMs
}

async function run(
  context: CliContext,
  market: string | undefined,
  { day: dayMs, coin, to, ...file }: Flags,
): Promise<void> {
  if ((market === undefined) === (dayMs === undefined))
    throw usageError('Name a market, or a --day.')
  assertEngineFile(file)
  using history = await openDataFolder(context)
  await writing(to, () => mkdirSync(to, { recursive: true }))
  const files =
    dayMs === undefined
      ? [fileOf(find(history, market ?? ''), file)]
      : filesOf(history, coin, dayMs, file)
  let written = 0
  for (const { name, queries } of files) {
    const path = join(to, `${name}.${engineEndings[file.format]}`)
    const progress = { snapshots: 0 }
    await writing(path, () => write(path, enginePieces(history, queries, progress, file)))
    context.print(file.kind === 'trades' ? path : `${path}: ${count(progress.snapshots, 'state')}`)
    written++
  }
  if (written === 0) context.print(`Nothing of ${coin} is held of that day.`)
}

type NamedFile = { name: string; queries: StreamQuery[] }

function find(history: MarketHistory, name: string): Market {
  const market = createMarketFinder(history)(name)
  if (market === undefined) throw commandError(`No market ${name} is held.`)
  return market
}

function* marketsOf(history: MarketHistory, coin: Coin, fromMs: number): Generator<Market> {
  const range = {
    coin,
    fromMs,
    toMs: fromMs + DAY_MS,
    order: 'asc',
    limit: MARKETS_A_READ,
  } as const
  for (const page of marketPages(history, range)) yield* page
}

function fileOf(market: Market, file: EngineFile): NamedFile {
  const { outcome } = file
  return { name: engineFileName(market, undefined, file), queries: [{ market, outcome }] }
}

function* filesOf(
  history: MarketHistory,
  coin: Coin,
  dayMs: number,
  file: EngineFile,
): Generator<NamedFile> {
  if (file.format === 'pmxt') yield* hoursOf(history, coin, dayMs, file)
  else for (const market of marketsOf(history, coin, dayMs)) yield fileOf(market, file)
}

/** Files of a day with all markets of the coin, each of an hour in which one has states. */
function* hoursOf(
  history: MarketHistory,
  coin: Coin,
  dayMs: number,
  { outcome }: EngineFile,
): Generator<NamedFile> {
  // A window may begin the day before.
  const markets = [...marketsOf(history, coin, dayMs - DAY_MS), ...marketsOf(history, coin, dayMs)]
  for (let fromMs = dayMs; fromMs < dayMs + DAY_MS; fromMs += HOUR_MS) {
    const toMs = fromMs + HOUR_MS
    const queries = markets
      .filter(
        ({ firstSnapshotMs = toMs, lastSnapshotMs = 0 }) =>
          firstSnapshotMs < toMs && lastSnapshotMs >= fromMs,
      )
      .map((market) => ({ market, outcome, fromMs, toMs }))
    if (queries.length > 0) yield { name: pmxtName(fromMs), queries }
  }
}

/** Names the path if the file system refuses it. */
async function writing(path: string, run: () => unknown): Promise<void> {
  try {
    await run()
  } catch (cause) {
    const code = codeOf(cause)
    if (!/^E[A-Z\d]+$/.test(code)) throw cause
    throw commandError(`Cannot write ${path}: ${code}.`, { cause })
  }
}

/** Leaves nothing behind if it fails. */
async function write(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const part = `${path}.part`
  const file = openSync(part, 'w')
  try {
    for await (const piece of pieces) writeSync(file, piece)
    renameSync(part, path)
  } finally {
    closeSync(file)
    rmSync(part, { force: true })
  }
}
