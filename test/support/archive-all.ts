import { openArchive } from '#src/extensions/archive/range-reader.ts'
import type { MarketHistory } from '#src/history/history.ts'

import './stores.ts'

/**
 * Archives the sealed chunks of every market, or of some, in a bucket; returns the number of
 * objects.
 */
export async function archiveAll(
  history: MarketHistory,
  place: string,
  isWanted: (marketId: number) => boolean = () => true,
): Promise<number> {
  const store = openArchive(place)
  const { archive } = history
  if (archive.place() === undefined) await archive.setPlace(place)
  const due = () => archive.due(Number.MAX_SAFE_INTEGER).filter(isWanted)
  let objects = 0
  for (const marketId of due()) {
    for (let packed = await archive.pack(marketId, 0); packed !== undefined; objects++) {
      if ((await store.put(packed.name, packed.bytes)) !== packed.sha256 || !(await packed.seal()))
        throw new Error(`${packed.name} is not in the archive.`)
      packed = await archive.pack(marketId, 0)
    }
  }
  if (due().length > 0) throw new Error('Something is left to put.')
  return objects
}
