/** Rows of the manifest table, and the key that signs them. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

import { manifest } from '#db/history/schema.ts'
import {
  canonicalJson,
  MANIFEST_KIND,
  type ManifestBody,
  sha256,
  statementText,
} from '#src/core/manifest.ts'
import { toIso } from '#src/core/time.ts'
import { assertSealed, checksumOf } from '#src/sqlite/checksum.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import { type Database, transact } from '#src/sqlite/database.ts'

import type { ManifestStore, StoredManifest } from '../revisions.ts'
import type { LogMeta } from './meta-table.ts'
import { verifyLog } from './revision-table.ts'

type Row = typeof manifest.$inferSelect

/** What precedes the 32 bytes of a private key in its DER form. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_BYTES = 32

export function createManifestTable(db: Database, meta: LogMeta) {
  const sql = sqlOf(manifest)
  const insert = db.prepare<unknown, [Row]>(sql.insert())
  const select = <Values extends (string | number | null)[]>(rest: string) =>
    db.prepare<Row, Values>(`SELECT ${sql.columns()} FROM manifest ${rest}`)
  const newest = select<[]>('ORDER BY sequence DESC LIMIT 1')
  const bySequence = select<[number]>('WHERE sequence = ?')
  const byDay = select<[string]>('WHERE day = ? ORDER BY revision DESC LIMIT 1')
  const ofDay = select<[string]>('WHERE day = ? ORDER BY revision')
  const after = select<[number, number]>('WHERE sequence > ? ORDER BY sequence LIMIT ?')
  const all = select<[]>('ORDER BY sequence')
  const days = db.prepare<{ day: string }, []>(
    `SELECT DISTINCT strftime('%Y-%m-%d', order_ms / 1000, 'unixepoch') AS day FROM market
     WHERE first_ms IS NOT NULL ORDER BY day`,
  )
  const toManifest = (row: Row | null): StoredManifest | undefined => {
    if (row === null) return undefined
    assertSealed(row, `manifest ${row.sequence}`)
    return row
  }
  const found = (rows: Row[]): StoredManifest[] => rows.flatMap((row) => toManifest(row) ?? [])
  const keyOf = (seed: Uint8Array) =>
    createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })

  const store: ManifestStore = {
    publicKey: () =>
      createPublicKey(keyOf(meta.signingKey()))
        .export({ format: 'der', type: 'spki' })
        .subarray(-PUBLIC_BYTES)
        .toString('base64'),
    newest: () => toManifest(newest.get()),
    find: (sequence) => toManifest(bySequence.get(sequence)),
    ofDay: (day) => toManifest(byDay.get(day)),
    revisionsOf: (day) => found(ofDay.all(day)),
    list: (afterSequence, limit) => found(after.all(afterSequence, limit)),
    days: () => days.all().map(({ day }) => day),
    add: ({ day, madeMs, ...content }) =>
      transact(db, () => {
        const before = newest.get()
        const revision = (byDay.get(day)?.revision ?? 0) + 1
        const previous = before?.digest ?? null
        const place = { sequence: (before?.sequence ?? 0) + 1, day, revision, previous }
        const text = canonicalJson({
          ...{ kind: MANIFEST_KIND, madeAt: toIso(madeMs), ...place, ...content },
        } satisfies ManifestBody)
        const digest = sha256(text)
        const statement = Buffer.from(statementText({ ...place, digest }))
        const signature = sign(null, statement, keyOf(meta.signingKey())).toString('base64')
        const named = { ...place, madeMs, body: text, digest, signature }
        const row = { ...named, publicKey: store.publicKey(), checksum: 0 }
        // In the order of the columns, as it will be read.
        row.checksum = checksumOf(inOrder(row))
        insert.run(row)
        meta.addToSum('manifest', row.checksum)
        return row
      }),
  }
  return { ...store, verify: (): string[] => verifyLog(all.iterate(), 'manifest', meta) }
}

const inOrder = ({ sequence, day, revision, madeMs, body, ...rest }: Row): Row => ({
  ...{ sequence, day, revision, madeMs, body, digest: rest.digest, previous: rest.previous },
  ...{ signature: rest.signature, publicKey: rest.publicKey, checksum: 0 },
})
