/** Adds outcomes from tables to the markets of their windows, now or as soon as one exists. */
import type { MarketFacts } from '#src/domain/market.ts'
import { toIso } from '#src/domain/time.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'

import type { PutOutcome } from '../history.ts'
import { changing, marketName } from '../reads/market-read.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { KeptOutcome } from '../tables/outcome-table.ts'
import type { Tables } from '../tables/tables.ts'

type Ports = Pick<Tables, 'markets' | 'windowOutcomes'> & {
  /** Logs a change of facts, with the facts that were known before. */
  noteFacts: (known: StoredMarket, put: StoredMarket) => void
}

/** Creates the function that stores rows; it needs a transaction. */
export function createPutOutcomes({ markets, windowOutcomes, noteFacts }: Ports) {
  /** Adds the condition ids of changed markets to `changed`. */
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

/** Explains why the rows of a window cannot all be true, if that has become visible now. */
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
