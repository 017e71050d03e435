/**
 * Creates numbered keys in a ledger until it is killed, and prints the number of each acknowledged
 * one. Arguments: the ledger, the first number.
 */
import { writeSync } from 'node:fs'

import { accountIdOf, aKey, by, keyIdOf, NOW_MS, someUsage } from '../ledger/ledger-records.ts'
import { openLedgerIn } from './stores.ts'

const KEYS_MAX = 100_000

const [path = '', first = '0'] = process.argv.slice(2)
const ledger = await openLedgerIn(path, { nowMs: NOW_MS })

for (let number = Number(first); number < KEYS_MAX; number++) {
  const accountId = accountIdOf(number)
  await ledger.atomically((transaction) => {
    transaction.createAccount({ id: accountId }, by())
    transaction.createKey(aKey(number, { accountId }), by())
  })
  await ledger.addUsage([someUsage(number)])
  if (number % 3 === 0) await ledger.revokeKey(keyIdOf(number), by())
  writeSync(1, `${number}\n`)
}
