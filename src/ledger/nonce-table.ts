import type { Database } from '#src/sqlite/database.ts'

/** Remembers which challenges were answered. */
export function createNonceTable(db: Database) {
  const insert = db.prepare('INSERT OR IGNORE INTO used_nonce (nonce, expires_ms) VALUES (?, ?)')
  const forget = db.prepare('DELETE FROM used_nonce WHERE expires_ms < ?')
  return {
    /** False if it is there already. */
    insert: (nonce: string, expiresMs: number): boolean => insert.run(nonce, expiresMs).changes > 0,

    /** One that expires this very moment is kept: nobody can gain by the edge. */
    forgetExpired(nowMs: number): void {
      forget.run(nowMs)
    },
  }
}

export type NonceTable = ReturnType<typeof createNonceTable>
