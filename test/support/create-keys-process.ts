/**
 * Makes numbered keys in a ledger until it is killed, and prints the number of each one that was
 * acknowledged. Arguments: the ledger, the first number.
 */
import { writeSync } from 'node:fs'

import { openLedger } from '#src/ledger/open.ts'

import { accountIdOf, aKey, by, keyIdOf, NOW_MS, someUsage } from '../ledger/ledger-records.ts'
import './stores.ts'

const KEYS_MAX = 100_000

const [path = '', first = '0'] = process.argv.slice(2)
const ledger = openLedger(path, { nowMs: NOW_MS })

for (let number = Number(first); number < KEYS_MAX; number++) {
  const accountId = accountIdOf(number)
  ledger.atomically(() => {
    ledger.createAccount({ id: accountId }, by())
    ledger.createKey(aKey(number, { accountId }), by())
  })
  void ledger.addUsage([someUsage(number)])
  if (number % 3 === 0) ledger.revokeKey(keyIdOf(number), by())
  writeSync(1, `${number}\n`)
}
