/**
 * Appends numbered batches to a history until it is killed, and prints the number of each one that
 * was acknowledged. Arguments: the history, the first number, the number after the last, and the
 * milliseconds to wait after each (none).
 */
import { writeSync } from 'node:fs'

import { openHistory } from '#src/history/open.ts'

import { batchOf, conditionIdOf } from '../history/books.ts'
import './stores.ts'

const [path = '', first = '0', end = '0', pauseMs = '0'] = process.argv.slice(2)
const history = openHistory(path)

for (let number = Number(first); number < Number(end); number++) {
  history.append(batchOf(number))
  if (number % 10 === 9) history.close(conditionIdOf(1))
  writeSync(1, `${number}\n`)
  if (pauseMs !== '0') Bun.sleepSync(Number(pauseMs))
}
