/** `bookfeed files`: Parquet files of whole days, made once and served as they are. */
import { Command } from 'commander'

import { listOption, printTable, renderJson } from '#src/cli/command-line.ts'
import { coins, timeframes } from '#src/domain/market.ts'
import { DAY_MS, toIsoDay } from '#src/domain/time.ts'
import { count } from '#src/platform/count.ts'
import type { CliContext } from '#src/server/extension.ts'
import { openDataFolder } from '#src/server/open-data-folder.ts'
import { roomFault } from '#src/server/room.ts'

import { makeDayFiles, pruneDayFiles } from './maker.ts'
import { createFileStore, type DayFile, filesPathOf } from './store.ts'

const help = `
A day of a coin and timeframe is made when it is final: its windows are over, their history is sealed, and
every winner is known or three days have passed. Later changes make another revision. Each day has snapshots,
levels, quotes, trades, panel and changes, with exact decimals and with doubles. You can run the command beside
a server, which serves new files at once; with BOOKFEED_FILES=on, a server makes the files on its own.

A damaged file is not served, and bookfeed verify reports it. --repair makes it again: under its name if the
bytes are the same, otherwise as another revision of the day.

Examples:
  bookfeed files make
  bookfeed files make --coins btc --timeframes 5m,15m
  bookfeed files make --repair
  bookfeed files list`

type MakeFlags = {
  coins?: (typeof coins)[number][]
  timeframes?: (typeof timeframes)[number][]
  repair?: true
}

export function filesCommand(context: CliContext): Command {
  const files = new Command('files').description('make and list Parquet files of whole days')
  files
    .command('make')
    .description('make the files of days that are final and have none')
    .addOption(listOption(['--coins <list>', 'coins, separated by commas; default: all'], coins))
    .addOption(
      listOption(
        ['--timeframes <list>', 'timeframes, separated by commas; default: all'],
        timeframes,
      ),
    )
    .option('--repair', 'read every file, and make damaged files again')
    .addHelpText('after', help)
    .action((flags: MakeFlags) => make(context, flags))
  files
    .command('list')
    .description('list the files, by coin and timeframe')
    .option('--json', 'print a JSON array')
    .action((flags: { json?: true }) => list(context, flags))
  return files
}

async function make(context: CliContext, flags: MakeFlags): Promise<void> {
  const { dataPath, keepDays } = context.config()
  using history = await openDataFolder(context)
  const store = createFileStore(filesPathOf(dataPath))
  const nowMs = context.clock()
  const removed = keepDays > 0 ? pruneDayFiles(store, toIsoDay(nowMs - keepDays * DAY_MS)) : 0
  const made = makeDayFiles(
    {
      history,
      store,
      nowMs,
      isRepairing: flags.repair === true,
      assertMayWrite() {
        const fault = roomFault(context, dataPath)
        if (fault !== undefined) throw fault
      },
      onMade: ({ name, rows, bytes }) =>
        context.printError(`${name}: ${count(rows, 'row')}, ${count(bytes, 'byte')}`),
    },
    flags,
  )
  context.print(`${count(made, 'file')} made, ${count(removed, 'day')} deleted.`)
}

function list(context: CliContext, { json }: { json?: true }): void {
  const store = createFileStore(filesPathOf(context.config().dataPath))
  const all = coins.flatMap((coin) =>
    timeframes.flatMap((timeframe) =>
      store
        .daysOf({ coin, timeframe })
        .flatMap((day): DayFile[] => store.find({ coin, timeframe, day })?.files ?? []),
    ),
  )
  const rows = all.map((file) => [file.name, ...[file.rows, file.bytes].map(String), file.sha256])
  if (json) context.print(renderJson(all))
  else printTable(context, ['name', 'rows', 'bytes', 'sha256'], rows)
}
