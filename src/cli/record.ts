import { Command } from 'commander'

import type { MarketHistory } from '#src/history/history.ts'
import { messageOf, sentenceOf } from '#src/platform/message.ts'
import { createReporter, type Every, type OpenSocket } from '#src/recorder/ports.ts'
import { type Recorder, startRecorder } from '#src/recorder/recorder.ts'
import type { CataloguePorts } from '#src/venue/catalogue.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { commandError, stopSignal } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { checkAddressAt } from '../server/listen.ts'
import { startRecorderMetrics } from '../server/metrics.ts'
import { holdDataFolder, openDataFolder } from '../server/open-data-folder.ts'
import { createRawFiles } from '../server/raw-files.ts'
import { createStatusFile } from '../server/recorder-status.ts'
import { startRetention } from '../server/retention.ts'
import { freeBytesOf } from '../server/room.ts'
import { backUpBeforeUpgrade } from '../server/scheduled-backups.ts'
import { asService } from '../server/service-lines.ts'

const STATUS_MS = 2000

const help = `
Finds and records markets until SIGTERM or SIGINT. bookfeed serve does the same beside serving, unless
BOOKFEED_RECORD is off; run this command if another process serves the same folder.
bookfeed status shows the state of the recorder, from any terminal. With BOOKFEED_RECORD_METRICS,
Prometheus and probes can ask it: /metrics, /readyz and /healthz.`

/** `bookfeed record`: records the venue and serves nothing. */
export const recordCommand = (context: CliContext): Command =>
  new Command('record')
    .description('record the venue until SIGTERM or SIGINT, without serving')
    .addHelpText('after', help)
    .action(() => record(context))

async function record(real: CliContext): Promise<void> {
  using context = asService(real)
  const { recordMetrics } = context.config()
  if (recordMetrics !== '') await checkAddressAt(recordMetrics, 'BOOKFEED_RECORD_METRICS')
  using _recorder = holdDataFolder(context, 'recorder')
  await backUpBeforeUpgrade(context)
  const history = openDataFolder(context, 'record')
  try {
    const { recordCoins, recordTimeframes } = context.config()
    using stop = stopSignal(context)
    using job = startRecording(context, history)
    using _retention = startRetention(context, history)
    using metrics = await startRecorderMetrics(context, job)
    context.print(`Recording ${recordCoins.join(', ')} of ${recordTimeframes.join(', ')}.`)
    if (metrics !== undefined) context.print(`Metrics: ${metrics.url}`)
    if (!stop.signal.aborted)
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve))
  } finally {
    history.dispose()
  }
}

export type RecordingJob = Disposable & Pick<Recorder, 'fault' | 'warning'>

/**
 * Starts the recorder as the configuration says, and writes down what it does. Sockets, timers and
 * requests are those of the process unless others are passed.
 */
export function startRecording(
  context: CliContext,
  history: MarketHistory,
  {
    onStored,
    openSocket = openProcessSocket,
    every = everyInProcess,
    fetch = globalThis.fetch,
  }: {
    /** Called when rows were committed. */
    onStored?: () => void
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
    feed: venue.feed,
    feedUrl: config.feedUrl || venue.feed.url,
    catalogue: venue.createCatalogue({
      url: config.catalogueUrl || venue.catalogueUrl,
      fetch,
      pricesUrl: spotPage?.url,
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
  const stop = every(STATUS_MS, write)
  return {
    fault: recorder.fault,
    warning: recorder.warning,
    [Symbol.dispose]() {
      stop()
      recorder.dispose()
      raw?.dispose()
      file.remove()
    },
  }
}

/** Undefined where raw messages are not to be kept. */
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
