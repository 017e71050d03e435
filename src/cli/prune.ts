import { Command } from 'commander'

import { toIso } from '#src/domain/time.ts'
import type { OldMarket } from '#src/history/history.ts'
import { count } from '#src/platform/count.ts'

import { stopSignal, usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openDataFolder } from '../server/open-data-folder.ts'
import { deleteStep, type Keep, listDue } from '../server/retention.ts'
import { integerIn } from './command-line.ts'

const DAYS_MAX = 36_500
const GB_MAX = 1_000_000
/** The pause between two steps, in which others may write. */
const STEP_MS = 5

const help = `
Deletes markets as a server with these settings does: whole markets that are over, the oldest first, and the
prices of the coins and the outcomes of windows before them. You can run it beside a server. The file
does not shrink; new data uses the freed space. If a deletion was stopped, run the command again to continue.

Examples:
  bookfeed prune --keep-days 90 --dry-run
  bookfeed prune --keep-gb 200`

type Flags = { keepDays?: number; keepGb?: number; dryRun?: true }

/** `bookfeed prune`: deletes the oldest data once, now. */
export const pruneCommand = (context: CliContext): Command =>
  new Command('prune')
    .description('delete the oldest markets of the history')
    .option(
      '--keep-days <n>',
      'delete markets that began earlier; default: BOOKFEED_KEEP_DAYS',
      integerIn(1, DAYS_MAX),
    )
    .option(
      '--keep-gb <n>',
      'delete until the history is no larger; default: BOOKFEED_KEEP_GB',
      integerIn(1, GB_MAX),
    )
    .option('--dry-run', 'print the markets that would be deleted, and delete nothing')
    .addHelpText('after', help)
    .action((flags: Flags) => prune(context, flags))

async function prune(context: CliContext, { keepDays, keepGb, dryRun }: Flags): Promise<void> {
  const config = context.config()
  const isGiven = keepDays !== undefined || keepGb !== undefined
  const keep: Keep = isGiven ? { keepDays: keepDays ?? 0, keepGb: keepGb ?? 0 } : config
  if (keep.keepDays + keep.keepGb === 0) {
    throw usageError('Set --keep-days, --keep-gb, BOOKFEED_KEEP_DAYS or BOOKFEED_KEEP_GB.')
  }
  using history = await openDataFolder(context)
  const nowMs = context.clock()
  const due = [...listDue(keep, history, nowMs)]
  context.print(describe(due, dryRun ? 'would be deleted' : 'to delete'))
  if (dryRun) return
  using stop = stopSignal(context)
  const before = history.totals().markets
  while (!stop.signal.aborted && (await deleteStep(keep, history, nowMs))) await Bun.sleep(STEP_MS)
  const gone = before - history.totals().markets
  context.print(`${count(gone, 'market')} deleted${stop.signal.aborted ? ', then stopped' : ''}.`)
}

function describe(due: readonly OldMarket[], what: string): string {
  const oldest = due[0]
  const newest = due.at(-1)
  if (oldest === undefined || newest === undefined) return 'No market is due.'
  const sumOf = (member: 'snapshots' | 'bytes') => due.reduce((sum, each) => sum + each[member], 0)
  return `${count(due.length, 'market')} ${what}, of ${toIso(oldest.orderMs)} to ${toIso(newest.orderMs)}: ${count(sumOf('snapshots'), 'snapshot')}, ${count(sumOf('bytes'), 'byte')}.`
}
