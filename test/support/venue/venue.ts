/**
 * Polymarket's public protocols on loopback: the content of a playbook with the faults of a script.
 * The true states and the sent messages are available, so that a recorder can be judged.
 */
import type { MarketState, Recipe } from './book.ts'
import { type Fault, isOfVenue, type ScriptEntry, type VenueFault } from './faults.ts'
import type { ChangeSchema } from './frames.ts'
import { answerGamma } from './gamma.ts'
import { createMarketConnection, type MarketConnection } from './market-connection.ts'
import type { Playbook, VenueMarket } from './playbook.ts'
import { answerClob, answerCryptoPrice } from './rest.ts'
import { openLive, openRtds, type SpotFaults } from './spot-sockets.ts'
import { createStage, type Pace, type Stage } from './stage.ts'
import { listenForSockets, type Peer, type PeerHandlers } from './web-socket.ts'

export type VenueOptions = {
  playbook: Playbook
  /** The venue's time; see `createVenueClock`. */
  pace: Pace
  script?: readonly ScriptEntry[]
  /** The delay from a window's end to its winner; 20 seconds by default. */
  resolutionDelayMs?: number
  /** The schema of `price_change`; the current one by default. */
  schema?: ChangeSchema
  /** The recipe of hashes; the documented one by default. */
  recipe?: Recipe
  spotFaults?: SpotFaults
  /** The port of the sockets; a free one by default. The others are always free ones. */
  port?: number
  /** True to store states and messages for later reads; true by default. */
  doesKeep?: boolean
}

export type Venue = AsyncDisposable & {
  marketUrl: string
  gammaUrl: string
  clobUrl: string
  /** The site's origin; the page is `/api/crypto/crypto-price`. */
  cryptoPriceUrl: string
  liveUrl: string
  rtdsUrl: string
  nowMs(): number
  /** Every market listed so far. */
  markets(): readonly VenueMarket[]
  /** Every state of a market so far, in order of time. */
  played(conditionId: string): readonly MarketState[]
  /** Connections of the market socket in order, including ended ones. */
  connections: readonly MarketConnection[]
  /** Connections whose request is never answered. */
  ignored(): number
  /** Requests to Gamma, as `GET /path?query`, including refused ones. */
  gammaRequests: readonly string[]
  /** Requests to the CLOB, in the same form. */
  clobRequests: readonly string[]
  /** Injects a fault now: into the venue, one connection, or all open ones. */
  inject(fault: Fault, connection?: number): void
  /** True if everything was played. */
  isOver(): boolean
  stop(): Promise<void>
}

/** Unix milliseconds from `startMs` on, at `speed` times the real speed. */
export function createVenueClock(startMs: number, speed = 1): () => number {
  const fromMs = performance.now()
  return () => startMs + Math.floor((performance.now() - fromMs) * speed)
}

/** The clock of the machine, which the processes of a test and their traces share. */
export const systemClock = (): number => Date.now()

export async function startVenue(options: VenueOptions): Promise<Venue> {
  const { playbook, pace, script = [], doesKeep = true } = options
  const stage = createStage({
    playbook,
    pace,
    doesKeep,
    resolutionDelayMs: options.resolutionDelayMs ?? 20_000,
    schema: options.schema ?? 'current',
    recipe: options.recipe ?? 'documented',
  })
  const faults = createVenueFaults(stage)
  const { connections } = stage

  function inject(fault: Fault, index?: number): void {
    if (isOfVenue(fault)) {
      faults.inject(fault)
      return
    }
    const targets = index === undefined ? connections : connections.slice(index, index + 1)
    for (const connection of targets) if (connection.isOpen()) connection.inject(fault)
  }
  for (const entry of script) {
    if ('atMs' in entry) stage.later(entry.atMs, () => inject(entry.fault, entry.connection))
  }

  function openMarket(peer: Peer): PeerHandlers {
    const index = connections.length
    const connection = createMarketConnection({
      peer,
      script: script.filter((each) => each.connection === undefined || each.connection === index),
      inject: (fault) => inject(fault, index),
      nowMs: stage.nowMs,
      later: stage.later,
      stateOf: stage.stateOfToken,
      doesKeepFrames: doesKeep,
    })
    connections.push(connection)
    return { message: connection.receive, closed: connection.closed }
  }
  const sockets = listenForSockets({
    port: options.port ?? 0,
    admit: faults.admit,
    open(peer) {
      if (peer.path === '/ws/market') return openMarket(peer)
      if (peer.path === '/ws/live') return openLive(stage, peer, options.spotFaults ?? {})
      return peer.path === '/ws/rtds' ? openRtds(stage, peer) : undefined
    },
  })
  const gammaRequests: string[] = []
  const serve = (answer: (url: URL, request: Request) => Answer) => serveHttp(answer)
  const gamma = serve((url) => {
    gammaRequests.push(`${url.pathname}${url.search}`)
    return faults.gammaRefusal() ?? answerGamma(stage, url)
  })
  const clobRequests: string[] = []
  const clob = serve((url, request) => {
    clobRequests.push(`${url.pathname}${url.search}`)
    return answerClob(stage, url, request)
  })
  const cryptoPrice = serve((url) => answerCryptoPrice(stage, url))

  const stop = async (): Promise<void> => {
    stage.stop()
    sockets.stop()
    await Promise.all([gamma, clob, cryptoPrice].map((server) => server.stop(true)))
  }
  const socketUrl = `ws://127.0.0.1:${sockets.port}/ws`
  return {
    marketUrl: `${socketUrl}/market`,
    liveUrl: `${socketUrl}/live`,
    rtdsUrl: `${socketUrl}/rtds`,
    gammaUrl: `http://127.0.0.1:${gamma.port}`,
    clobUrl: `http://127.0.0.1:${clob.port}`,
    cryptoPriceUrl: `http://127.0.0.1:${cryptoPrice.port}`,
    nowMs: stage.nowMs,
    markets: stage.markets,
    played: stage.played,
    connections,
    ignored: sockets.ignored,
    gammaRequests,
    clobRequests,
    inject,
    isOver: stage.isOver,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

type Answer = Promise<Response | undefined> | Response | undefined

const serveHttp = (answer: (url: URL, request: Request) => Answer) =>
  Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) =>
      (await answer(new URL(request.url), request)) ?? new Response(null, { status: 404 }),
  })

function createVenueFaults(stage: Stage) {
  const { settings } = stage
  let refusedUntilMs = Number.NEGATIVE_INFINITY
  let withoutUpgrade = 0
  let refusals: Extract<VenueFault, { kind: 'gamma-status' }>[] = []

  function inject(fault: VenueFault): void {
    if (fault.kind === 'refuse') refusedUntilMs = stage.nowMs() + fault.forMs
    else if (fault.kind === 'no-upgrade') withoutUpgrade += fault.connections
    else if (fault.kind === 'clock-jump') settings.offsetMs += fault.byMs
    else if (fault.kind === 'late-resolution') settings.resolutionDelayMs += fault.byMs
    else if (fault.kind === 'fee-rate') settings.feeRate = fault.rate
    else if (fault.kind === 'taker-delay') settings.hasTakerDelay = fault.isOn
    else if (fault.kind === 'gamma-status') refusals.push({ ...fault })
    else settings.recipe = settings.recipe === 'other' ? 'documented' : 'other'
  }
  return {
    inject,
    admit() {
      if (stage.nowMs() < refusedUntilMs) return 'refuse' as const
      return withoutUpgrade > 0 && withoutUpgrade-- > 0 ? ('ignore' as const) : 'upgrade'
    },
    gammaRefusal(): Response | undefined {
      const [refusal] = refusals
      if (refusal === undefined) return undefined
      if (--refusal.requests <= 0) refusals = refusals.slice(1)
      const { status, retryAfterSeconds } = refusal
      const headers: Record<string, string> =
        retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
      return new Response('error', { status, headers })
    },
  }
}
