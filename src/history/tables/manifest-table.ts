/** Rows of the manifest table, and the key that signs them. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

import { manifest, manifestBody } from '#db/history/schema.ts'
import { assertSealed, assertSound, checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import {
  canonicalJson,
  MANIFEST_KIND,
  type ManifestBody,
  sha256,
  statementText,
} from '#src/domain/manifest.ts'
import { DAY_MS, toIso, toIsoDay } from '#src/domain/time.ts'

import type { ManifestHead, ManifestReads, NewManifest, StoredManifest } from '../revisions.ts'
import { type LogMeta, verifyLog } from './meta-table.ts'

type Row = typeof manifest.$inferSelect

/** The DER prefix of a private key of 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_BYTES = 32

function toHead(row: Row | null): ManifestHead | undefined {
  if (row === null) return undefined
  assertSealed(row, `manifest ${row.sequence}`)
  return row
}

const keyOf = (seed: Uint8Array) =>
  createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })

const publicKeyOf = (seed: Uint8Array): string =>
  createPublicKey(keyOf(seed))
    .export({ format: 'der', type: 'spki' })
    .subarray(-PUBLIC_BYTES)
    .toString('base64')

function signRow(made: Omit<Row, 'signature' | 'publicKey' | 'checksum'>, seed: Uint8Array): Row {
  const statement = Buffer.from(statementText(made))
  const signature = sign(null, statement, keyOf(seed)).toString('base64')
  const row = { ...made, signature, publicKey: publicKeyOf(seed), checksum: 0 }
  // In the order of the columns, in which it will be read.
  row.checksum = checksumOf(inOrder(row))
  return row
}

export function createManifestTable(db: Database, meta: LogMeta) {
  const sql = sqlOf(manifest)
  const insert = db.prepare<unknown, [Row]>(sql.insert())
  const select = <Values extends (string | number | null)[]>(rest: string) =>
    db.prepare<Row, Values>(`SELECT ${sql.columns()} FROM manifest ${rest}`)
  const newest = select<[]>('ORDER BY sequence DESC LIMIT 1')
  const bySequence = select<[number]>('WHERE sequence = $1')
  const byDay = select<[string]>('WHERE day = $1 ORDER BY revision DESC LIMIT 1')
  const sequences = db.prepare<{ sequence: number }, [string]>(
    'SELECT sequence FROM manifest WHERE day = $1 ORDER BY revision',
  )
  const body = db.prepare<{ body: string }, [number]>(
    'SELECT body FROM manifest_body WHERE sequence = $1',
  )
  const insertBody = db.prepare<unknown, [typeof manifestBody.$inferSelect]>(
    sqlOf(manifestBody).insert(),
  )
  const after = select<[number, number]>('WHERE sequence > $1 ORDER BY sequence LIMIT $2')
  const all = select<[]>('ORDER BY sequence')
  const days = db.prepare<{ day: number }, []>(
    `SELECT DISTINCT order_ms / ${DAY_MS} AS day FROM market
     WHERE first_ms IS NOT NULL ORDER BY day`,
  )
  /** Reads a manifest whose body matches its digest. */
  const toManifest = (row: Row | null): StoredManifest | undefined => {
    const head = toHead(row)
    if (head === undefined) return undefined
    const text = body.get(head.sequence)?.body
    assertSound(text !== undefined && sha256(text) === head.digest, `manifest ${head.sequence}`)
    return { ...head, body: text }
  }

  const reads: ManifestReads = {
    publicKey: () => publicKeyOf(meta.signingKey()),
    newest: () => toHead(newest.get()),
    find: (sequence) => toManifest(bySequence.get(sequence)),
    ofDay: (day) => toManifest(byDay.get(day)),
    sequencesOf: (day) => sequences.all(day).map(({ sequence }) => sequence),
    list: (afterSequence, limit) =>
      after.all(afterSequence, limit).flatMap((row) => toHead(row) ?? []),
    days: () => days.all().map(({ day }) => toIsoDay(day * DAY_MS)),
  }

  /** Adds a manifest; needs a transaction. */
  function add({ day, madeMs, after: known, ...content }: NewManifest): StoredManifest | undefined {
    const before = newest.get()
    // A signed manifest cannot be withdrawn.
    if (byDay.get(day)?.revision !== known) return undefined
    const revision = (known ?? 0) + 1
    const previous = before?.digest ?? null
    const place = { sequence: (before?.sequence ?? 0) + 1, day, revision, previous }
    const text = canonicalJson({
      kind: MANIFEST_KIND,
      madeAt: toIso(madeMs),
      ...place,
      ...content,
    } satisfies ManifestBody)
    const row = signRow({ ...place, madeMs, digest: sha256(text) }, meta.signingKey())
    insert.run(row)
    insertBody.run({ sequence: row.sequence, body: text })
    meta.addToSum('manifest', row.checksum)
    return { ...row, body: text }
  }

  function* verify(): Generator<string> {
    const rows = all.all()
    yield* verifyLog(rows, 'manifest', meta)
    for (const { sequence, digest } of rows)
      if (sha256(body.get(sequence)?.body ?? '') !== digest)
        yield `manifest ${sequence} is not what its digest says`
  }
  return { ...reads, add, verify: (): string[] => [...verify()] }
}

const inOrder = ({ sequence, day, revision, madeMs, ...rest }: Row): Row => ({
  sequence,
  day,
  revision,
  madeMs,
  digest: rest.digest,
  previous: rest.previous,
  signature: rest.signature,
  publicKey: rest.publicKey,
  checksum: 0,
})
