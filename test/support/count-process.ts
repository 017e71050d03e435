/**
 * Counts in a history on PostgreSQL until it is killed, and prints each acknowledged number.
 * Arguments: the address, the file of the copy, the name of the counter.
 */
import { writeSync } from 'node:fs'

import { openSurround } from '#src/extensions/postgres/surround.ts'

const [place = '', path = '', name = ''] = process.argv.slice(2)
const store = await openSurround({ place, store: 'history', path })
const find = store.writing.prepare<{ accepted: number }, [string]>(
  'SELECT accepted FROM batch WHERE id = $1',
)
const put = store.writing.prepare<unknown, [string, number]>(
  `INSERT INTO batch (id, accepted, duplicates) VALUES ($1, $2, 0)
   ON CONFLICT (id) DO UPDATE SET accepted = excluded.accepted`,
)
for (;;) {
  const number = await store.transact(() => {
    const next = (find.get(name)?.accepted ?? 0) + 1
    put.run(name, next)
    put.run('all', (find.get('all')?.accepted ?? 0) + 1)
    return next
  })
  writeSync(1, `${number}\n`)
}
