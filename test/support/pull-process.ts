/**
 * Updates a replica until it is killed, and prints a line for each change. Arguments: the store,
 * its place, the file.
 */
import { writeSync } from 'node:fs'

import type { StoreName } from '#src/database/stores.ts'
import { openReplica } from '#src/extensions/postgres/replica.ts'

import './stores.ts'

const [store = '', place = '', path = ''] = process.argv.slice(2)
const replica = openReplica({
  store: store as StoreName,
  place,
  path,
  server: `process ${process.pid}`,
  timer: () => performance.now(),
})
for (;;) if (await replica.pull()) writeSync(1, 'pulled\n')
