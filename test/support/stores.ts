/** Adds what extensions keep stores in besides files, as `main.ts` does, and loads it. */
import { addStores, prepareStore } from '#src/database/stores.ts'
import { extensions } from '#src/extensions.ts'

for (const { stores } of extensions) if (stores !== undefined) addStores(stores)
await prepareStore('postgres://any')
