/** A dry run: imports into a history in a temporary folder that knows the same markets. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Market } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

type Known = Pick<MarketHistory, 'findMarket' | 'findMarketByAsset' | 'findMarketBySlug'>

/** Copies markets of `known` on demand, without their rows; disposes of `known` too. */
export function openRehearsal(
  known: (Known & Pick<MarketHistory, 'dispose'>) | undefined,
): MarketHistory & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-dry-run-'))
  const history = openHistory(join(folder, 'history.db'))
  const find = { ...pickFinders(history) }

  function takeOver(found: Market | undefined, market: Market | undefined): Market | undefined {
    if (found !== undefined || market === undefined) return found
    // The write to a file has completed when the call returns.
    void history.putMarket(market)
    return find.findMarket(market.conditionId)
  }

  return Object.assign(history, {
    findMarket: (id: string) => takeOver(find.findMarket(id), known?.findMarket(id)),
    findMarketByAsset: (id: string) =>
      takeOver(find.findMarketByAsset(id), known?.findMarketByAsset(id)),
    findMarketBySlug: (slug: string) =>
      takeOver(find.findMarketBySlug(slug), known?.findMarketBySlug(slug)),
    [Symbol.dispose]() {
      known?.dispose()
      history.dispose()
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

const pickFinders = ({ findMarket, findMarketByAsset, findMarketBySlug }: Known): Known => ({
  findMarket,
  findMarketByAsset,
  findMarketBySlug,
})
