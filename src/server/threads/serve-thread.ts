/**
 * A thread that answers requests for data from the same files and on the same port as other threads.
 * It passes all other requests to the first thread, which alone writes.
 */

import { createLimits } from '#src/access/limits.ts'
import { isLinkPath } from '#src/access/links.ts'
import { openCopies } from '#src/database/copies.ts'
import { prepareStore, type StoreName } from '#src/database/stores.ts'
import { tokenOf } from '#src/domain/selling/api-key.ts'
import { callerLevels } from '#src/domain/selling/caller.ts'
import { createSteadyClock } from '#src/domain/steady-clock.ts'
import type { ExportReport } from '#src/features/exports/records.ts'
import { trackDelivery } from '#src/http/delivery.ts'
import { openMeters } from '#src/http/meters.ts'
import { problemResponse } from '#src/http/problem.ts'
import { REQUEST_ID_HEADER } from '#src/http/promises.ts'
import { toError } from '#src/http/tasks.ts'
import { createUnread, type Unread } from '#src/http/unread.ts'
import { every } from '#src/platform/job.ts'
import { createLogBuffer } from '#src/platform/log-buffer.ts'
import { createClientAddress, createNetworkSet } from '#src/platform/network.ts'
import { connectPool, type PoolAsk } from '#src/platform/pool/shared.ts'
import { atMost } from '#src/platform/timeout.ts'
import { defineWorker, type Parent } from '#src/platform/worker.ts'

import { type App, type AppParts, createApp } from '../app.ts'
import { createTimeFloor } from '../clocks.ts'
import { dispatchByKey } from '../dispatch.ts'
import type { Usage } from '../dispatch.ts'
import { type CliContext, isKeyless, loadExtensions } from '../extension.ts'
import { DRAIN_MS_MAX, listen } from '../listen.ts'
import { startMeasuring } from '../metrics.ts'
import { asService } from '../service-lines.ts'
import { watchSilences } from '../silences.ts'
import { ledgerCopyOf, openServedHistory, openServedLedger } from '../stores.ts'
import { startStream } from '../streams.ts'
import { openTestData } from '../test-data.ts'
import { createTestServer } from '../test-server.ts'
import { FLUSH_MS } from '../usage-flush.ts'
import { createSharedStore, type LimitMemory, openSharedChoice } from './shared-memory.ts'

/** The start data of a thread. Thread 0 is the first thread, which writes. */
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
  /** The ages of copies of stores. */
  copies: SharedArrayBuffer
  /** True if standard error is a terminal, which a thread cannot find out. */
  isTty: boolean
}

/** A request that is passed to another thread. */
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
  /** True if the first thread is notified when the body has ended. */
  isTracked: boolean
}
export type ToThread = 'wake' | 'stop'
export type FromThread =
  | { listening: true }
  | { ask: Asked }
  /** Answered when the copy of a store has all earlier commits. */
  | { pull: StoreName }
  /** Long work for the pool of the first thread. */
  | { pool: PoolAsk }
  | { sent: { id: number; isWhole: boolean } }
  | { used: Usage }
  /** The state of an export of this thread. */
  | { exported: ExportReport; of: 'real' | 'test' }
  | { log: string }

const BEAT_MS = 1000
/** The timeout of a connection whose request the first thread answers: the maximum of Bun. */
const ASKED_SECONDS_MAX = 255

/** The thread loads the file that the process began with. */
export const serveWorker = (context: CliContext) =>
  defineWorker(
    { name: 'serve', purpose: 'serves', file: context.program, keepsProcess: true },
    (start: ThreadStart, parent: Parent<FromThread, ToThread>) =>
      serveThread(context, start, parent),
  )

/** Resolves when the thread was stopped. */
async function serveThread(
  given: CliContext,
  start: ThreadStart,
  parent: Parent<FromThread, ToThread>,
): Promise<void> {
  const { thread, threads, port, startedMs, beats } = start
  const context = asService({ ...given, isTty: start.isTty })
  const config = shareOf(context.config(), threads)
  const { dataPath } = config
  await prepareStore()
  const timer = () => startedMs + performance.now()
  const history = openServedHistory(context, config)
  const ledger = openServedLedger(context)
  const log = createLogBuffer((lines) => parent.send({ log: lines }))
  const meters = openMeters(start.meters, thread)
  const extensions = await loadExtensions(context.extensions)
  // The first thread has made all of the memory.
  const store = createSharedStore(start.limits, { seed: 0, threads: 0, thread })
  const sellsWithoutKey = isKeyless(extensions, config)
  const clock = createSteadyClock({
    clock: context.clock,
    timer,
    floor: createTimeFloor(dataPath),
  }).now
  const copies = openCopies({ clock, timer, memory: start.copies })
  const limits = createLimits(config.streamsMax, store)
  const real: AppParts = {
    history,
    ledger,
    config,
    extensions,
    clock,
    timer,
    createId: context.createId,
    randomBytes: context.randomBytes,
    log: log.write,
    version: context.version,
    silences: watchSilences(history, { clock, copies }),
    ledgerCopy: ledgerCopyOf(context, copies, () => parent.ask<void>({ pull: 'ledger' })),
    limits,
    meters,
    sampleChoice: openSharedChoice(start.choice),
    reportExport: (exported) => parent.send({ exported, of: 'real' }),
    pool: connectPool({
      ask: (pool) => parent.ask({ pool }),
      send: (pool) => parent.send({ pool }),
      toError,
    }),
  }
  const first = createQuestions({
    ask: (ask) => parent.ask({ ask }, [ask.body]),
    onSent: (id, isWhole) => parent.send({ sent: { id, isWhole } }),
    unread: createUnread(limits),
    addressOf: createClientAddress(createNetworkSet(config.trustedProxies)),
  })
  const testData = openTestData(dataPath)
  const test = config.hasTestMode
    ? createTestServer({
        real,
        limits,
        reportExport: (exported) => parent.send({ exported, of: 'test' }),
        sleep: (ms) => Bun.sleep(ms),
        open: testData.open,
        // The first thread starts to make the data.
        otherwise: first.ask,
      })
    : undefined
  const app = createApp(real)
  const front = dispatchByKey(app, test)
  const fetch: App['fetch'] = (request, peers) =>
    app.isRouted(request) && !(sellsWithoutKey && isPaidSingly(request, peers))
      ? front.fetch(request, peers)
      : first.ask(request, peers)
  /** True if only the first thread can sell or count the request. Live connections send keys later. */
  const isPaidSingly: App['isMetered'] = (request, peers) =>
    !request.headers.has('upgrade') &&
    !isLinkPath(request.url) &&
    (tokenOf(request.headers.get('authorization')) === undefined || app.isMetered(request, peers))
  const server = listen(
    { fetch, stream: front.stream, frequentPaths: app.frequentPaths },
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
    ...(config.metrics === '' ? [] : [startMeasuring(app, { meters, timer })]),
  ]

  const stopped = Promise.withResolvers<void>()
  void parent.receive((message) => {
    if (message === 'wake') stream.wake()
    else stopped.resolve()
  })
  parent.send({ listening: true })

  await stopped.promise
  front.drain()
  await atMost(DRAIN_MS_MAX, server.stop())
  await server.stop(true)
  for (const job of jobs) job.dispose()
  log.flush()
  for (const file of [history, ledger, testData]) file.dispose()
}

/** Divides the configured caches among the threads. */
const shareOf = (config: ReturnType<CliContext['config']>, threads: number) => ({
  ...config,
  chunkCacheBytes: Math.floor(config.chunkCacheBytes / threads),
  pageCacheBytes: Math.floor(config.pageCacheBytes / threads),
})

type Questions = {
  ask: (ask: Asked) => Promise<Answered>
  /** Called for a tracked response: whether the connection took the whole body. */
  onSent: (id: number, isWhole: boolean) => void
  unread: Pick<Unread, 'hold'>
  addressOf: ReturnType<typeof createClientAddress>
}

/** Only the first thread knows the key of the request, so bytes are counted by address. */
const LEVEL = callerLevels.indexOf('free')

function createQuestions({ ask, onSent, unread, addressOf }: Questions) {
  let lastId = 0
  return {
    async ask(...[request, peers]: Parameters<App['fetch']>): Promise<Response> {
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
      // For an empty text Bun would send a length of 0.
      const hasBody = method !== 'HEAD' && answer.body.byteLength > 0
      const response = new Response(hasBody ? answer.body : null, answer)
      return answer.isTracked ? trackDelivery(response, (isWhole) => onSent(id, isWhole)) : response
    },
  }
}
