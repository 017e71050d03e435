import { parseConditionId } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { createHarness } from '../support/harness.ts'
import type { Venue } from '../support/venue/venue.ts'
import { faultsOf, judge } from './judge.ts'

/** Of what is stored and true up to the last row: what is wrong, and how many gaps there are. */
export async function judgeStored(history: MarketHistory, venue: Venue) {
  const harness = createHarness({ history })
  const ask = async (path: string) => {
    harness.time.nowMs = venue.nowMs()
    return (await harness.send(path)).json()
  }
  const judgements = []
  for (const market of venue.markets()) {
    const { up, down } = history.findMarket(parseConditionId(market.conditionId) ?? '')?.spans ?? {}
    const heldMs = Math.min(up?.lastMs ?? 0, down?.lastMs ?? 0)
    const states = venue.played(market.conditionId).filter((each) => each.timestampMs <= heldMs)
    if (states.length > 0) judgements.push(await judge(ask, { market, states }))
  }
  return { faults: faultsOf(judgements), gaps: judgements.flatMap(({ gaps }) => gaps) }
}

/** Every row of every market of a venue, as it is served. */
export async function rowsOf(history: MarketHistory, venue: Venue): Promise<Set<string>> {
  const { send } = createHarness({ history })
  const kept = new Set<string>()
  for (const { conditionId } of venue.markets()) {
    let cursor: string | null = ''
    while (cursor !== null && history.findMarket(conditionId)) {
      const from = cursor === '' ? '' : `&cursor=${cursor}`
      const path = `/v1/btc/markets/${conditionId}/snapshots?limit=1000${from}`
      const page = (await (await send(path)).json()) as {
        data: object[]
        nextCursor: string | null
      }
      for (const row of page.data) kept.add(JSON.stringify(row))
      cursor = page.nextCursor
    }
  }
  return kept
}
