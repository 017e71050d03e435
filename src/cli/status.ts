import { readFileSync } from 'node:fs'

import { Command } from 'commander'

import { toIso } from '#src/core/time.ts'
import type { Recorder } from '#src/recorder/recorder.ts'

import { formatCount, printTable, renderJson } from './command-line.ts'
import { type CliContext, CliError } from './context.ts'
import type { RawFiles } from './raw-files.ts'
import { statusPathOf } from './record.ts'

/** Older than this, whoever wrote it does not run any more. */
const STALE_MS = 10_000

type Status = ReturnType<Recorder['status']> & {
  startedMs: number
  writtenMs: number
  raw?: ReturnType<RawFiles['status']>
}

/** `bookfeed status`: what the recorder of the data folder does now. */
export const statusCommand = (context: CliContext): Command =>
  new Command('status')
    .description('show what the recorder of the data folder does')
    .option('--json', 'print a JSON object')
    .action((flags: { json?: true }) => showStatus(context, flags))

function showStatus(context: CliContext, { json }: { json?: true }): void {
  const { dataPath } = context.config()
  const status = readStatus(statusPathOf(dataPath))
  const nowMs = context.clock()
  if (status === undefined || nowMs - status.writtenMs > STALE_MS) {
    throw new CliError(
      `No recorder runs on ${dataPath}. bookfeed record starts one, and bookfeed serve does unless BOOKFEED_RECORD is off.`,
    )
  }
  if (json) {
    context.print(renderJson(status))
    return
  }
  for (const line of summaryOf(status, nowMs)) context.print(line)
  printTable(
    context,
    ['market', 'last-state', 'not-known'],
    status.markets.map(({ slug, lastMs, unknown }) => [
      slug,
      lastMs === undefined ? undefined : age(nowMs, lastMs),
      unknown.join(', ') || undefined,
    ]),
  )
}

/** Whoever writes it puts it there whole. */
function readStatus(path: string): Status | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

const age = (nowMs: number, timeMs: number): string =>
  `${((nowMs - timeMs) / 1000).toFixed(1)} s ago`

function summaryOf(status: Status, nowMs: number): string[] {
  const { connections, sink, startedMs, lastMessageMs, raw } = status
  const live = connections.filter(({ state }) => state === 'live')
  const tokens = live.reduce((sum, each) => sum + each.tokens - each.withoutBook, 0)
  const last = lastMessageMs === undefined ? 'none yet' : `the last ${age(nowMs, lastMessageMs)}`
  return [
    `Recording since ${toIso(startedMs)}.`,
    `Feed: ${live.length} connections, ${tokens} books, ${formatCount(status.messages)} messages, ${last}.`,
    `Stored: ${formatCount(sink.rows)} states in ${formatCount(sink.batches)} batches, ${formatCount(sink.waiting)} wait, ${formatCount(sink.dropped)} dropped.`,
    ...(raw
      ? [
          `Raw: ${formatCount(raw.lines)} lines in ${formatCount(raw.bytes)} bytes, ${formatCount(raw.waiting)} wait, ${formatCount(raw.dropped)} not kept.`,
        ]
      : []),
    `Not understood: ${formatCount(status.faults)} messages, and ${formatCount(status.unknown)} of unknown types.`,
    `The venue's clock is ${status.driftMs} ms behind ours, the way included.`,
  ]
}
