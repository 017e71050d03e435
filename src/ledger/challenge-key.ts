import { randomBytes } from 'node:crypto'

import type { Database } from '#src/sqlite/database.ts'

const CHALLENGE_KEY_BYTES = 32

/** Reads the key of this ledger that signs challenges; the first call makes it. */
export function readChallengeKey(db: Database): Uint8Array {
  const get = db.prepare<{ value: unknown }, []>(
    "SELECT value FROM meta WHERE key = 'challenge_key'",
  )
  const known = get.get()?.value
  if (known instanceof Uint8Array) return known
  // Another process may be making one: whichever is first stays.
  db.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('challenge_key', ?)").run(
    randomBytes(CHALLENGE_KEY_BYTES),
  )
  const stored = get.get()?.value
  if (stored instanceof Uint8Array) return stored
  throw new Error('The challenge key of the ledger is not bytes.')
}
