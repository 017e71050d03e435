/** A recorder's books that are fed with frames, and everything that they say. */

import type { Gap, GapReason } from '#src/domain/coverage.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import { type BooksOptions, noCounts } from '#src/recorder/book-output.ts'
import { createMarketBooks } from '#src/recorder/books.ts'
import { createRecipeWatch } from '#src/recorder/recipe-watch.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { market, type PlainBook } from './venue-model.ts'

type Said =
  | { said: 'state'; state: Snapshot }
  | { said: 'trade'; trade: Trade }
  | { said: 'lost'; outcome: Outcome; fromMs: number; reason: GapReason }
  | { said: 'found'; outcome: Outcome; atMs: number }
  | ({ said: 'missed' } & Gap)

export function startBooks(options: Partial<BooksOptions> = {}) {
  const log: Said[] = []
  const alarms: boolean[] = []
  const counts = noCounts()
  const books = createMarketBooks({
    market,
    verifier: polymarket.createBookVerifier(),
    watch: createRecipeWatch((isAdvisory) => alarms.push(isAdvisory)),
    counts,
    output: {
      state: (state) => log.push({ said: 'state', state }),
      trade: (trade) => log.push({ said: 'trade', trade }),
      lost: (loss) => log.push({ said: 'lost', ...loss }),
      found: (find) => log.push({ said: 'found', ...find }),
      missed: (gap) => log.push({ said: 'missed', ...gap }),
    },
    ...options,
  })
  return {
    log,
    alarms,
    counts,
    takeEvent: books.take,
    settle: books.settle,
    lose: books.lose,
    /** Feeds frames that were received at a time. */
    take(receivedMs: number, ...frames: object[]): void {
      for (const frame of frames) {
        const events = polymarket.feed.decode(JSON.stringify(frame))
        for (const event of events) books.take(event, receivedMs)
      }
    },
    /** What was said so far of an outcome, in short: `state 5`, `lost 6 hash_mismatch`. */
    story: (outcome: Outcome, startMs: number): string[] =>
      log.flatMap((said) => lineOf(said, outcome, startMs) ?? []),
    states: (outcome: Outcome): Snapshot[] =>
      log.flatMap((each) =>
        each.said === 'state' && each.state.outcome === outcome ? [each.state] : [],
      ),
  }
}

function lineOf(each: Said, outcome: Outcome, startMs: number): string | undefined {
  if (each.said === 'trade') return undefined
  const { outcome: own } = each.said === 'state' ? each.state : each
  if (own !== outcome) return undefined
  if (each.said === 'found') return `found ${each.atMs - startMs}`
  if (each.said === 'missed') return `missed ${each.fromMs - startMs} to ${each.toMs - startMs}`
  if (each.said === 'lost') return `lost ${each.fromMs - startMs} ${each.reason}`
  const { timestampMs, isVerified } = each.state
  return `state ${timestampMs - startMs}${isVerified === true ? '' : ' unverified'}`
}

export function toPlain({ bids, asks }: Pick<Snapshot, 'bids' | 'asks'>): PlainBook {
  const pair = ({ prices, sizes }: Snapshot['bids']) =>
    prices.map((price, at): [number, number] => [price, sizes[at] ?? 0])
  return { bids: pair(bids), asks: pair(asks) }
}
