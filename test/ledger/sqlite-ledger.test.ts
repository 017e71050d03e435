import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Database } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { handlesOf } from '#src/database/transact.ts'
import { coins } from '#src/domain/market.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { openHistory } from '#src/history/open.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { prepareLedger } from '#src/ledger/prepare.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

import { openApart } from './apart.ts'
import { conformLedger } from './ledger-conformance.ts'
import {
  accountIdOf,
  addressOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  createKeyOne,
  keyIdOf,
  keyTextOf,
  NOW_MS,
  someUsage,
  tierOf,
} from './ledger-records.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-ledger-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${++files}.db`)

conformLedger('in a file', (nowMs) => openLedger(newPath(), { nowMs, lagMs: 1 }))
conformLedger('with a handle for reads', (nowMs) => openApart(newPath(), nowMs))

const readAll = (ledger: Ledger) => ({
  tiers: ledger.listTiers(),
  accounts: ledger.listAddressedAccounts(),
  keys: ledger.listKeys(),
  subscriptions: ledger.listSubscriptions(accountIdOf(1)),
  usage: ledger.usageOf(accountIdOf(1), ''),
  answer: ledger.findAnswer('a', NOW_MS),
  list: ledger.sanctionsList(),
  isSanctioned: ledger.isSanctioned(addressOf(2)),
  audit: ledger.listAudit(0, 1000),
  challengeKey: ledger.challengeKey,
  isNew: ledger.isNew(),
})

async function fill(ledger: Ledger): Promise<void> {
  await createKeyOne(ledger)
  await ledger.addSubscription(aSubscription(1, { terms: tierOf('pro') }), by())
  await ledger.putTier({ ...tierOf('pro'), amountMillionths: 1 }, by())
  await ledger.signUp(aSignup(7), NOW_MS)
  await ledger.putAnswer({ id: 'a', fingerprint: 'f', sealed: Uint8Array.of(1) }, NOW_MS)
  await ledger.addUsage([someUsage(1)])
  const list = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab', entryCount: 1 }
  await ledger.putSanctionsList({ ...list, addresses: new Set([addressOf(2)]) }, by())
}

describe('openLedger', () => {
  test('default: a ledger that is opened again holds what it held, and is not seeded again', async () => {
    const path = newPath()
    const first = openLedger(path, { nowMs: NOW_MS })
    await fill(first)
    const before = readAll(first)
    first.dispose()
    const again = openLedger(path, { nowMs: NOW_MS + 99 })
    expect(readAll(again)).toEqual(before)
    expect((await again.signUp(aSignup(7), NOW_MS)).kind).toBe('nonce_used')
    expect([...again.verifyAudit()]).toEqual([])
    again.dispose()
  })

  test('behavior: each ledger signs challenges with a key of its own', () => {
    const ledgers = [1, 2].map(() => openLedger(':memory:', { nowMs: NOW_MS }))
    const [one, two] = ledgers.map(({ challengeKey }) => challengeKey.toHex())
    expect(one).not.toBe(two)
    for (const ledger of ledgers) ledger.dispose()
  })

  test('behavior: a catalogue that was emptied by hand is not quietly filled again', () => {
    const path = newPath()
    openLedger(path, { nowMs: NOW_MS }).dispose()
    const db = openDatabase(path, { format: ledgerFormat })
    db.run('DELETE FROM tier')
    db.close()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    expect(ledger.listTiers()).toEqual([])
    expect([...ledger.verifyAudit()]).toHaveLength(defaultTiers.length)
    ledger.dispose()
  })

  test('behavior: tiers that had every coin before there were more have every coin, and the others what they had', async () => {
    const path = newPath()
    const four = ['btc', 'eth', 'sol', 'xrp'] as const
    const team = { ...tierOf('pro'), tierId: 'team', rank: 9, coins: ['btc', 'sol'] as const }
    const old = openLedger(path, { nowMs: NOW_MS })
    for (const id of ['pro', 'enterprise'] as const)
      await old.putTier({ ...tierOf(id), coins: four }, by())
    await old.putTier(team, by())
    await createKeyOne(old)
    const bought = { ...tierOf('pro'), coins: four }
    await old.addSubscription(aSubscription(1, { terms: bought }), by())
    const audited = old.listAudit(0, 1000).length
    old.dispose()
    const db = openDatabase(path, { format: ledgerFormat })
    db.run("DELETE FROM meta WHERE key = 'coins'")
    db.close()

    const coinsOf = (ledger: Ledger): Record<string, readonly string[]> =>
      Object.fromEntries(ledger.listTiers().map(({ tierId, coins }) => [tierId, coins]))
    const ledger = openLedger(path, { nowMs: NOW_MS + 5 })
    const expected: Record<string, readonly string[]> = {
      free: ['btc'],
      starter: ['btc', 'eth'],
      pro: coins,
      enterprise: coins,
      team: ['btc', 'sol'],
    }
    expect(coinsOf(ledger)).toEqual(expected)
    const [subscription] = ledger.listSubscriptions(accountIdOf(1))
    expect(subscription?.terms?.coins).toEqual([...four])
    expect(
      ledger.listAudit(audited, 1000).map(({ actor, action, subject }) => [actor, action, subject]),
    ).toEqual([
      ['system', 'tier.put', 'pro'],
      ['system', 'tier.put', 'enterprise'],
    ])
    expect([...ledger.verifyAudit()]).toEqual([])
    await ledger.putTier({ ...tierOf('pro'), coins: four }, by())
    ledger.dispose()
    const again = openLedger(path, { nowMs: NOW_MS + 9 })
    expect(coinsOf(again)).toEqual({ ...expected, pro: [...four] })
    again.dispose()
  })

  test('error: refuses a history', () => {
    const path = newPath()
    openHistory(path).dispose()
    expect(() => openLedger(path, { nowMs: NOW_MS })).toThrow(
      expect.objectContaining({ code: 'storage_unavailable' }),
    )
  })
})

/** A ledger whose every commit of usage and of keys says how much it waited for the disk. */
function openWatched(): { db: Database; ledger: Ledger; levels: () => unknown[] } {
  const db = openDatabase(newPath(), { format: ledgerFormat })
  prepareLedger(db, NOW_MS)
  const ledger = createSqliteLedger(handlesOf(db))
  db.run('CREATE TEMP TABLE level (table_name, value)')
  for (const table of ['usage', 'audit']) {
    db.run(`CREATE TEMP TRIGGER watch_${table} AFTER INSERT ON main.${table} BEGIN
      INSERT INTO level SELECT '${table}', synchronous FROM pragma_synchronous; END`)
  }
  return { db, ledger, levels: () => db.prepare('SELECT DISTINCT * FROM level').values() }
}

describe('every verb', () => {
  const chain = { oracle: 'hit', issuers: 'clear' } as const
  const asked = { address: addressOf(1), chain, staleAfterMs: 0 }
  const list = { publishedOn: '2026-11-21', confirmedMs: NOW_MS, sha256: 'cd', entryCount: 2 }
  const verbs: Record<string, (ledger: Ledger) => Promise<unknown>> = {
    putTier: (ledger) => ledger.putTier({ ...tierOf('free'), name: 'Gratis' }, by()),
    createAccount: (ledger) =>
      ledger.createAccount({ id: accountIdOf(3), address: addressOf(3) }, by()),
    setBlocked: (ledger) => ledger.setBlocked(accountIdOf(1), true, by()),
    createKey: (ledger) => ledger.createKey(aKey(3), by()),
    labelKey: (ledger) => ledger.labelKey(keyIdOf(1), 'other', by()),
    expireKey: (ledger) => ledger.expireKey(keyIdOf(1), NOW_MS, by()),
    revokeKey: (ledger) => ledger.revokeKey(keyIdOf(1), by()),
    addSubscription: (ledger) => ledger.addSubscription(aSubscription(3), by()),
    recordScreening: (ledger) => ledger.recordScreening(asked, by()),
    putSanctionsList: (ledger) => ledger.putSanctionsList({ ...list, addresses: new Set() }, by()),
  }
  for (const [name, act] of Object.entries(verbs)) {
    test(`error: ${name} that cannot be audited does not happen`, async () => {
      const db = openDatabase(':memory:', { format: ledgerFormat })
      prepareLedger(db, NOW_MS)
      const ledger = createSqliteLedger(handlesOf(db))
      await fill(ledger)
      const before = { ...readAll(ledger), revision: ledger.revision() }
      db.run(`CREATE TEMP TRIGGER no_audit AFTER INSERT ON main.audit
        BEGIN SELECT RAISE(ABORT, 'no audit'); END`)
      await expect(act(ledger)).rejects.toThrow('no audit')
      expect({ ...readAll(ledger), revision: ledger.revision() }).toEqual(before)
      db.run('DROP TRIGGER no_audit')
      await act(ledger)
      expect(readAll(ledger).audit).toHaveLength(before.audit.length + 1)
      ledger.dispose()
    })
  }
})

describe('addUsage', () => {
  const normal = 1
  const full = 2

  test('default: does not wait for the disk, and everything else does', async () => {
    const { ledger, levels } = openWatched()
    await createKeyOne(ledger)
    await ledger.addUsage([someUsage(1)])
    await ledger.revokeKey(keyIdOf(1), by())
    const expected: unknown[] = [
      ['audit', full],
      ['usage', normal],
    ]
    expect(levels()).toEqual(expected)
    ledger.dispose()
  })

  test('behavior: waits as part of a transaction that does', async () => {
    const { ledger, levels } = openWatched()
    await ledger.atomically((transaction) => transaction.addUsage([someUsage(1)]))
    expect(levels()).toEqual([['usage', full]])
    ledger.dispose()
  })

  test('error: what fails keeps nothing, and later verbs wait again', async () => {
    const { db, ledger, levels } = openWatched()
    await createKeyOne(ledger)
    const broken = { ...someUsage(2), requests: Number.NaN }
    await expect(ledger.addUsage([someUsage(1), broken])).rejects.toThrow()
    expect(ledger.usageOf(accountIdOf(1), '')).toEqual([])
    expect(db.prepare('PRAGMA synchronous').values()).toEqual([[full]])
    expect(levels()).toEqual([['audit', full]])
    ledger.dispose()
  })
})

describe('createKey', () => {
  test('behavior: the key itself is nowhere in the files, before and after they are closed', async () => {
    const path = newPath()
    const ledger = openLedger(path, { nowMs: NOW_MS })
    await fill(ledger)
    const bytes = () =>
      readdirSync(folder)
        .map((name) => join(folder, name))
        .filter((file) => file.startsWith(path))
        .map((file) => readFileSync(file).toString('latin1'))
        .join()
    const random = keyTextOf(1).slice('bf_live_'.length, -4)
    const check = () => {
      // What should be there is: the search looks at the right bytes.
      expect(bytes()).toContain(Buffer.from(aKey(1).digest).toString('latin1'))
      expect(bytes()).not.toContain(random)
      expect(bytes()).not.toContain('bf_live_')
    }
    check()
    ledger.dispose()
    check()
  })
})
