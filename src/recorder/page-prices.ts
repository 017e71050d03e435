/** Polls the venue's page for prices of coins that no socket provides. */

import type { Coin } from '#src/domain/market.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Clock } from '#src/domain/time.ts'
import { Fault } from '#src/platform/fault.ts'
import { catalogueFault, type CataloguePorts } from '#src/venue/catalogue.ts'
import type { PricePage } from '#src/venue/feed.ts'

import type { Journal } from './journal.ts'
import type { Every, Reporter } from './ports.ts'
import { createQuestions } from './questions.ts'
import { createSpotReader } from './spot-reader.ts'

const NAME = 'page'
/** The interval at which a missing price is requested again. */
const AGAIN_MS = 5000
/** The interval at which a moving price is requested. */
const MOVING_MS = 10_000
/**
 * The longest polling for the first price of a window, which appears after some seconds; then the
 * next window is awaited.
 */
const PATIENCE_MS = 60_000

/** `url` has no slash at its end. */
export type SpotPage = { page: PricePage; url: string; fetch: CataloguePorts['fetch'] }

/**
 * Polls the page once a window for each coin and average, more often only if the page has a price
 * that moves. After failures it backs off, up to a minute.
 */
export function followPage(
  { page, url, fetch }: SpotPage,
  {
    coins,
    every,
    clock,
    random,
    reporter,
    journal,
  }: {
    coins: readonly Coin[]
    every: Every
    clock: Clock
    random: () => number
    reporter: Reporter
    journal: Pick<Journal, 'note'>
  },
  take: (ticks: readonly SpotTick[]) => void,
) {
  const questions = createQuestions(clock, random, reporter)
  const reader = createSpotReader(page)
  let heardMs = clock()
  let faults = 0
  let isConnected = false
  /** Start of the last window that has a price. */
  let pricedMs = -1

  async function get(path: string, signal: AbortSignal): Promise<string | undefined> {
    const response = await fetch(`${url}${path}`, { signal })
    // The page does not have the prices of every window.
    if (response.status === 400 || response.status === 404) return undefined
    if (!response.ok) throw catalogueFault(response, NAME)
    return response.text()
  }

  /** Reads a page; throws a `catalogue` fault if it cannot be read. */
  function hear(text: string): SpotTick[] {
    const receivedMs = clock()
    const ticks = reader.read(text, receivedMs)
    const isSound = ticks !== undefined
    journal.note({ kind: 'spotMessage', source: NAME, text, isSound }, receivedMs)
    if (ticks === undefined)
      throw new Fault('The page did not answer with prices.', { kind: 'catalogue' })
    heardMs = receivedMs
    take(ticks)
    return ticks
  }

  async function ask(coin: Coin, windowSeconds: number, signal: AbortSignal): Promise<number> {
    const startMs = Math.floor(clock() / page.periodMs) * page.periodMs
    const asked = { coin, startMs, windowSeconds }
    const answer = await get(page.path(asked), signal)
    const ticks =
      answer === undefined ? [] : hear(`{"asked":${JSON.stringify(asked)},"answer":${answer}}`)
    isConnected = answer !== undefined
    if (ticks.length > 0) {
      pricedMs = Math.max(pricedMs, startMs)
      reporter.settle(`spot ${NAME}`, 'The page has prices again.')
    }
    const nowMs = clock()
    if (ticks.some(({ timestampMs }) => timestampMs > startMs)) return nowMs + MOVING_MS
    if (pricedMs < startMs && nowMs > startMs + PATIENCE_MS) {
      const where = `${new URL(url).origin} has no price of this window`
      reporter.report(`spot ${NAME}`, `No prices come of ${NAME}: ${where}. Is its URL right?`)
    }
    const isDone = ticks.length > 0 || nowMs > startMs + PATIENCE_MS
    return isDone ? startMs + page.periodMs : nowMs + AGAIN_MS
  }

  async function tryToAsk(...question: Parameters<typeof ask>): Promise<number> {
    try {
      return await ask(...question)
    } catch (error) {
      faults++
      isConnected = false
      throw error
    }
  }

  journal.note({ kind: 'spotOpened', source: NAME }, clock())
  for (const coin of coins)
    for (const seconds of page.windowsSeconds) {
      const question = (signal: AbortSignal) => tryToAsk(coin, seconds, signal)
      questions.add(`${coin} ${seconds}`, clock(), question, NAME)
    }
  const stop = every(1000, questions.tick)
  return {
    status: () => ({ name: NAME, faults, isConnected, heardMs, refused: undefined }),
    dispose(): void {
      stop()
      questions.dispose()
    },
  }
}
