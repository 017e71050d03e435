/** Moves the sealed chunks of a history file to an archive in memory. */
import { addStores, type ObjectReader, type Part, prepareStore } from '#src/database/stores.ts'
import { openHistory } from '#src/history/open.ts'

export type MemoryArchive = {
  objects: Map<string, Uint8Array>
  /** The fetched parts in the order of the requests. */
  asked: (readonly Part[])[]
}

const SCHEME = 'memory://'
const archives = new Map<string, MemoryArchive>()

const readerOf = ({ asked, objects }: MemoryArchive): ObjectReader => {
  const read = ({ name, at, length }: Part) => objects.get(name)?.slice(at, at + length)
  return {
    async fetch(parts) {
      asked.push(parts)
      await Promise.resolve()
      return parts.map(read)
    },
    counts: () => ({ answered: asked.length, failed: 0, ms: 0, bytes: 0 }),
    read() {
      throw new Error('A server waits for no part of an archive.')
    },
    close() {},
  }
}

addStores({
  objects: {
    isArchive: (place) => place.startsWith(SCHEME),
    load: async () => (place) => readerOf(archives.get(place) ?? { asked: [], objects: new Map() }),
  },
})
await prepareStore()

/** Archives all sealed chunks of a file. */
export async function archiveInMemory(path: string): Promise<MemoryArchive> {
  const place = SCHEME + path
  const made: MemoryArchive = { asked: [], objects: new Map() }
  archives.set(place, made)
  const history = openHistory(path)
  const { archive } = history
  await archive.setPlace(place)
  for (const marketId of archive.due(Number.MAX_SAFE_INTEGER)) {
    for (
      let packed = await archive.pack(marketId, 0);
      packed;
      packed = await archive.pack(marketId, 0)
    ) {
      made.objects.set(packed.name, packed.bytes)
      await packed.seal()
    }
  }
  history.dispose()
  return made
}
