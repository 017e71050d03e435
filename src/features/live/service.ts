/** Streams of events for whoever follows. */
import type { CursorCodec } from '#src/domain/cursor.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import type { BodyStream } from '#src/http/stream.ts'
import { BLOCK, UNRESOLVED_MS } from '#src/live/hub.ts'

import { createCrew } from './crew.ts'
import { type Lane, type LaneOptions, type LanePorts, nowhere, toAscii } from './lane.ts'
import { createLeg, type Leg } from './leg.ts'
import { Member } from './member.ts'
import { createOutput } from './output.ts'
import { createPlaces, type Place } from './places.ts'

/** Writing at one go; everybody else waits that long. */
const SLICE_MS = 4
/** Keys and tiers are looked at again so often, and what was sent is counted. */
const RECHECK_MS = 10_000
/** Those who are sent away come back within that time, not all at once. */
const RETRY_MS = { min: 1000, max: 9999 }
const RETRY_AFTER_SECONDS = 5

type LiveDeps = Omit<LanePorts, 'places'> & {
  cursors: CursorCodec
  randomBytes: (length: number) => Uint8Array
}

type LiveStart = {
  options: LaneOptions
  /** Undefined for every open market of the coin. */
  market: Market | undefined
  /** Undefined begins with the last rows. */
  cursor: string | undefined
  isGzip: boolean
  /** Why the caller may not follow any more; undefined as long as that is allowed. */
  refusal: () => AppError | undefined
  /** Returns what gives it back. Throws `too_many_streams` and `unavailable`. */
  takePlace: () => () => void
}

/** Makes the service. `tick` is to be called every few milliseconds. */
export function createLiveService(deps: LiveDeps) {
  const { history, rows } = deps
  const ports: LanePorts = { ...deps, places: createPlaces(history, deps.cursors) }
  const crew = createCrew(ports)
  let isStopped = false

  function end(member: Member, refusal?: AppError): void {
    const lane = crew.laneOf.get(member)
    if (lane === undefined) return
    const own = lane.output.fork(member.sumAt(lane.output.sum))
    if (refusal !== undefined) member.push(own.event(`event:end\ndata:${problemText(refusal)}`))
    const [low = 0, high = 0] = deps.randomBytes(2)
    const spread = ((low + high * 256) / 65_536) * (RETRY_MS.max - RETRY_MS.min)
    member.push(own.event(`retry:${Math.floor(RETRY_MS.min + spread)}`))
    member.push(own.end())
    crew.leave(member)
    member.end()
  }

  /** Ends every stream; whoever likes connects again. */
  function dismiss(): void {
    for (const member of [...crew.laneOf.keys()]) end(member)
  }

  return {
    /**
     * Begins a stream for the caller. Throws `cursor_invalid`, `cursor_mismatch`,
     * `too_many_streams` and `unavailable`.
     */
    open(asked: LiveStart): Omit<BodyStream, 'headers'> {
      // As streams see it, which in test mode is not how the routes do.
      const found = asked.market && history.findMarket(asked.market.conditionId)
      const start = { ...asked, market: found ?? asked.market }
      const more = { retryAfterSeconds: RETRY_AFTER_SECONDS }
      if (isStopped) throw new AppError('unavailable', 'The server stops.', more)
      const { options, cursor, isGzip } = start
      const { filter, conditionId } = options
      const isMixed = conditionId === undefined
      const legs = legsAt(ports, start)
      const close = start.takePlace()
      const output = createOutput({ history, rows }, { filter, isGzip, isMixed })
      const member = new Member(start.refusal)
      const onEnd = () => {
        close()
        crew.leave(member)
      }
      try {
        const key = JSON.stringify([options, isGzip])
        crew.add(member, { options, key, output, legs }).start(cursor !== undefined)
      } catch (error) {
        onEnd()
        throw error
      }
      return { pieces: member, onEnd }
    },

    tick: createTick(deps, { crew, end }),

    dismiss,

    /** Ends every stream, and refuses others. */
    stop(): void {
      isStopped = true
      dismiss()
    },

    /** How many are written, and for how many followers. */
    get counts() {
      return { lanes: crew.lanes.size, members: crew.laneOf.size }
    },
  }
}

export type LiveService = ReturnType<typeof createLiveService>

const problemText = ({ code, message, extras }: AppError): string =>
  toAscii(JSON.stringify({ code, detail: message, ...extras }))

/** Throws `cursor_invalid` and `cursor_mismatch`. */
function placesAt(ports: LanePorts, { options, market, cursor }: LiveStart): Place[] {
  if (cursor === undefined) return []
  if (market === undefined) {
    const places = ports.places.decode(options, cursor)
    return [...places, ...missedSince(places, ports, options)]
  }
  return [{ market, at: ports.places.ofMarket.decode(market, options.filter, cursor) }]
}

/** Markets that opened since, for as long as one is watched: they may be resolved by now. */
function missedSince(
  places: readonly Place[],
  { history, clock }: LanePorts,
  { coin, timeframe }: LaneOptions,
): Place[] {
  const nowMs = clock()
  const lastMs = Math.max(nowMs - UNRESOLVED_MS, ...places.map(({ at }) => at.timestampMs))
  const known = new Set(places.map(({ market }) => market.conditionId))
  const isMissed = ({ conditionId, windowStartMs = 0 }: Market): boolean =>
    windowStartMs > lastMs && windowStartMs <= nowMs && !known.has(conditionId)
  const range = { fromMs: lastMs + 1, toMs: nowMs + 1, limit: BLOCK }
  const query = { coin, timeframe, ...range, order: 'asc' as const }
  const opened = [...marketPages(history, query)].flat().filter(isMissed)
  return opened.map((market) => ({ market, at: nowhere }))
}

function legsAt(ports: LanePorts, start: LiveStart): Map<string, Leg> {
  const { market, options, cursor } = start
  const { filter } = options
  const isNew = cursor === undefined && market !== undefined
  const begun = isNew ? [{ market, at: undefined }] : placesAt(ports, start)
  return new Map(
    begun.map((place) => [place.market.conditionId, createLeg(ports, { ...place, filter })]),
  )
}

type Ticked = {
  crew: ReturnType<typeof createCrew>
  end: (member: Member, refusal: AppError) => void
}

/** Writes what is new, for some milliseconds; the next call resumes where it stopped. */
function createTick({ hub, timer }: LiveDeps, { crew, end }: Ticked): () => void {
  let queue: Lane[] = []
  let checkedMs = timer()

  function check(nowMs: number): void {
    if (nowMs - checkedMs < RECHECK_MS) return
    checkedMs = nowMs
    for (const member of [...crew.laneOf.keys()]) {
      const refusal = member.refusal()
      if (refusal === undefined) member.count()
      else end(member, refusal)
    }
  }

  return () => {
    if (crew.lanes.size === 0) return
    hub.wake()
    const nowMs = timer()
    check(nowMs)
    if (queue.length === 0) queue = [...crew.lanes.keys()]
    const written: Lane[] = []
    for (let lane = queue.pop(); lane !== undefined; lane = queue.pop()) {
      crew.advance(lane)
      written.push(lane)
      if (timer() - nowMs >= SLICE_MS) break
    }
    // All of them are as far as can be: the rest of the queue is not, until its turn.
    crew.merge(written)
  }
}
