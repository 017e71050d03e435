/** Adds rows of tables of outcomes to the markets of their windows, now or once there is one. */
import type { MarketFacts } from '#src/domain/market.ts'
import { toIso } from '#src/domain/time.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'

import type { PutOutcome } from '../history.ts'
import { changing, marketName } from '../reads/market-read.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { KeptOutcome } from '../tables/outcome-table.ts'
import type { Tables } from '../tables/tables.ts'

type Ports = Pick<Tables, 'markets' | 'windowOutcomes'> & {
  /** To be called after a change of facts, to note what was known before. */
  noteFacts: (known: StoredMarket, put: StoredMarket) => void
}

/** Returns the function that keeps rows; it needs a transaction around it. */
export function createPutOutcomes({ markets, windowOutcomes, noteFacts }: Ports) {
  /** Adds the condition ids of markets that change to `changed`. */
  function putOne({ outcome, before, after, isNew }: KeptOutcome, changed: Set<string>) {
    const result: PutOutcome = { isNew, isWaiting: true, isChanged: false, conflict: undefined }
    for (const conditionId of markets.listInWindow(outcome))
      changing(conditionId, () => {
        const known = markets.find(conditionId)
        if (known === undefined) return
        result.isWaiting = false
        const put = isNew ? markets.putOutcomes(known, before, after) : known
        result.conflict ??= conflictOf(marketName(conditionId), outcome, known, put)
        if (put === known) return
        noteFacts(known, put)
        changed.add(conditionId)
        result.isChanged = true
      })
    if (result.isWaiting) {
      const [was, is] = [before, after].map(([first]): Winner => ({
        winner: first?.winner,
        winnerSource: SOURCE,
      }))
      result.conflict = conflictOf(windowName(outcome), outcome, was, is)
    }
    return result
  }

  return (rows: readonly WindowOutcome[], changed: Set<string>): PutOutcome[] =>
    windowOutcomes.put(rows).map((kept) => putOne(kept, changed))
}

const SOURCE = 'dataset' as const

const windowName = ({ coin, timeframe, windowStartMs }: WindowOutcome): string =>
  `The ${timeframe} window of ${coin} from ${toIso(windowStartMs)}`

type Winner = Pick<MarketFacts, 'winner' | 'winnerSource'>

/** Why not all that was said of a window can be true, where that shows now. */
function conflictOf(
  name: string,
  { winner }: WindowOutcome,
  was: Winner = {},
  is: Winner = {},
): string | undefined {
  if (is.winner !== winner)
    return `${name} is known to be won by ${is.winner} (${is.winnerSource}), not ${winner} (${SOURCE}).`
  if (was.winner === undefined || was.winner === winner || was.winnerSource !== SOURCE)
    return undefined
  return `${name} was known to be won by ${was.winner} (${SOURCE}), which ${winner} replaces: of two tables that contradict each other, this one counts.`
}
