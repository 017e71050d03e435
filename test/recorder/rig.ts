/**
 * A venue, the recorder and the app in one process, with a clock that stands still while messages
 * are on their way: what happens does not depend on how fast the machine is.
 */
import { setImmediate } from 'node:timers/promises'

import { parseConditionId } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Every, OpenSocket } from '#src/recorder/ports.ts'
import { type Recorder, type RecorderOptions, startRecorder } from '#src/recorder/recorder.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { createHarness } from '../support/harness.ts'
import { openHistoryIn } from '../support/stores.ts'
import { type GeneratedOptions, generatedPlaybook } from '../support/venue/generated.ts'
import { START_MS } from '../support/venue/ground.ts'
import type { Playbook } from '../support/venue/playbook.ts'
import { startVenue, type Venue, type VenueOptions } from '../support/venue/venue.ts'
import { type Ask, faultsOf, judge, type Judgement } from './judge.ts'

/** How far the clock moves at once. */
const STEP_MS = 5
/** Rounds of the event loop in which what was sent arrives. */
const TURNS = 3
/** The same while more is on its way than a socket takes. */
const FULL_TURNS = 100

export type RigOptions = {
  generated?: Partial<GeneratedOptions>
  playbook?: Playbook
  startMs?: number
  venue?: Partial<VenueOptions>
  recorder?: Partial<RecorderOptions>
  stepMs?: number
  /** A venue in another process is heard instead, which plays up to a moment. */
  away?: { urls: VenueUrls; play(nowMs: number): Promise<void> }
  /** In memory unless said. */
  historyPath?: string
  chunkCacheBytes?: number
  /** Sources of prices; none unless said. */
  spotOf?: (venue: Venue) => RecorderOptions['spotSources']
  /** How long a message of the venue is on its way now. */
  lateMs?: () => number
  /** What the recorder asks instead of the catalogue itself. */
  catalogueOf?: typeof polymarket.createCatalogue
}

/** A venue, and what a recorder of it takes from outside: all move only with `advance`. */
export async function startSteppedVenue(
  options: Pick<RigOptions, 'generated' | 'playbook' | 'startMs' | 'venue' | 'stepMs' | 'away'>,
) {
  const { startMs = START_MS, stepMs = STEP_MS } = options
  let nowMs = startMs
  const clock = () => nowMs
  const { every, run } = createTimers(clock)
  const book = gated(
    options.playbook ??
      generatedPlaybook({ seed: 'rig', startMs, stepsPerSecond: 50, ...options.generated }),
  )
  const venue = await startVenue({
    playbook: book.playbook,
    pace: { by: 'clock', clock, every },
    ...options.venue,
  })

  /** Lets what is on its way arrive, at the venue and here. */
  async function settle(): Promise<void> {
    await options.away?.play(nowMs)
    while (book.pumpedMs() < nowMs) await setImmediate()
    while (questions.size > 0 || opening.size > venue.ignored()) await setImmediate()
    for (let turn = 0; turn < TURNS; turn++) await setImmediate()
    const isFull = () =>
      venue.connections.some((each) => each.isOpen() && each.buffered() > 100_000)
    // What drips takes its time.
    for (let turn = 0; turn < FULL_TURNS && isFull(); turn++) await setImmediate()
  }

  return {
    venue,
    clock,
    every,
    openSocket,
    fetch: fetchHeld,
    async advance(ms: number, byMs = stepMs): Promise<void> {
      for (const endMs = nowMs + ms; nowMs < endMs;) {
        nowMs += byMs
        run()
        await settle()
      }
    },
    /** Nothing more happens at the venue. */
    shut: book.shut,
    [Symbol.asyncDispose]: venue.stop,
  }
}

export async function startRig(options: RigOptions = {}) {
  const stepped = await startSteppedVenue(options)
  const { venue, clock, every, advance } = stepped
  const open = async (own = {}): Promise<MarketHistory> =>
    holding(await openHistoryIn(options.historyPath ?? ':memory:', { lagMs: 1, ...own }))
  const history = await open(options)
  const lines: string[] = []
  const killed = new Set<Recorder>()
  function start(own = history): Recorder {
    const recorder: Recorder = startRecorder({
      history: own,
      clock,
      every: (ms, work) => every(ms, () => killed.has(recorder) || work()),
      openSocket: options.lateMs ? delayed(stepped, options.lateMs) : openSocket,
      ...ofVenue(options.away?.urls ?? venue, options.catalogueOf ?? polymarket.createCatalogue),
      log: (line) => void lines.push(line),
      spotSources: options.spotOf?.(venue) ?? [],
      ...options.recorder,
    })
    return recorder
  }
  let recorder = start()
  /** Recorders that were started beside it, each with a connection of its own to the history. */
  const others = new Map<Recorder, MarketHistory>()

  const { ask, harness } = createAsk(history, clock)

  return {
    venue,
    history,
    lines,
    ask,
    harness,
    clock,
    advance,
    recorder: () => recorder,
    /** Ends the recorder, and starts another one on the same history. */
    async restart(afterMs: number): Promise<void> {
      await recorder.dispose()
      await advance(afterMs)
      recorder = start()
    },
    /** Starts another recorder of the same history, which must not be in memory. */
    async startBeside(): Promise<Recorder> {
      const own = await open()
      const other = start(own)
      others.set(other, own)
      return other
    },
    /** What waits in a recorder is lost, and it does nothing more. */
    kill: (dying: Recorder) => void killed.add(dying),
    /** Nothing more happens at the venue; what did is given time to arrive and to be stored. */
    async quiet(): Promise<void> {
      stepped.shut()
      // A connection that drips does so by the clock of the machine.
      while (venue.connections.some((each) => each.isOpen() && each.buffered() > 0))
        await setImmediate()
      await advance(1000)
      // A copy whose recorder is dead has what the other one stored.
      await history.probeWrite()
    },
    /** Markets whose window is open. */
    openMarkets: () =>
      venue.markets().filter(({ startMs, endMs }) => startMs <= clock() && clock() < endMs),
    /** Of each market of which something is true and known. */
    async judgeAll(): Promise<Judgement[]> {
      const known = venue
        .markets()
        .map((market) => ({
          market,
          states: venue.played(market.conditionId),
          lost: venue.connections.flatMap(({ lost }) => lost.map(({ text }) => text)),
        }))
        .filter(
          ({ states, market: { conditionId } }) =>
            states.length > 0 && history.findMarket(parseConditionId(conditionId) ?? ''),
        )
      return Promise.all(known.map((truth) => judge(ask, truth)))
    },
    async [Symbol.asyncDispose]() {
      for (const each of [recorder, ...others.keys()]) if (!killed.has(each)) await each.dispose()
      await venue.stop()
      for (const own of [history, ...others.values()]) own.dispose()
    },
  }
}

export type VenueUrls = Pick<Venue, 'marketUrl' | 'gammaUrl' | 'clobUrl' | 'cryptoPriceUrl'>

const ofVenue = (venue: VenueUrls, catalogueOf: typeof polymarket.createCatalogue) => ({
  venue: polymarket,
  feed: polymarket.feed,
  feedUrl: venue.marketUrl,
  catalogue: catalogueOf({
    url: venue.gammaUrl,
    pricesUrl: venue.cryptoPriceUrl,
    orderBookUrl: venue.clobUrl,
    fetch: fetchHeld,
  }),
  coins: ['btc'] as const,
  timeframes: ['5m'] as const,
  maxPerSecond: {},
  hearsLifecycle: false,
  feedCopies: 1,
  batchMs: 50,
  freeBytes: () => undefined,
  freeBytesMin: 0,
  random: () => 0.5,
})

export type Rig = Awaited<ReturnType<typeof startRig>>

/** Gaps that begin after a moment, and whatever is wrong. */
export async function verdictOf(rig: Rig, fromMs = 0) {
  await rig.quiet()
  const judgements = await rig.judgeAll()
  const gaps = judgements.flatMap((each) => each.gaps.filter((gap) => gap.fromMs >= fromMs))
  return { faults: faultsOf(judgements), gaps, judgements }
}

/** A playbook that can be shut, and says up to when it was asked. */
function gated(playbook: Playbook) {
  let isShut = false
  let pumpedMs = 0
  return {
    playbook: {
      ...playbook,
      next(nowMs: number) {
        pumpedMs = nowMs
        return isShut ? undefined : playbook.next(nowMs)
      },
    },
    pumpedMs: () => pumpedMs,
    shut(): void {
      isShut = true
    },
  }
}

function createTimers(clock: () => number) {
  const timers = new Set<{ everyMs: number; dueMs: number; work: () => void }>()
  const every: Every = (everyMs, work) => {
    const timer = { everyMs, dueMs: clock() + everyMs, work }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  function run(): void {
    for (const timer of [...timers]) {
      if (timer.dueMs > clock() || !timers.has(timer)) continue
      timer.dueMs = clock() + timer.everyMs
      timer.work()
    }
  }
  return { every, run }
}

/** Questions and verbs without an answer yet, and connections that are not open yet. */
const questions = new Set<object>()
const opening = new Set<WebSocket>()

/** The clock stands still until a verb has ended. */
function holding(history: MarketHistory): MarketHistory {
  return new Proxy(history, {
    get(target, name) {
      const own = Reflect.get(target, name)
      if (typeof own !== 'function') return own
      return (...given: unknown[]) => {
        const result = own(...given)
        if (!(result instanceof Promise)) return result
        questions.add(result)
        return result.finally(() => questions.delete(result))
      }
    },
  })
}

/** The clock stands still until the whole response is here. */
async function fetchHeld(url: string, init: RequestInit): Promise<Response> {
  const question = {}
  questions.add(question)
  try {
    const response = await fetch(url, init)
    return new Response(await response.arrayBuffer(), response)
  } finally {
    questions.delete(question)
  }
}

const openSocket: OpenSocket = (url, events) => {
  const socket = new WebSocket(url)
  opening.add(socket)
  const arrive = () => opening.delete(socket)
  socket.addEventListener('open', arrive)
  socket.addEventListener('close', arrive)
  let isOver = false
  socket.onopen = () => isOver || events.opened()
  socket.onmessage = ({ data }: MessageEvent<string>) => isOver || events.message(data)
  socket.onerror = () => {}
  socket.onclose = ({ code }) => {
    if (!isOver) events.closed(`closed with code ${code}`)
    isOver = true
  }
  return {
    send: (text) => void (socket.readyState === WebSocket.OPEN && socket.send(text)),
    close() {
      isOver = true
      arrive()
      socket.close()
    },
  }
}

/** Messages arrive later by the venue's clock, in order. */
const delayed =
  ({ clock, every }: { clock: () => number; every: Every }, lateMs: () => number): OpenSocket =>
  (url, events) => {
    const held: { atMs: number; text: string }[] = []
    const stop = every(STEP_MS, () => {
      while ((held[0]?.atMs ?? Number.POSITIVE_INFINITY) <= clock())
        events.message(held.shift()?.text ?? '')
    })
    const socket = openSocket(url, {
      opened: () => events.opened(),
      message: (text) => void held.push({ atMs: clock() + lateMs(), text }),
      closed(reason) {
        stop()
        events.closed(reason)
      },
    })
    return {
      send: socket.send,
      close() {
        stop()
        socket.close()
      },
    }
  }

function createAsk(history: MarketHistory, clock: () => number) {
  const harness = createHarness({ history })
  const ask: Ask = async (path) => {
    harness.time.nowMs = clock()
    const response = await harness.send(path)
    if (response.status !== 200)
      throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  return { harness, ask }
}
