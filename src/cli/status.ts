import { Command } from 'commander'

import { toIso } from '#src/domain/time.ts'
import { count, formatCount } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import { messageOf } from '#src/platform/message.ts'

import { commandError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { readRecorderStatus, type RecorderStatus } from '../server/recorder-status.ts'
import { printTable, renderJson } from './command-line.ts'

const help = `
The recorder may run in any process, such as a server; the status is at most two seconds old.

--json prints the whole status as one object. Unless stated otherwise, its members count from the start; times
are Unix milliseconds:
  startedMs, writtenMs    start of the recorder, and time of this status
  fault, warning          why it cannot store data; what is wrong with the venue. Absent if nothing is wrong.
                          If no recorder runs, fault is the only member, and the exit code is 1
  perSecond               messages and rows a second, over the last two seconds
  sink                    rows stored, waiting and dropped; lagMs, from the venue's time to the disk
  markets                 markets that are recorded now; unknown: outcomes with an open gap; faults of events:
                          messages that cannot be read, with the first reason in firstFault
  windows                 open windows; missing: those that are not recorded, each with the reason
  lastMinute              messages of the last minute: events, faults, unfollowed, firstFault
  faults, unfollowed      messages that cannot be read; messages of markets that are not followed
  discovery, connections, lanes, books, spot
                          state of each part
  driftMs                 how far the venue's clock is behind that of this machine, including transit
  freeBytes               free space on the disk`

/** `bookfeed status`: the current work of the recorder of the data folder. */
export const statusCommand = (context: CliContext): Command =>
  new Command('status')
    .description('show the state of the recorder of the data folder')
    .option('--json', 'print a JSON object')
    .option('--health', 'check that the server at BOOKFEED_HOST and BOOKFEED_PORT answers')
    .addHelpText('after', help)
    .action((flags: Flags) => (flags.health ? askHealth(context) : showStatus(context, flags)))

const HEALTH_MS_MAX = 2_000

type Flags = { json?: true; health?: true }

/** The loopback address of a wildcard address. */
const loopbacks: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }

/** A check for container engines and service managers. Throws a `command` fault if unhealthy. */
async function askHealth(context: CliContext): Promise<void> {
  const { host, port } = context.config()
  const name = loopbacks[host] ?? (host.includes(':') ? `[${host}]` : host)
  const url = `http://${name}:${port}/healthz`
  try {
    const { ok, status } = await fetch(url, { signal: AbortSignal.timeout(HEALTH_MS_MAX) })
    if (!ok) throw commandError(`${url} answered ${status}.`)
  } catch (cause) {
    if (isFault(cause, 'command', 'usage')) throw cause
    throw commandError(`${url} does not answer: ${messageOf(cause)}`, { cause })
  }
  context.print('healthy')
}

function showStatus(context: CliContext, { json }: Flags): void {
  const { dataPath } = context.config()
  const nowMs = context.clock()
  const status = readRecorderStatus(dataPath, nowMs)
  if (status === undefined) {
    const fault = `No recorder runs on ${dataPath}. bookfeed record starts one, and bookfeed serve does unless BOOKFEED_RECORD is off.`
    if (json) context.print(renderJson({ fault }))
    throw commandError(fault)
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

const age = (nowMs: number, timeMs: number): string =>
  `${((nowMs - timeMs) / 1000).toFixed(1)} s ago`

const sizeOf = (bytes: number): string =>
  bytes < 1e9 ? `${Math.floor(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`

/** The reason is in the warning, or known within half a minute of the start. */
const IDLE_TEXT = 'No market is recorded yet.'

/** Describes the messages that the recorder could not use. */
function unusedText({ faults, unknown, unfollowed = 0, lastMinute }: RecorderStatus): string {
  const first =
    lastMinute?.firstFault === undefined
      ? ''
      : ` (in the last minute ${formatCount(lastMinute.faults)}, the first because of ${lastMinute.firstFault})`
  return `Not understood: ${count(faults, 'message')}${first}, and ${formatCount(unknown)} of unknown types; ${formatCount(unfollowed)} for markets that are not followed.`
}

const clockText = ({ driftMs }: RecorderStatus): string =>
  driftMs === undefined
    ? "The venue's clock: unknown until the first message."
    : `The venue's clock is ${formatCount(Math.abs(driftMs))} ms ${driftMs < 0 ? 'ahead of' : 'behind'} the clock of this machine, including transit.`

function pricesText({ spot }: RecorderStatus, nowMs: number): string {
  const sources = spot.sources.map(({ name, isConnected, heardMs, refused }) => {
    if (refused !== undefined) return `${name}, refused: ${refused}`
    return isConnected ? name : `${name}, last price ${age(nowMs, heardMs)}`
  })
  const from = sources.join('; ') || 'no source (BOOKFEED_SPOT names none)'
  return `Prices of coins: ${formatCount(spot.ticks)}, from ${from}.`
}

function summaryOf(status: RecorderStatus, nowMs: number): string[] {
  const { connections, sink, startedMs, lastMessageMs, perSecond, freeBytes, raw } = status
  const live = connections.filter(({ state }) => state === 'live')
  const tokens = live.reduce((sum, each) => sum + each.tokens - each.withoutBook, 0)
  const gaps = status.markets.reduce((sum, { unknown }) => sum + unknown.length, 0)
  const isIdle = status.markets.length === 0
  const last = lastMessageMs === undefined ? 'none yet' : `the last ${age(nowMs, lastMessageMs)}`
  const free = freeBytes === undefined ? 'not known' : sizeOf(freeBytes)
  return [
    `Recording since ${toIso(startedMs)}.`,
    ...[status.fault, status.warning].flatMap((text) => text ?? []),
    ...(isIdle ? [IDLE_TEXT] : []),
    `Feed: ${count(live.length, 'connection')}, ${count(tokens, 'book')}, ${count(perSecond.messages, 'message')} a second, ${formatCount(status.messages)} in all, ${last}.`,
    `Stored: ${count(perSecond.rows, 'state')} a second, ${formatCount(sink.rows)} in ${count(sink.batches, 'batch', 'batches')}; ${formatCount(sink.waiting)} wait, ${formatCount(sink.dropped)} dropped.`,
    ...(raw
      ? [
          `Raw: ${count(raw.lines, 'line')} in ${count(raw.bytes, 'byte')}, ${formatCount(raw.waiting)} wait, ${formatCount(raw.dropped)} not kept.`,
        ]
      : []),
    sink.lagMs === undefined
      ? 'Lag: no state was stored yet.'
      : `Lag: ${formatCount(sink.lagMs)} ms from the venue's time until the last state was stored.`,
    pricesText(status, nowMs),
    `Gaps open now: ${formatCount(gaps)} of ${formatCount(status.markets.length * 2)} books.`,
    unusedText(status),
    clockText(status),
    `Disk free: ${free}.`,
  ]
}
