/** The recorder of a process: its venue, sockets, timers and files. */
import { hostname } from 'node:os'

import type { Config } from '#src/config/config.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { messageOf, sentenceOf } from '#src/platform/message.ts'
import { createReporter, type Every, type OpenSocket } from '#src/recorder/ports.ts'
import { type Recorder, startRecorder } from '#src/recorder/recorder.ts'
import type { CataloguePorts } from '#src/venue/catalogue.ts'
import type { Venue } from '#src/venue/venue.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { commandError } from './command-end.ts'
import type { CliContext } from './extension.ts'
import { createRawFiles } from './raw-files.ts'
import { createStatusFile } from './recorder-status.ts'
import { freeBytesOf } from './room.ts'

const STATUS_MS = 2000

/** A running recorder; `id` identifies it among the recorders of the history. */
export type RecordingJob = AsyncDisposable & Pick<Recorder, 'fault' | 'warning'> & { id: string }

/**
 * Starts the configured recorder and writes its status. Sockets, timers and requests are those of
 * the process unless others are passed.
 */
export function startRecording(
  context: CliContext,
  history: MarketHistory,
  {
    onStored,
    clockFault,
    openSocket = openProcessSocket,
    every = everyInProcess,
    fetch = globalThis.fetch,
  }: {
    /** Called when rows were committed. */
    onStored?: () => void
    /** Returns why the clock of this machine cannot be used; undefined if it can. */
    clockFault?: () => string | undefined
    openSocket?: OpenSocket
    every?: Every
    fetch?: CataloguePorts['fetch']
  } = {},
): RecordingJob {
  const { clock, printError } = context
  const config = context.config()
  const { dataPath, freeBytesMin } = config
  const raw = keepRaw(context, every, () => recorder.preamble())
  const venue = homeVenue
  const spotPage = config.spotSources
    .filter(({ name }) => name === 'page')
    .map(({ url }) => ({ page: venue.pricePage, url: url || venue.pricePage.url, fetch }))[0]
  const reporter = createReporter((line, level) => printError(`bookfeed: ${line}`, level))
  const recorder: Recorder = startRecorder({
    history,
    venue,
    clock,
    openSocket,
    every,
    keep: raw?.keep,
    freeBytesMin,
    onStored,
    clockFault,
    feed: venue.feed,
    feedUrl: config.feedUrl || venue.feed.url,
    catalogue: venue.createCatalogue({
      url: config.catalogueUrl || venue.catalogueUrl,
      fetch,
      pricesUrl: spotPage?.url,
      orderBookUrl: orderBookUrlOf(config, venue),
      warn: (text) => reporter.report('version', text),
    }),
    spotSources: config.spotSources.flatMap(({ name, url }) => {
      const feed = name === 'page' ? undefined : venue.spotFeeds[name]
      return feed ? [{ name, feed, url: url || feed.url, key: config.spotKey }] : []
    }),
    spotPage,
    coins: config.recordCoins,
    timeframes: config.recordTimeframes,
    maxPerSecond: config.statesPerSecond,
    feedCopies: config.feedConnections,
    hearsLifecycle: config.hearsLifecycle,
    batchMs: config.batchMs,
    freeBytes: () => freeBytesOf(dataPath),
    random: () => (context.randomBytes(1)[0] ?? 0) / 256,
    log: printError,
  })
  const startedMs = clock()
  const file = createStatusFile(dataPath, recorder)
  const write = () => {
    try {
      const raws = raw?.status()
      file.write({ startedMs, writtenMs: clock(), freeBytes: freeBytesOf(dataPath), raw: raws })
      reporter.settle('status', "The recorder's status can be written again.")
    } catch (error) {
      const text = `The recorder's status cannot be written: ${sentenceOf(error)}`
      reporter.report('status', `${text} bookfeed status may report that no recorder runs.`)
    }
  }
  const id = context.createId()
  const { recordCoins: coins, recordTimeframes: timeframes } = config
  let isSigning = false
  async function sign(): Promise<void> {
    if (isSigning) return
    isSigning = true
    try {
      const own = { id, name: hostname(), coins, timeframes, startedMs }
      await history.putRecorder({ ...own, signMs: clock() })
      reporter.settle('sign', 'Servers know again that this recorder lives.')
    } catch (error) {
      const text = `The sign of life of the recorder cannot be written: ${sentenceOf(error)}`
      reporter.report('sign', `${text} Servers may say that nothing is recorded.`)
    } finally {
      isSigning = false
    }
  }
  void sign()
  const stop = every(STATUS_MS, () => {
    write()
    void sign()
  })
  return {
    id,
    fault: recorder.fault,
    warning: recorder.warning,
    async [Symbol.asyncDispose]() {
      stop()
      await recorder.dispose()
      raw?.dispose()
      file.remove()
      // If this fails, its markets have a gap until another recorder starts.
      await history.endRecorder(id).catch(() => undefined)
    },
  }
}

/** Another catalogue has other markets, of which the venue's own order books know nothing. */
function orderBookUrlOf(
  { catalogueUrl, orderBookUrl }: Pick<Config, 'catalogueUrl' | 'orderBookUrl'>,
  venue: Venue,
): string | undefined {
  if (orderBookUrl === 'off') return undefined
  return orderBookUrl || (catalogueUrl === '' ? venue.orderBookUrl : undefined)
}

/** Creates the journal of raw messages; undefined if they are not kept. */
function keepRaw(
  { clock, config, printError }: CliContext,
  every: Every,
  preamble: () => string[],
) {
  const { rawPath: folder, rawBytesMax: bytesMax, freeBytesMin } = config()
  if (folder === '') return undefined
  const hasRoom = () => (freeBytesOf(folder) ?? freeBytesMin) >= freeBytesMin
  try {
    return createRawFiles({ folder, bytesMax, clock, every, log: printError, hasRoom, preamble })
  } catch (cause) {
    throw commandError(`BOOKFEED_RAW is ${folder}, which cannot be used: ${messageOf(cause)}.`, {
      cause,
    })
  }
}

const everyInProcess: Every = (ms, work) => {
  const timer = setInterval(work, ms)
  return () => clearInterval(timer)
}

const decoder = new TextDecoder()

const openProcessSocket: OpenSocket = (url, events) => {
  const socket = new WebSocket(url)
  let isOver = false
  socket.binaryType = 'arraybuffer'
  socket.onopen = () => {
    if (!isOver) events.opened()
  }
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (!isOver) events.message(typeof data === 'string' ? data : decoder.decode(data))
  }
  // A failure is followed by a close.
  socket.onerror = () => {}
  socket.onclose = ({ code, reason }) => {
    if (isOver) return
    isOver = true
    events.closed(`closed with code ${code}${reason === '' ? '' : ` (${reason})`}`)
  }
  return {
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    close() {
      isOver = true
      socket.close()
    },
  }
}
