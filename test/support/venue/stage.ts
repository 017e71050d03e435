/** Plays a playbook by a clock: the state at each moment, and the messages of each connection. */
import type { MarketState, Recipe } from './book.ts'
import { type CatalogueSettings, createCatalogue } from './catalogue.ts'
import { type ChangeSchema, render } from './frames.ts'
import type { MarketConnection } from './market-connection.ts'
import type { Playbook, Step, VenueMarket } from './playbook.ts'

/** Steps between two turns of the event loop, so that clients are served during a backlog. */
const STEPS_A_TURN = 500
const BUFFERED_MAX = 1_000_000

/** Calls `work` at an interval until the returned function is called. */
type Every = (ms: number, work: () => void) => () => void

export type Pace =
  /** Each step at its time; `every` polls for it, by default with the timers of the machine. */
  | { by: 'clock'; clock: () => number; every?: Every }
  /** As fast as all clients read, from the subscription of this many tokens on. */
  | { by: 'clients'; afterTokens: number }

export type StageOptions = {
  playbook: Playbook
  pace: Pace
  resolutionDelayMs: number
  schema: ChangeSchema
  recipe: Recipe
  doesKeep: boolean
}

/** Settings that can change while it plays. */
export type StageSettings = CatalogueSettings & {
  recipe: Recipe
  /** The fee rate in the catalogue and in the order book API. */
  feeRate: number
  /** True if the venue holds back orders that take. */
  hasTakerDelay: boolean
}

export type Stage = {
  settings: StageSettings
  connections: MarketConnection[]
  nowMs(): number
  startMs: number
  later(delayMs: number, callback: () => void): void
  markets(): readonly VenueMarket[]
  state(conditionId: string): MarketState | undefined
  stateOfToken(assetId: string): MarketState | undefined
  isResolved(market: VenueMarket): boolean
  /** The coin's price, decimal. */
  spot(coin: string, atMs: number): string
  /** Every state so far, in order. */
  played(conditionId: string): readonly MarketState[]
  /** True at the end of the playbook. */
  isOver(): boolean
  stop(): void
}

export function createStage(options: StageOptions): Stage {
  const { playbook, pace } = options
  const settings: StageSettings = {
    recipe: options.recipe,
    feeRate: 0.07,
    hasTakerDelay: true,
    offsetMs: 0,
    resolutionDelayMs: options.resolutionDelayMs,
  }
  const catalogue = createCatalogue(playbook, settings)
  const connections: MarketConnection[] = []
  const states = new Map<string, MarketState>()
  const played = new Map<string, MarketState[]>()
  let timers: { dueMs: number; callback: () => void }[] = []
  let playedMs = playbook.startMs

  const nowMs = (): number => (pace.by === 'clock' ? pace.clock() : playedMs)
  const startMs = nowMs()

  function look(isUrgent = false): void {
    const frames = catalogue.look(nowMs(), isUrgent)
    for (const frame of frames) for (const each of connections) each.announce(frame)
  }

  function play(step: Step): void {
    const { conditionId, atMs } = step
    playedMs = atMs
    look(catalogue.find(conditionId) === undefined)
    const market = catalogue.find(conditionId)
    if (market === undefined) return
    const { state, frames } = render({
      market,
      step,
      schema: options.schema,
      recipe: settings.recipe,
      before: states.get(conditionId),
      timestampMs: atMs + settings.offsetMs,
    })
    states.set(conditionId, state)
    if (options.doesKeep) {
      const list = played.get(conditionId)
      if (list === undefined) played.set(conditionId, [state])
      else list.push(state)
    }
    for (const connection of connections) connection.deliver(state, frames)
  }

  function runTimers(now: number): void {
    const due = timers.filter(({ dueMs }) => dueMs <= now)
    if (due.length > 0) timers = timers.filter(({ dueMs }) => dueMs > now)
    for (const { callback } of due) callback()
  }

  /** Plays due steps, at most `stepsMax`. */
  function pump(untilMs: number, stepsMax: number): void {
    for (let count = 0; count < stepsMax; count++) {
      const step = playbook.next(untilMs)
      // Time also passes after the last step.
      if (step === undefined && pace.by === 'clients') playedMs++
      if (step === undefined) break
      play(step)
    }
    runTimers(nowMs())
    look()
    for (const connection of connections) connection.flush()
  }

  look()
  const stop = startPump({ pace, connections, pump, isOver: playbook.isOver })
  return {
    settings,
    connections,
    nowMs,
    startMs,
    later: (delayMs, callback) => void timers.push({ dueMs: nowMs() + delayMs, callback }),
    markets: catalogue.markets,
    state: (conditionId) => states.get(conditionId),
    stateOfToken: (assetId) => states.get(catalogue.marketOf(assetId)?.conditionId ?? ''),
    isResolved: catalogue.isResolved,
    spot: playbook.spot,
    played: (conditionId) => played.get(conditionId) ?? [],
    isOver: playbook.isOver,
    stop,
  }
}

type Pumping = {
  pace: Pace
  connections: readonly MarketConnection[]
  pump(untilMs: number, stepsMax: number): void
  isOver(): boolean
}

const machineEvery: Every = (ms, work) => {
  const interval = setInterval(work, ms)
  return () => clearInterval(interval)
}

/** Starts to pump; returns a function that stops it. */
function startPump({ pace, connections, pump, isOver }: Pumping): () => void {
  if (pace.by === 'clock') {
    const { clock, every = machineEvery } = pace
    pump(clock(), Number.POSITIVE_INFINITY)
    return every(1, () => pump(clock(), STEPS_A_TURN))
  }
  const { afterTokens } = pace
  let hasBegun = false
  let isStopped = false
  function turn(): void {
    if (isStopped) return
    const open = connections.filter((each) => each.isOpen())
    hasBegun ||= new Set(open.flatMap(({ tokens }) => [...tokens])).size >= afterTokens
    const isRead = open.length > 0 && open.every((each) => each.buffered() < BUFFERED_MAX)
    if (!hasBegun || !isRead) return void setTimeout(turn, 1)
    pump(Number.POSITIVE_INFINITY, STEPS_A_TURN)
    if (isOver()) setTimeout(turn, 1)
    else setImmediate(turn)
  }
  turn()
  return () => {
    isStopped = true
  }
}
