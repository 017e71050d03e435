/**
 * A data folder is its owner's alone: history.db holds the key that signs cursors, ledger.db the digests of keys,
 * and the WAL files hold what either was given last.
 */
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { messageOf } from '#src/lib/message.ts'

const OTHERS = 0o077
/** Of a folder that belongs to all users, such as /tmp. */
const STICKY = 0o1000
const ourFiles = /^(history|ledger)\.db/

/** Makes a folder, or takes the rights of others from one and from its databases; warns of what stays open. */
export function keepPrivate(folder: string, warn: (message: string) => void): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const paths = readdirSync(folder).filter((name) => ourFiles.test(name))
  for (const path of [folder, ...paths.map((name) => join(folder, name))]) {
    try {
      takeRights(path)
    } catch (error) {
      warn(`Other users may reach ${path} (${messageOf(error)}). Take their rights from it.`)
    }
  }
}

function takeRights(path: string): void {
  const { mode } = statSync(path)
  if ((mode & OTHERS) === 0) return
  if ((mode & STICKY) !== 0) throw new Error('it is a folder of all users')
  chmodSync(path, mode & 0o7777 & ~OTHERS)
}
