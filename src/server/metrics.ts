/** Metrics of a server and of a recorder for Prometheus, on a port of their own. */

import { existsSync, readdirSync } from 'node:fs'

import type { Limits } from '#src/access/limits.ts'
import type { Copies } from '#src/database/copies.ts'
import { paymentStates } from '#src/domain/selling/payment.ts'
import { boundsMs, type Gauges, type Meters, readMeters } from '#src/http/meters.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { EXPOSITION_TYPE, printFamily, printHistogram } from '#src/platform/exposition.ts'
import { every, type Job } from '#src/platform/job.ts'
import type { Recorder } from '#src/recorder/recorder.ts'
import { missingReasons } from '#src/recorder/window-watch.ts'

import type { App } from './app.ts'
import type { CliContext, MetricsSource, Purpose } from './extension.ts'
import { serveAt } from './listen.ts'
import { filesOf } from './operator.ts'
import { readRecorderStatus } from './recorder-status.ts'
import { freeBytesOf } from './room.ts'
import { replicatedStores } from './stores.ts'
import type { UsageFlush } from './usage-flush.ts'

/** The interval of a timer whose lateness measures the delay of the event loop. */
const LOOP_MS = 20
const GAUGES_MS = 1000
const DESCRIPTORS = '/proc/self/fd'

export type Measuring = { meters: Meters; timer: () => number }

/** Measures the event loop and caches of one thread. */
export function startMeasuring(app: Pick<App, 'gauges'>, { meters, timer }: Measuring): Job {
  let dueMs = timer() + LOOP_MS
  let gaugesMs = 0
  return every(LOOP_MS, () => {
    const nowMs = timer()
    meters.lateness(Math.max(0, nowMs - dueMs))
    dueMs = nowMs + LOOP_MS
    if (nowMs < gaugesMs) return
    gaugesMs = nowMs + GAUGES_MS
    meters.set(app.gauges())
  })
}

type Sources = {
  context: CliContext
  app: App
  ledger: Ledger
  limits: Limits
  meterMemory: SharedArrayBuffer
  copies: Copies
  usageFlush: Pick<UsageFlush, 'failingMs'>
}

/** Answers `GET /metrics` at the configured address; undefined if none is configured. */
export async function startMetrics(sources: Sources & Measuring) {
  const { context } = sources
  const { metrics } = context.config()
  if (metrics === '') return undefined
  const ofExtensions = await openSources(context, 'serve')
  const parts = [
    printServer,
    printReplicas,
    printUsage,
    printProcess,
    printPayments,
    printRecorder,
    printDisk,
  ]
  const server = serveAt(metrics, 'BOOKFEED_METRICS', {
    fetch: (request) =>
      isGet(request, '/metrics')
        ? exposed(() => parts.flatMap((print) => print(sources)), ofExtensions)
        : new Response('See /metrics\n', { status: 404 }),
  })
  const measuring = startMeasuring(sources.app, sources)
  const dispose = (): void => {
    measuring.dispose()
    void server.stop(true)
    for (const source of ofExtensions) source.dispose()
  }
  return { url: new URL('/metrics', server.url), dispose }
}

/**
 * Answers `GET /metrics`, `/healthz` and `/readyz` of a recorder that runs without a server;
 * undefined if no address is configured.
 */
export async function startRecorderMetrics(
  context: CliContext,
  recorder: Pick<Recorder, 'fault' | 'warning'>,
): Promise<(Disposable & { url: URL }) | undefined> {
  const { recordMetrics } = context.config()
  if (recordMetrics === '') return undefined
  const { version } = context
  const ofExtensions = await openSources(context, 'record')
  const parts = [printProcess, printRecorder, printDisk]
  const server = serveAt(recordMetrics, 'BOOKFEED_RECORD_METRICS', {
    fetch(request) {
      if (isGet(request, '/metrics'))
        return exposed(() => parts.flatMap((print) => print({ context })), ofExtensions)
      if (isGet(request, '/healthz')) return Response.json({ status: 'ok', version })
      if (!isGet(request, '/readyz'))
        return new Response('See /metrics, /healthz and /readyz\n', { status: 404 })
      const reason = recorder.fault()
      return reason === undefined
        ? Response.json({ ready: true, warning: recorder.warning() })
        : Response.json({ ready: false, reason }, { status: 503 })
    },
  })
  return {
    url: new URL('/metrics', server.url),
    [Symbol.dispose]() {
      void server.stop(true)
      for (const source of ofExtensions) source.dispose()
    },
  }
}

async function openSources(context: CliContext, purpose: Purpose): Promise<MetricsSource[]> {
  const opening = context.extensions.map(({ metrics }) => metrics?.(context, purpose))
  return (await Promise.all(opening)).filter((source) => source !== undefined)
}

const isGet = ({ method, url }: Request, path: string): boolean =>
  method === 'GET' && new URL(url).pathname === path

/** Reads the metrics of this process last, because those of an extension may take seconds. */
async function exposed(
  print: () => readonly string[],
  ofExtensions: readonly MetricsSource[],
): Promise<Response> {
  const lines = (await Promise.all(ofExtensions.map((source) => source.print()))).flat()
  const text = [...print(), ...lines].join('\n')
  return new Response(`${text}\n`, { headers: { 'Content-Type': EXPOSITION_TYPE } })
}

const MS = 1000
const boundsSeconds = boundsMs.map((ms) => ms / MS)

function printServer({ app, limits, meterMemory }: Sources): string[] {
  const { answered, problems, loops, gauges } = readMeters(meterMemory)
  const byThread = (name: keyof Gauges) =>
    gauges.map((own, thread) => [{ thread }, own[name]] as const)
  const caches = gauges.flatMap((own, thread) => [
    { cache: 'page', thread, bytes: own.pageCacheBytes },
    { cache: 'chunk', thread, bytes: own.chunkCacheBytes },
  ])
  const total = (name: keyof Gauges) => gauges.reduce((sum, own) => sum + own[name], 0)
  return [
    ...printHistogram({
      name: 'bookfeed_http_request_duration_seconds',
      help: 'Time from the arrival of a request to its answer; of a stream to its beginning.',
      bounds: boundsSeconds,
      series: answered.map(({ place, status, counts, sumMs }) => {
        const [method = '', route = method] = app.timedNames[place]?.split(' ') ?? []
        return { labels: { method, route, status }, counts, sum: sumMs / MS }
      }),
    }),
    ...printHistogram({
      name: 'bookfeed_event_loop_delay_seconds',
      help: 'How late timers of the event loop of a thread are.',
      bounds: boundsSeconds,
      series: loops.map(({ counts, sumMs }, thread) => {
        return { labels: { thread }, counts, sum: sumMs / MS }
      }),
    }),
    ...printFamily({
      name: 'bookfeed_http_problems_total',
      type: 'counter',
      help: 'Refusals and failures of routes by their code: rate_limited is the limiter.',
      samples: problems.map(({ code, count }) => [{ code }, count]),
    }),
    ...printFamily({
      name: 'bookfeed_waiting_requests',
      type: 'gauge',
      help: 'Requests, and parts of streams, that wait.',
      samples: byThread('waiting'),
    }),
    ...printFamily({
      name: 'bookfeed_followers',
      type: 'gauge',
      help: 'Groups of subscribers that receive the same rows.',
      samples: byThread('followers'),
    }),
    ...printFamily({
      name: 'bookfeed_places',
      type: 'gauge',
      help: 'Long requests, streams (exports too) and WebSockets that are open.',
      samples: [
        [{ kind: 'job' }, limits.jobs.total()],
        [{ kind: 'stream' }, limits.streams.total()],
        [{ kind: 'websocket' }, limits.connections.total()],
      ],
    }),
    ...printFamily({
      name: 'bookfeed_cache_bytes',
      type: 'gauge',
      help: 'Memory of caches.',
      samples: caches.map(({ bytes, ...labels }) => [labels, bytes]),
    }),
    ...printFamily({
      name: 'bookfeed_cache_lookups_total',
      type: 'counter',
      help: 'Lookups in caches, by result.',
      samples: [
        [{ cache: 'page', result: 'hit' }, total('pageCacheHits')],
        [{ cache: 'page', result: 'miss' }, total('pageCacheMisses')],
        [{ cache: 'chunk', result: 'hit' }, total('chunkCacheHits')],
        [{ cache: 'chunk', result: 'miss' }, total('chunkCacheMisses')],
      ],
    }),
    ...printFamily({
      name: 'bookfeed_bucket_requests_total',
      type: 'counter',
      help: 'Requests for books to the bucket, by result.',
      samples: [
        [{ result: 'answered' }, total('bucketAnswered')],
        [{ result: 'failed' }, total('bucketFailed')],
      ],
    }),
    ...printFamily({
      name: 'bookfeed_bucket_request_seconds_total',
      type: 'counter',
      help: 'Time of these requests.',
      samples: [[{}, total('bucketMs') / MS]],
    }),
    ...printFamily({
      name: 'bookfeed_bucket_received_bytes_total',
      type: 'counter',
      help: 'Bytes of books that the bucket has sent.',
      samples: [[{}, total('bucketBytes')]],
    }),
  ]
}

function printReplicas({ context, copies }: Sources): string[] {
  return printFamily({
    name: 'bookfeed_replica_age_seconds',
    type: 'gauge',
    help: 'How much older the copy of a store may be than its database.',
    samples: replicatedStores(context).map((store) => [{ store }, copies.ageMs(store) / MS]),
  })
}

function printUsage({ usageFlush }: Sources): string[] {
  return printFamily({
    name: 'bookfeed_usage_unwritten_seconds',
    type: 'gauge',
    help: 'Time since the ledger last took the usage of keys; 0 while it does.',
    samples: [[{}, usageFlush.failingMs() / MS]],
  })
}

function printProcess({ context }: Pick<Sources, 'context'>): string[] {
  const { user, system } = process.cpuUsage()
  const { version } = context
  const gauge = (name: string, help: string, value: number) =>
    printFamily({ name, help, type: 'gauge', samples: [[{}, value]] })
  return [
    ...printFamily({
      name: 'bookfeed_build_info',
      type: 'gauge',
      help: 'Version of the server.',
      samples: [[{ version }, 1]],
    }),
    ...gauge('process_start_time_seconds', 'When the process began.', performance.timeOrigin / MS),
    ...gauge(
      'process_resident_memory_bytes',
      'Memory, mapped files too.',
      process.memoryUsage.rss(),
    ),
    ...gauge('process_heap_bytes', 'Objects of this thread.', process.memoryUsage().heapUsed),
    ...printFamily({
      name: 'process_open_fds',
      type: 'gauge',
      help: 'Open files and connections.',
      samples: [[{}, openFiles()]],
    }),
    ...printFamily({
      name: 'process_cpu_seconds_total',
      type: 'counter',
      help: 'Processor time of all threads.',
      samples: [[{}, (user + system) / 1e6]],
    }),
  ]
}

/** The number of open files; undefined except on Linux. */
const openFiles = (): number | undefined =>
  existsSync(DESCRIPTORS) ? readdirSync(DESCRIPTORS).length : undefined

function printPayments({ ledger }: Sources): string[] {
  const counts = ledger.payments.countPayments()
  return printFamily({
    name: 'bookfeed_payments',
    type: 'gauge',
    help: 'Payments by state; of those in review, the undecided ones.',
    samples: paymentStates.map((state) => [{ state }, counts[state] ?? 0]),
  })
}

function printRecorder({ context }: Pick<Sources, 'context'>): string[] {
  const status = readRecorderStatus(context.config().dataPath, context.clock())
  type Line = [type: 'counter' | 'gauge', name: string, help: string, value: number | undefined]
  const print = (...[type, name, help, value]: Line) =>
    printFamily({ name: `bookfeed_recorder_${name}`, help, type, samples: [[{}, value]] })
  const books = status?.markets.length
  const known = status?.markets.reduce((sum, { unknown }) => sum + unknown.length, 0)
  const live = status?.connections.filter(({ state }) => state === 'live').length
  const lastMs = status?.lastMessageMs
  return [
    ...print('gauge', 'up', 'Whether a recorder runs on the data folder.', status ? 1 : 0),
    ...print(
      'gauge',
      'faulty',
      'Whether the recorder cannot store data.',
      status && Number(!!status.fault),
    ),
    ...print('gauge', 'markets', 'Markets that are recorded.', books),
    ...print('gauge', 'open_gaps', 'Books with an open gap.', known),
    ...print('gauge', 'connections', 'Live connections to the venue.', live),
    ...print('gauge', 'lag_seconds', "The venue's time to the disk.", seconds(status?.sink.lagMs)),
    ...print('gauge', 'last_message_seconds', 'Time of the last message.', seconds(lastMs)),
    ...print('gauge', 'waiting', 'States that wait to be stored.', status?.sink.waiting),
    ...print('counter', 'messages_total', 'Messages of the venue.', status?.messages),
    ...print('counter', 'rows_total', 'States that were stored.', status?.sink.rows),
    ...print('counter', 'dropped_total', 'States that were dropped.', status?.sink.dropped),
    ...print('counter', 'faults_total', 'Messages that cannot be read.', status?.faults),
    ...print(
      'counter',
      'unfollowed_total',
      'Messages of markets that are not followed.',
      status?.unfollowed,
    ),
    ...print(
      'gauge',
      'unreadable_ratio',
      'Share of the messages of the last minute that cannot be read, 0 to 1.',
      status?.lastMinute && status.lastMinute.faults / Math.max(1, status.lastMinute.events),
    ),
    ...printFamily({
      name: 'bookfeed_recorder_windows_missing',
      type: 'gauge',
      help: 'Open windows that are not recorded, by the reason.',
      samples: missingReasons.map((reason) => [
        { reason },
        status?.windows?.missing.filter((each) => each.reason === reason).length,
      ]),
    }),
  ]
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? ms : ms / MS)

const fileNames = [
  'history.db',
  'ledger.db',
  'replica-history.db',
  'replica-ledger.db',
  'chunks.db',
]

function printDisk({ context }: Pick<Sources, 'context'>): string[] {
  const { dataPath } = context.config()
  const names = fileNames.flatMap((name) => [name, `${name}-wal`])
  return [
    ...printFamily({
      name: 'bookfeed_disk_free_bytes',
      type: 'gauge',
      help: 'Room for the data folder.',
      samples: [[{}, freeBytesOf(dataPath)]],
    }),
    ...printFamily({
      name: 'bookfeed_file_bytes',
      type: 'gauge',
      help: 'Size of a file of the data folder.',
      samples: filesOf(dataPath, names).map(({ name, bytes }) => [{ file: name }, bytes]),
    }),
  ]
}
