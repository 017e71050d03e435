/** Keys, the answered challenges, and stored responses that contain a key. */
import { timingSafeEqual } from 'node:crypto'

import { apiKey, idempotency, usedNonce } from '#db/ledger/schema.ts'
import { sqlOf } from '#src/database/columns.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { DAY_MS } from '#src/domain/time.ts'

import type { Accounts } from './accounts.ts'
import type { AuditContext } from './actor.ts'
import { checksums } from './checksums.ts'
import type { LedgerCore } from './core.ts'
import {
  type ApiKey,
  isValidKey,
  type KeyDraft,
  type KeyMade,
  type LedgerReads,
  type LedgerVerbs,
  type Once,
  type Replayed,
  type StoredAnswer,
} from './ledger.ts'
import { change, createRows, exists, read } from './rows.ts'

const BY_CREATION = 'ORDER BY created_ms, seq'
const IS_VALID = 'revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms >'

export type Keys = ReturnType<typeof createKeys>

export function createKeys({ db, record }: LedgerCore, accounts: Accounts) {
  const rows = createRows(db, apiKey, {
    what: 'key',
    parse: ({ digest, seq, ...key }): ApiKey => key,
  })
  const byDigest = db.prepare<{ id: string; digest: Uint8Array }, [Uint8Array]>(
    'SELECT id, digest FROM api_key WHERE digest = $1',
  )
  const listAll = rows.list<[]>(BY_CREATION)
  const listOfAccount = rows.list<[accountId: string]>(`WHERE account_id = $1 ${BY_CREATION}`)
  const countValid = read<[accountId: string, nowMs: number], { count: number }, number>(
    db,
    `SELECT count(*) AS count FROM api_key WHERE account_id = $1 AND ${IS_VALID} $2)`,
    ([row]) => row?.count ?? 0,
  )
  /** The chain remembers forgotten keys. It is only read if no key is left. */
  const isAny = exists<[]>(
    db,
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM api_key)
      OR EXISTS (SELECT 1 FROM audit WHERE action = 'key.created')`,
  )
  /** False if the key already has this label. */
  const setLabel = change<[{ id: string; label: string }]>(
    db,
    'UPDATE api_key SET label = $label WHERE id = $id AND label IS DISTINCT FROM $label',
  )
  /** False if the key already expires no later. */
  const expire = change<[{ id: string; expiresMs: number }]>(
    db,
    `UPDATE api_key SET expires_ms = $expiresMs WHERE id = $id AND ${IS_VALID} $expiresMs)`,
  )
  const revoke = change<[{ id: string; revokedMs: number }]>(
    db,
    'UPDATE api_key SET revoked_ms = $revokedMs WHERE id = $id AND revoked_ms IS NULL',
  )
  const removeUsage = change<[id: string]>(db, 'DELETE FROM usage WHERE key_id = $1')
  const remove = change<[id: string]>(db, 'DELETE FROM api_key WHERE id = $1')

  const isNonceUsed = exists<[nonce: string]>(db, 'SELECT 1 FROM used_nonce WHERE nonce = $1')
  const insertNonce = change<[typeof usedNonce.$inferSelect]>(db, sqlOf(usedNonce).insert())
  /** A nonce that expires at this moment is kept, because nothing depends on the edge. */
  const forgetNonces = change<[nowMs: number]>(db, 'DELETE FROM used_nonce WHERE expires_ms < $1')

  const answerSql = sqlOf(idempotency)
  const answerById = read<[id: string, sinceMs: number], StoredAnswer, StoredAnswer | undefined>(
    db,
    `SELECT ${answerSql.columns(['id', 'fingerprint', 'sealed'])} FROM idempotency
     WHERE id = $1 AND created_ms > $2`,
    ([row]) => row,
  )
  const insertAnswer = change<[typeof idempotency.$inferSelect]>(db, answerSql.insert())
  const forgetAnswers = change<[sinceMs: number]>(
    db,
    'DELETE FROM idempotency WHERE created_ms <= $1',
  )
  const findAnswer = (id: string, nowMs: number): StoredAnswer | undefined =>
    answerById(id, nowMs - DAY_MS)

  /** Throws if one exists, because no change may happen twice. Forgets old ones. */
  function putAnswer(answer: StoredAnswer, nowMs: number): void {
    forgetAnswers(nowMs - DAY_MS)
    const row = { ...answer, createdMs: nowMs }
    insertAnswer({ ...row, checksum: checksums.answer(row) })
  }

  /** Makes a change together with its stored response, so that it happens only once. */
  const doOnce = <End extends { kind: string }>(
    once: Once | undefined,
    nowMs: number,
    body: () => End,
  ): End | Replayed => {
    const answer = once && findAnswer(once.id, nowMs)
    if (answer !== undefined) return { kind: 'replayed', answer }
    const end = body()
    if (once !== undefined && isMade(end)) putAnswer(once.answer(end), nowMs)
    return end
  }

  const list = (accountId?: string): ApiKey[] =>
    accountId === undefined ? listAll() : listOfAccount(accountId)

  function insertKey(draft: KeyDraft, by: AuditContext): ApiKey {
    rows.insert({ ...draft, createdMs: by.nowMs })
    record(by, 'key.created', draft.id)
    return rows.get(draft.id)
  }

  function makeKey(draft: KeyDraft, by: AuditContext): KeyMade {
    const account = accounts.get(draft.accountId)
    const subscriptions = accounts.subscriptions.list(draft.accountId)
    const key = insertKey(draft, by)
    const { terms } = standingAt(subscriptions, accounts.listCatalogue(), by.nowMs)
    return { kind: 'made', key, account, tierId: terms.tierId }
  }

  /** Refuses before anything is written. */
  function signUp(
    {
      nonce,
      expiresMs,
      address,
      accountId,
      key,
      keysMax,
      keepKeys = false,
    }: Parameters<LedgerVerbs['signUp']>[0],
    nowMs: number,
  ): ReturnType<LedgerVerbs['signUp']> {
    forgetNonces(nowMs)
    if (isNonceUsed(nonce)) return { kind: 'nonce_used' }
    const known = accounts.findByAddress(address)
    if (known?.blockedMs !== undefined) return { kind: 'blocked' }
    const id = known?.id ?? accountId
    const before = list(id)
    const valid = before.filter((one) => isValidKey(one, nowMs))
    const isFree = known === undefined || accounts.isFree(id)
    if (keepKeys && valid.length > 0) return { kind: 'has_key' }
    if (!isFree && valid.length >= keysMax) return { kind: 'key_limit' }

    insertNonce({ nonce, expiresMs })
    const by = { actor: `account:${id}` as const, nowMs }
    if (known === undefined) {
      accounts.insert({ id, address, createdMs: nowMs })
      record(by, 'account.created', id)
    }
    const ended = isFree ? valid : []
    for (const one of ended) {
      revoke({ id: one.id, revokedMs: nowMs })
      record(by, 'key.revoked', one.id)
    }
    const running = isFree ? [] : valid
    const familyId = findEndedFamily(before, running) ?? key.id
    return makeKey({ ...key, accountId: id, familyId }, by)
  }

  function rotateKey(
    {
      id,
      accountId,
      callerKeyId,
      key,
      keysMax,
      overlapMs,
    }: Parameters<LedgerVerbs['rotateKey']>[0],
    by: AuditContext,
  ): ReturnType<LedgerVerbs['rotateKey']> {
    const { nowMs } = by
    const asking = rows.find(callerKeyId)
    if (asking === undefined || !isValidKey(asking, nowMs)) return { kind: 'caller_invalid' }
    if (accounts.get(accountId).blockedMs !== undefined) return { kind: 'blocked' }
    const old = rows.find(id)
    if (old?.accountId !== accountId || !isValidKey(old, nowMs)) return { kind: 'unknown_key' }
    if (old.expiresMs !== undefined) return { kind: 'replaced', expiresMs: old.expiresMs }
    // The key that is replaced does not count.
    if (countValid(accountId, nowMs) > keysMax) return { kind: 'key_limit' }

    const { familyId } = old
    const made = makeKey({ ...key, label: key.label ?? old.label, accountId, familyId }, by)
    // The key was valid without end in this transaction, so this changes it.
    expire({ id, expiresMs: nowMs + overlapMs })
    record(by, 'key.expiring', id)
    return made
  }

  return {
    list,
    insert: rows.insert,

    reads: {
      isNew: () => !isAny(),

      /**
       * The index may leak by timing how far a digest matches; the final comparison takes constant
       * time.
       */
      findKeyByDigest(digest) {
        const row = byDigest.get(digest)
        return row !== null && timingSafeEqual(row.digest, digest) ? rows.find(row.id) : undefined
      },

      findKey: rows.find,
      listKeys: list,
      countValidKeys: countValid,
      findAnswer,
    } satisfies Partial<LedgerReads>,

    verbs: {
      createKey(draft, by) {
        accounts.get(draft.accountId)
        return insertKey(draft, by)
      },

      labelKey(id, label, by) {
        rows.get(id)
        if (setLabel({ id, label })) record(by, 'key.labelled', id)
      },

      expireKey(id, expiresMs, by) {
        rows.get(id)
        if (expire({ id, expiresMs })) record(by, 'key.expiring', id)
      },

      revokeKey(id, by) {
        rows.get(id)
        const isRevoked = revoke({ id, revokedMs: by.nowMs })
        if (isRevoked) record(by, 'key.revoked', id)
        return isRevoked
      },

      signUp: (signup, nowMs) => doOnce(signup.once, nowMs, () => signUp(signup, nowMs)),
      rotateKey: (rotation, by) => doOnce(rotation.once, by.nowMs, () => rotateKey(rotation, by)),

      forgetIdle({ afterId, limit, idleSinceMs: sinceMs }, by) {
        const ids = accounts.listAfter(afterId, limit).map(({ id }) => id)
        const nextId = ids.length < limit ? undefined : ids.at(-1)
        const forgotten = ids.filter((id) => accounts.isIdle({ id, sinceMs }))
        for (const id of forgotten) {
          for (const key of list(id)) {
            record(by, 'key.forgotten', key.id)
            removeUsage(key.id)
            remove(key.id)
          }
          record(by, 'account.forgotten', id)
          accounts.remove(id)
        }
        return { forgotten, nextId }
      },

      putAnswer(answer, nowMs) {
        const known = findAnswer(answer.id, nowMs)
        if (known === undefined) putAnswer(answer, nowMs)
        return known ?? answer
      },
    } satisfies Partial<LedgerVerbs>,
  }
}

const isMade = (end: { kind: string }): end is KeyMade => end.kind === 'made'

/** A family whose keys have all ended, if any, so that new keys do not open fresh windows. */
function findEndedFamily(keys: readonly ApiKey[], running: readonly ApiKey[]): string | undefined {
  const families = new Set(running.map((key) => key.familyId))
  return keys.findLast(({ familyId }) => !families.has(familyId))?.familyId
}
