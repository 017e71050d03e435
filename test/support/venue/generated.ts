/** A playbook generated from a seed: every requested coin and timeframe, window after window. */
import { createHash } from 'node:crypto'

import { averageOf } from '#src/domain/settlement.ts'
import { createRandom } from '#src/platform/random.ts'

import { quoteMarket } from './market-maker.ts'
import type { Playbook, Step, VenueMarket } from './playbook.ts'
import { slugOf, type Window, windowAt } from './windows.ts'

export type GeneratedOptions = {
  seed: string
  /** Unix milliseconds: the market whose window includes it is played first. */
  startMs: number
  coins?: readonly string[]
  timeframes?: readonly string[]
  /** Windows listed ahead of the open one; 2 by default. */
  ahead?: number
  /** Steps of each open market; 20 by default. A market that is not open yet has one a second. */
  stepsPerSecond?: number
  /** Ticks of successive markets; 0.01 by default. */
  ticks?: readonly string[]
  /** Changes the tick after this many steps of each market, besides those near 0 and 1. */
  tickChange?: { afterSteps: number; tick: string }
  /** 31 for markets of the venue's second protocol. */
  conditionIdBytes?: 31 | 32
  /** The version in the catalogue; `v2` by default for ids of 31 bytes, otherwise none. */
  version?: string | undefined
  /** Versions of successive markets, each with the ids and books of its protocol. */
  versions?: readonly ('v1' | 'v2')[]
  /** In messages, pads ids of 31 bytes to 32, or names a market that the catalogue lacks. */
  socketIds?: 'padded' | 'others' | undefined
  /** True if the catalogue omits the list of the outcomes' ids. */
  hidesIds?: boolean
  /** The end of markets: `resolved` by default. */
  resolution?: VenueMarket['resolution']
  /** Nothing happens from then on. */
  untilMs?: number
}

const AHEAD = 2

/** A played market: its next step and those after it. */
type Player = { step: Step; steps: Iterator<Step> }

export function generatedPlaybook(options: GeneratedOptions): Playbook {
  const { startMs, seed, coins = ['btc'], timeframes = ['5m'], ahead = AHEAD } = options
  const spot = spotOf(seed)
  const series = coins.flatMap((coin) => timeframes.map((each) => ({ coin, timeframe: each })))
  const markets: VenueMarket[] = []
  const players = new Set<Player>()
  const untilMs = options.untilMs ?? Number.POSITIVE_INFINITY

  function list(window: Window): void {
    const market = marketOf(window, { ...options, number: markets.length, spot })
    const { coin, endMs, slug } = market
    markets.push(market)
    const steps = quoteMarket(market, {
      random: createRandom(`${seed}/${slug}`),
      spot: (atMs) => Number(spot(coin, atMs)),
      fromMs: Math.max(market.listedMs, startMs),
      untilMs: Math.min(endMs, untilMs),
      stepsPerSecond: options.stepsPerSecond ?? 20,
      tickChange: options.tickChange,
    })
    const { value: step, done } = steps.next()
    if (!done) players.add({ step, steps })
  }

  /** The next window of each series to list, beginning with the one before the open window. */
  const nextWindows = series.map(({ coin, timeframe }) => {
    const open = windowAt(coin, timeframe, startMs)
    list(windowAt(coin, timeframe, open.startMs - 1))
    return open
  })
  /** Lists due markets up to a moment. */
  function grow(nowMs: number): void {
    for (const [index, first] of nextWindows.entries()) {
      let window = first
      while (listedFrom(window, ahead) <= nowMs) {
        list(window)
        window = windowAt(window.coin, window.timeframe, window.endMs)
        nextWindows[index] = window
      }
    }
  }
  const earliest = (): Player | undefined => {
    let best: Player | undefined
    for (const each of players)
      if (best === undefined || each.step.atMs < best.step.atMs) best = each
    return best
  }
  grow(startMs)
  let grownMs = startMs

  return {
    startMs,
    spot,
    markets: (nowMs) => markets.filter(({ listedMs }) => listedMs <= nowMs),
    isOver: () => players.size === 0,
    next(nowMs) {
      const soonest = earliest()?.step.atMs ?? nowMs
      if (Math.min(nowMs, soonest) > grownMs) {
        grownMs = Math.min(nowMs, soonest, untilMs)
        grow(grownMs)
      }
      const player = earliest()
      if (player === undefined || player.step.atMs > nowMs) return undefined
      const { step } = player
      const { value, done } = player.steps.next()
      if (done) players.delete(player)
      else player.step = value
      return step
    },
  }
}

const listedFrom = ({ startMs, endMs }: Window, ahead: number): number =>
  startMs - (ahead + 1) * (endMs - startMs)

type MarketOptions = GeneratedOptions & { number: number; spot: Spot }

function marketOf(window: Window, options: MarketOptions): VenueMarket {
  const { seed, ahead = AHEAD, ticks = ['0.01'], number } = options
  const ofTurn = options.versions?.[number % options.versions.length]
  const { conditionIdBytes = ofTurn === 'v2' ? 31 : 32 } = options
  const { coin, timeframe, startMs, endMs } = window
  const reference = timeframe === '1h' || timeframe === '1d' ? options.spot : twapOf(options.spot)
  const strike = reference(coin, startMs)
  const finalPrice = reference(coin, endMs)
  const slug = slugOf(window)
  const conditionId = `0x${digest(`${seed}/${slug}`).slice(0, 2 * conditionIdBytes)}`
  return {
    coin,
    timeframe,
    startMs,
    endMs,
    slug,
    strike,
    finalPrice,
    conditionId,
    socketId: socketIdOf(conditionId, options),
    version: options.version ?? ofTurn ?? (conditionIdBytes === 31 ? 'v2' : undefined),
    hidesIds: options.hidesIds,
    resolution: options.resolution,
    assetIds: [tokenOf(`${seed}/${slug}/up`), tokenOf(`${seed}/${slug}/down`)],
    listedMs: listedFrom(window, ahead),
    tick: ticks[number % ticks.length] ?? '0.01',
    winner: Number(finalPrice) >= Number(strike) ? 0 : 1,
  }
}

function socketIdOf(conditionId: string, { socketIds }: GeneratedOptions): string | undefined {
  if (socketIds === 'padded') return `${conditionId}00`
  return socketIds === 'others' ? `0x${digest(conditionId)}` : undefined
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const tokenOf = (text: string): string => BigInt(`0x${digest(text)}`).toString()

const basePrices: Record<string, number> = { btc: 64_000, eth: 3_000, sol: 150, xrp: 2 }

type Spot = (coin: string, atMs: number) => string

const TWAP_SECONDS = 60

/** A price at any moment: three waves whose phases depend on the seed. */
function spotOf(seed: string): Spot {
  const phases = new Map<string, number[]>()
  return (coin, atMs) => {
    let own = phases.get(coin)
    if (own === undefined) {
      const random = createRandom(`${seed}/${coin}`)
      own = [random.uniform() * 7, random.uniform() * 7, random.uniform() * 7]
      phases.set(coin, own)
    }
    const [slow = 0, middle = 0, quick = 0] = own
    const wave =
      0.002 * Math.sin(atMs / 97_000 + slow) +
      0.001 * Math.sin(atMs / 31_000 + middle) +
      0.0003 * Math.sin(atMs / 7_000 + quick)
    return ((basePrices[coin] ?? 1) * (1 + wave)).toFixed(8)
  }
}

/**
 * The average of one price a second over the 60 seconds before a moment, on which windows settle.
 */
export const twapOf =
  (spot: Spot): Spot =>
  (coin, toMs) => {
    const fromMs = toMs - TWAP_SECONDS * 1000
    const ticks = Array.from({ length: TWAP_SECONDS }, (_, second) => {
      const timestampMs = fromMs + second * 1000
      return { timestampMs, price: spot(coin, timestampMs) }
    })
    const average = averageOf(ticks, { fromMs, toMs })
    if (average === undefined) throw new Error('no prices')
    return average
  }
