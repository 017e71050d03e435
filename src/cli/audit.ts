import { Command, InvalidArgumentError } from 'commander'

import { formatTime } from '#src/domain/time.ts'
import type { AuditRow, Ledger } from '#src/ledger/ledger.ts'
import { createActors, type DescribedActor, showActor } from '#src/operator/actors.ts'
import { count, formatCount } from '#src/platform/count.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openExistingLedger } from '../server/open-data-folder.ts'
import { integerIn, printFaults, printTable, renderJson } from './command-line.ts'

const ROWS_DEFAULT = 100
const ROWS_MAX = 100_000
const SEQ_MAX = 999_999_999_999

const verifyHelp = `
Every row of the chain contains the hash of all rows before it, and every account, key, tier and subscription must
match its last row. It changes nothing, and a server may keep serving.

A chain that was truncated, or rewritten as a whole, is consistent in itself. Store the printed head somewhere else,
and pass it at the next check: the chain must still contain exactly that row.

Examples:
  bookfeed audit verify
  bookfeed audit verify --head 1042:9f86d0…

Exit code: 0 if the chain is sound, 1 if it is not.`

const columns = ['seq', 'time', 'actor', 'action', 'subject', 'state']

type Head = { seq: number; hash: string }
type ListFlags = { after: number; limit: number; json?: true }

export function auditCommand(context: CliContext): Command {
  const audit = new Command('audit').description('verify and list the audit chain')
  audit
    .command('verify')
    .description('re-read the whole chain and report tampering')
    .option('--head <seq:hash>', 'head that an earlier check printed', parseHead)
    .addHelpText('after', verifyHelp)
    .action(({ head }: { head?: Head }) => verify(context, head))
  audit
    .command('list')
    .description('list changes, oldest first')
    .option('--after <seq>', 'only rows after this number', integerIn(0, SEQ_MAX), 0)
    .option('--limit <n>', 'at most this many rows', integerIn(1, ROWS_MAX), ROWS_DEFAULT)
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => list(context, flags))
  return audit
}

async function verify(context: CliContext, noted: Head | undefined): Promise<void> {
  using ledger = await openExistingLedger(context, 'verify')
  // Read before the verification, which therefore covers it, even if another process writes
  // meanwhile.
  const head = ledger.auditHead()
  const faults = printFaults(context, listFaults(ledger, noted))
  if (faults > 0)
    throw commandError(`The audit chain is not sound. Faults: ${formatCount(faults)}.`)
  if (head) context.print(`sound: ${count(head.seq, 'row')}, head ${head.seq}:${head.hash}`)
  else context.print('sound: no rows')
}

function* listFaults(ledger: Ledger, noted: Head | undefined): Generator<string> {
  if (noted) {
    const { seq, hash } = noted
    const row = ledger.listAudit(seq - 1, 1)[0]
    if (row?.seq !== seq) yield `Row ${seq}, the given head, does not exist: rows were removed.`
    else if (row.hash.toHex() !== hash)
      yield `Row ${seq} has another hash than the given head: the chain was rewritten.`
  }
  yield* ledger.verifyAudit()
}

async function list(context: CliContext, { after, limit, json }: ListFlags): Promise<void> {
  using ledger = await openExistingLedger(context, 'verify')
  const rows = ledger.listAudit(after, limit)
  const last = rows.at(-1)
  const describeActor = createActors(ledger)
  if (json) context.print(renderJson(rows.map((row) => toJson(row, describeActor(row.actor)))))
  else if (last)
    printTable(
      context,
      columns,
      rows.map((row) => toCells(row, describeActor(row.actor))),
    )
  if (!last) context.printError(`no rows after ${after}`)
  else if (rows.length === limit) context.printError(`more rows: --after ${last.seq}`)
}

const toCells = ({ seq, timeMs, action, subject, state }: AuditRow, actor: DescribedActor) => [
  String(seq),
  formatTime(timeMs),
  showActor(actor),
  action,
  subject,
  state,
]

/** The state is printed as it was hashed: a modified row may not be JSON. */
const toJson = ({ seq, timeMs, hash, actor, ...row }: AuditRow, described: DescribedActor) => ({
  seq,
  time: formatTime(timeMs),
  actor,
  ...described,
  ...row,
  hash: hash.toHex(),
})

function parseHead(text: string): Head {
  const match = /^([1-9]\d{0,11}):([0-9a-f]{64})$/.exec(text)
  if (match) return { seq: Number(match[1]), hash: match[2] ?? '' }
  throw new InvalidArgumentError('It must be a number, a colon and 64 hex digits, as printed.')
}
