/**
 * Appends numbered batches to a history until it is killed, and prints the number of each
 * acknowledged one. Arguments: the history, the first number, the number after the last, and the
 * pause after each in milliseconds (none by default).
 */
import { writeSync } from 'node:fs'

import { batchOf, conditionIdOf } from '../history/books.ts'
import { openHistoryIn } from './stores.ts'

const [path = '', first = '0', end = '0', pauseMs = '0'] = process.argv.slice(2)
const history = await openHistoryIn(path)

for (let number = Number(first); number < Number(end); number++) {
  await history.append(batchOf(number))
  if (number % 10 === 9) await history.close(conditionIdOf(1))
  writeSync(1, `${number}\n`)
  if (pauseMs !== '0') Bun.sleepSync(Number(pauseMs))
}
