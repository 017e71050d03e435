import { openArchive } from '#src/extensions/archive/range-reader.ts'
import type { MarketHistory } from '#src/history/history.ts'

import './stores.ts'

/**
 * Puts everything that is sealed into a bucket, of every market or of those that are wanted;
 * returns how many objects that made.
 */
export async function archiveAll(
  history: MarketHistory,
  place: string,
  isWanted: (marketId: number) => boolean = () => true,
): Promise<number> {
  const store = openArchive(place)
  const { archive } = history
  if (archive.place() === undefined) archive.setPlace(place)
  const due = () => archive.due(Number.MAX_SAFE_INTEGER).filter(isWanted)
  let objects = 0
  for (const marketId of due()) {
    for (let packed = archive.pack(marketId, 0); packed !== undefined; objects++) {
      if ((await store.put(packed.name, packed.bytes)) !== packed.sha256 || !packed.seal())
        throw new Error(`${packed.name} is not in the archive.`)
      packed = archive.pack(marketId, 0)
    }
  }
  if (due().length > 0) throw new Error('Something is left to put.')
  return objects
}
