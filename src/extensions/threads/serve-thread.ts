/**
 * A thread that answers requests for data, from the same two files and on the same port as others.
 * What it cannot answer by itself it asks of the first thread, which alone writes.
 */

import { createLimits } from '#src/access/limits.ts'
import { type Freshness, replicaAgeMs } from '#src/database/stores.ts'
import { tokenOf } from '#src/domain/selling/api-key.ts'
import { callerLevels } from '#src/domain/selling/caller.ts'
import { createSteadyClock } from '#src/domain/steady-clock.ts'
import type { ExportReport } from '#src/features/exports/records.ts'
import { REQUEST_ID_HEADER } from '#src/http/common-headers.ts'
import { trackDelivery } from '#src/http/delivery.ts'
import { openMeters } from '#src/http/meters.ts'
import { problemResponse } from '#src/http/problem.ts'
import { createUnread, type Unread } from '#src/http/unread.ts'
import { createLogBuffer } from '#src/platform/log-buffer.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'
import { createReader, type Reader } from '#src/server/app.ts'
import type { ReaderDeps } from '#src/server/core.ts'
import { dispatchByKey } from '#src/server/dispatch.ts'
import { type CliContext, loadExtensions, type Usage } from '#src/server/extension.ts'
import { listen } from '#src/server/listen.ts'
import { startMeasuring } from '#src/server/metrics.ts'
import { prepareStores } from '#src/server/open-data-folder.ts'
import { watchSilence } from '#src/server/recorder-status.ts'
import {
  type AgeOf,
  openServedHistory,
  openServedLedger,
  staleSinceOf,
} from '#src/server/served-stores.ts'
import { atMost, DRAIN_MS_MAX, every, FLUSH_MS, startStream } from '#src/server/server-jobs.ts'
import { asService } from '#src/server/service-lines.ts'
import { openTestData } from '#src/server/test-data.ts'
import { createTestServer } from '#src/server/test-server.ts'
import { createTimeFloor } from '#src/server/time-floor.ts'

import { openSharedChoice } from './shared-choice.ts'
import { createSharedStore, type LimitMemory } from './shared-store.ts'

/** What a thread begins with. Threads count from 1: the one that writes is 0. */
export type ThreadStart = {
  thread: number
  threads: number
  port: number
  limits: LimitMemory
  /** The market of the sample. */
  choice: SharedArrayBuffer
  /** Measurements of all threads. */
  meters: SharedArrayBuffer
  /** The first thread's monotonic clock at the start of this one. */
  startedMs: number
  /** Each live thread increments its counter once a second. */
  beats: Int32Array
  /** How new replicas are; undefined where the stores are files. */
  freshness: Freshness | undefined
  /** Whether standard error is a terminal, which a thread cannot tell. */
  isTty: boolean
}

/** A request as it goes from thread to thread. */
export type Asked = {
  id: number
  method: string
  url: string
  headers: [name: string, value: string][]
  body: ArrayBuffer
  address: string | undefined
}
export type Answered = {
  status: number
  headers: [name: string, value: string][]
  body: ArrayBuffer
  /** The first thread is to learn whether the whole body was handed over. */
  isTracked: boolean
}
export type ToThread = 'wake' | 'stop'
export type FromThread =
  | { listening: true }
  | { ask: Asked }
  /** Answered when the ledger of this thread has what was committed before. */
  | { catchUp: true }
  | { sent: { id: number; isWhole: boolean } }
  | { used: Usage }
  /** What is known of an export of this thread. */
  | { exported: ExportReport; of: 'real' | 'test' }
  | { log: string }

const BEAT_MS = 1000
/** How long a connection is kept whose request the first thread answers: as long as Bun can. */
const ASKED_SECONDS_MAX = 255

/** The thread begins with the file that the process began with. */
export const serveWorker = (context: CliContext) =>
  defineWorker(
    { name: 'serve', purpose: 'serves', file: context.program, keepsProcess: true },
    (start: ThreadStart, parent: Parent<FromThread, ToThread>) =>
      serveThread(context, start, parent),
  )

/** Resolves when it was stopped. */
async function serveThread(
  given: CliContext,
  start: ThreadStart,
  parent: Parent<FromThread, ToThread>,
): Promise<void> {
  const { thread, threads, port, startedMs, beats, freshness } = start
  const context = asService({ ...given, isTty: start.isTty })
  const config = shareOf(context.config(), threads)
  const { dataPath } = config
  await prepareStores(context)
  const timer = () => startedMs + performance.now()
  const ageOf: AgeOf | undefined = freshness && ((store) => replicaAgeMs(freshness, store, timer()))
  const history = openServedHistory(context, config)
  const ledger = openServedLedger(context)
  const log = createLogBuffer((lines) => parent.send({ log: lines }))
  const meters = openMeters(start.meters, thread)
  const extensions = await loadExtensions(context.extensions)
  // All memory is there.
  const store = createSharedStore(start.limits, { seed: 0, threads: 0, thread })
  const sellsWithoutKey = extensions.some((own) => own.sellsWithoutKey?.(config) === true)
  const clock = createSteadyClock({
    clock: context.clock,
    timer,
    floor: createTimeFloor(dataPath),
  }).now
  const real = {
    ...context,
    history,
    ledger,
    timer,
    config,
    silence: watchSilence(dataPath, context.clock),
    clock,
    staleSince: staleSinceOf(context, clock, ageOf),
    catchUp: freshness && (() => parent.ask<void>({ catchUp: true })),
    limits: createLimits(config.streamsMax, store),
    sampleChoice: openSharedChoice(start.choice),
    meters,
    exports: { put: (exported: ExportReport) => parent.send({ exported, of: 'real' }) },
    testExports: { put: (exported: ExportReport) => parent.send({ exported, of: 'test' }) },
    log: log.write,
    extensions,
  }
  const unread = createUnread(real.limits)
  const addressOf = createClientAddress(createNetworkSet(config.trustedProxies))
  const first = createQuestions({
    ask: (ask) => parent.ask({ ask }, [ask.body]),
    onSent: (id, isWhole) => parent.send({ sent: { id, isWhole } }),
    unread,
    addressOf,
  })
  const testData = openTestData(dataPath)
  const test = config.hasTestMode
    ? createTestServer<ReaderDeps>({
        deps: real,
        createApp: createReader,
        sleep: (ms) => Bun.sleep(ms),
        open: testData.open,
        // The first thread has them made.
        otherwise: first.ask,
      })
    : undefined
  const reader = createReader(real)
  const front = dispatchByKey(reader, test)
  const fetch: Reader['fetch'] = (request, peers) =>
    reader.isRouted(request) && !(sellsWithoutKey && isPaidSingly(request, peers))
      ? front.fetch(request, peers)
      : first.ask(request, peers)
  /** Only the first thread sells and counts; live connections have their own ways to send a key. */
  const isPaidSingly: typeof reader.isMetered = (request, peers) =>
    !request.headers.has('upgrade') &&
    (tokenOf(request.headers.get('authorization')) === undefined ||
      reader.isMetered(request, peers))
  const { frequentPaths } = reader
  const server = listen(
    { fetch, stream: front.stream, frequentPaths },
    { host: config.host, port },
    true,
  )

  function postUsage(): void {
    const used = front.takeUsage()
    if (used.real.length + used.test.length > 0) parent.send({ used })
  }
  const stream = startStream(front)
  const jobs = [
    stream,
    every(FLUSH_MS, postUsage, postUsage),
    every(BEAT_MS, () => void Atomics.add(beats, thread, 1)),
    ...(config.metrics === '' ? [] : [startMeasuring(reader, { meters, timer })]),
  ]

  const stopped = Promise.withResolvers<void>()
  void parent.receive((message) => {
    if (message === 'wake') stream.wake()
    else stopped.resolve()
  })
  parent.send({ listening: true })

  await stopped.promise
  front.drain()
  await atMost(server.stop(), DRAIN_MS_MAX)
  await server.stop(true)
  for (const job of jobs) job.dispose()
  log.flush()
  for (const file of [history, ledger, testData]) file.dispose()
}

/** The threads' caches together are as large as configured. */
const shareOf = (config: ReturnType<CliContext['config']>, threads: number) => ({
  ...config,
  chunkCacheBytes: Math.floor(config.chunkCacheBytes / threads),
  pageCacheBytes: Math.floor(config.pageCacheBytes / threads),
})

type Questions = {
  ask: (ask: Asked) => Promise<Answered>
  /** Of an answer that is tracked: whether the connection took the whole body. */
  onSent: (id: number, isWhole: boolean) => void
  unread: Pick<Unread, 'hold'>
  addressOf: ReturnType<typeof createClientAddress>
}

/** Whose key a question came with, the first thread knows: here its address counts. */
const LEVEL = callerLevels.indexOf('free')

function createQuestions({ ask, onSent, unread, addressOf }: Questions) {
  let lastId = 0
  return {
    async ask(...[request, peers]: Parameters<Reader['fetch']>): Promise<Response> {
      const { method, url, headers } = request
      const holder = { owner: `address ${addressOf(request, peers)}`, level: LEVEL }
      const address = peers?.requestIP(request)?.address
      const body = await request.arrayBuffer()
      peers?.timeout?.(request, ASKED_SECONDS_MAX)
      const id = ++lastId
      const answer = await ask({ id, method, url, headers: [...headers], body, address })
      const bytes = answer.body.byteLength
      if (peers !== undefined) {
        try {
          unread.hold({ request, peers, bytes, holder }, answer.isTracked)
        } catch (error) {
          return problemResponse(error, new Headers(answer.headers).get(REQUEST_ID_HEADER) ?? '')
        }
      }
      // Bun would send a length of 0 for an empty text.
      const hasBody = method !== 'HEAD' && answer.body.byteLength > 0
      const response = new Response(hasBody ? answer.body : null, answer)
      return answer.isTracked ? trackDelivery(response, (isWhole) => onSent(id, isWhole)) : response
    },
  }
}
