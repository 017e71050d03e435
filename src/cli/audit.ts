import { Command, InvalidArgumentError } from 'commander'

import { listLogFaults } from '#src/database/sqlite/log-scan.ts'
import { formatTime } from '#src/domain/time.ts'
import type { AuditRow, Ledger } from '#src/ledger/ledger.ts'
import { formatCount } from '#src/platform/count.ts'
import { isPostgres } from '#src/postgres/address.ts'

import { type CliContext, commandError } from '../server/context.ts'
import { ledgerOf, openExistingLedger } from '../server/open-data-folder.ts'
import { integerIn, printFaults, printTable, renderJson } from './command-line.ts'

const ROWS_DEFAULT = 100
const ROWS_MAX = 100_000
const SEQ_MAX = 999_999_999_999

const verifyHelp = `
Every row of the chain carries the hash of all before it, and every account, key, tier and
subscription must be as its last row says. The log of the file (ledger.db-wal) is read for commits that SQLite
drops because a frame before them is damaged. Nothing is changed, and a server may go on serving.

A chain that was cut off at its end, or rewritten as a whole, is sound in itself. So note the head
that is printed somewhere else, and give it next time: the chain must still hold exactly that row.

Examples:
  bookfeed audit verify
  bookfeed audit verify --head 1042:9f86d0…

Exit code: 0 when the chain is sound, 1 when anything is not.`

const columns = ['seq', 'time', 'actor', 'action', 'subject', 'state']

type Head = { seq: number; hash: string }
type ListFlags = { after: number; limit: number; json?: true }

export function auditCommand(context: CliContext): Command {
  const audit = new Command('audit').description('check and read the record of what was done')
  audit
    .command('verify')
    .description('re-read the whole chain and report tampering')
    .option('--head <seq:hash>', 'a head that was noted earlier', parseHead)
    .addHelpText('after', verifyHelp)
    .action(({ head }: { head?: Head }) => verify(context, head))
  audit
    .command('list')
    .description('list what was done, oldest first')
    .option('--after <seq>', 'only rows after this number', integerIn(0, SEQ_MAX), 0)
    .option('--limit <n>', 'at most this many rows', integerIn(1, ROWS_MAX), ROWS_DEFAULT)
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => list(context, flags))
  return audit
}

function verify(context: CliContext, noted: Head | undefined): void {
  const path = ledgerOf(context.config())
  // Before it is opened: SQLite then writes over what it drops.
  const logFaults = isPostgres(path) ? [] : listLogFaults(path)
  for (const fault of logFaults) context.print(fault)
  using ledger = openExistingLedger(context, 'verify')
  // Read before the walk, which therefore covers it, whoever writes meanwhile.
  const head = ledger.auditHead()
  const faults = logFaults.length + printFaults(context, listFaults(ledger, noted))
  if (faults > 0)
    throw commandError(`The audit chain is not sound. Faults: ${formatCount(faults)}.`)
  if (head) context.print(`sound: ${formatCount(head.seq)} rows, head ${head.seq}:${head.hash}`)
  else context.print('sound: no rows')
}

function* listFaults(ledger: Ledger, noted: Head | undefined): Generator<string> {
  if (noted) {
    const { seq, hash } = noted
    const row = ledger.listAudit(seq - 1, 1)[0]
    if (row?.seq !== seq) yield `Row ${seq}, the noted head, is gone: rows were removed.`
    else if (row.hash.toHex() !== hash)
      yield `Row ${seq} has another hash than the noted head: the chain was rewritten.`
  }
  yield* ledger.verifyAudit()
}

function list(context: CliContext, { after, limit, json }: ListFlags): void {
  using ledger = openExistingLedger(context, 'verify')
  const rows = ledger.listAudit(after, limit)
  const last = rows.at(-1)
  if (json) context.print(renderJson(rows.map(toJson)))
  else if (last) printTable(context, columns, rows.map(toCells))
  if (!last) context.printError(`no rows after ${after}`)
  else if (rows.length === limit) context.printError(`for more: --after ${last.seq}`)
}

const toCells = ({ seq, timeMs, actor, action, subject, state }: AuditRow) => [
  String(seq),
  formatTime(timeMs),
  actor,
  action,
  subject,
  state,
]

/** The state is as it was hashed: a row that was tampered with may not be JSON. */
const toJson = ({ seq, timeMs, hash, ...row }: AuditRow) => ({
  ...{ seq, time: formatTime(timeMs) },
  ...row,
  hash: hash.toHex(),
})

function parseHead(text: string): Head {
  const match = /^([1-9]\d{0,11}):([0-9a-f]{64})$/.exec(text)
  if (match) return { seq: Number(match[1]), hash: match[2] ?? '' }
  throw new InvalidArgumentError('It must be a number, a colon and 64 hex digits, as printed.')
}
