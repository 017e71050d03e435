import { describe, expect, test } from 'bun:test'

import { digestOf } from '#src/domain/selling/api-key.ts'
import type { AuditContext } from '#src/ledger/actor.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'

const DAY_MS = 86_400_000
const ADDRESS = `0x${'aB'.repeat(20)}`
const by: AuditContext = { actor: 'operator', nowMs: NOW_MS }

describe('bookfeed keys list', () => {
  /** Keys in each state: valid, expiring, expired, revoked. */
  async function aLineWithKeys() {
    const line = createCommandLine()
    const keys = new Set<string>()
    for (const label of ['valid', 'expiring', 'expired', 'revoked']) {
      const { printed } = await line.run('keys', 'create', '--tier', 'pro', '--label', label)
      keys.add(printed[0] ?? '')
    }
    const ids = await line.withLedger(async (ledger) => {
      const [valid = '', expiring = '', expired = '', revoked = ''] = ledger
        .listKeys()
        .map(({ id }) => id)
      await ledger.expireKey(expiring, NOW_MS + 1000, by)
      await ledger.expireKey(expired, NOW_MS, by)
      await ledger.revokeKey(revoked, by)
      await ledger.addUsage([
        { keyId: valid, day: '2026-01-02', route: 'a', requests: 1, bytes: 1, lastUsedMs: NOW_MS },
      ])
      return { valid, expiring, expired, revoked }
    })
    return { line, ids, keys }
  }

  test('default: lists valid keys in aligned columns', async () => {
    const { line, ids } = await aLineWithKeys()
    using _ = line
    const { exitCode, printed, errors } = await line.run('keys', 'list')
    expect([exitCode, errors]).toEqual([0, []])
    expect(printed).toHaveLength(3)
    const [header = '', valid = '', expiring = ''] = printed
    expect(header.split(/ +/)).toEqual(
      'id account address label ends-in tier created last-used status'.split(' '),
    )
    const time = '2026-01-02T03:04:05.678Z'
    expect(valid).toMatch(new RegExp(`^${ids.valid} .* - .* pro .*${time} .*${time} .*valid$`))
    expect(expiring).toEndWith(`-                         expiring until 2026-01-02T03:04:06.678Z`)
    for (const column of ['account', 'label', 'tier', 'status']) {
      const at = header.indexOf(column)
      expect([valid, expiring].map((row) => row.slice(at - 2, at + 1))).toEqual([
        expect.stringMatching(/^ {2}\S$/),
        expect.stringMatching(/^ {2}\S$/),
      ])
    }
  })

  test('behavior: --all adds those that are over, --account keeps to one', async () => {
    const { line, ids } = await aLineWithKeys()
    using _ = line
    const { printed } = await line.run('keys', 'list', '--all')
    expect(printed.slice(1).map((row) => row.split(/ {2,}/).at(-1))).toEqual([
      'valid',
      'expiring until 2026-01-02T03:04:06.678Z',
      'expired',
      'revoked',
    ])
    const one = await line.run('keys', 'list', '--account', 'acc_minted1')
    expect(one.printed).toHaveLength(2)
    expect(one.printed[1]).toStartWith(ids.valid)
  })

  test('behavior: --json is one array with every fact', async () => {
    const { line, ids } = await aLineWithKeys()
    using _ = line
    const { printed } = await line.run('keys', 'list', '--all', '--json')
    const rows = JSON.parse(printed.join('\n'))
    expect(rows.map(({ status }: { status: string }) => status)).toEqual([
      'valid',
      'expiring',
      'expired',
      'revoked',
    ])
    expect(rows[0]).toEqual({
      id: ids.valid,
      accountId: 'acc_minted1',
      address: null,
      label: 'valid',
      hint: expect.stringMatching(/^\w{4}$/),
      tier: 'pro',
      createdAt: '2026-01-02T03:04:05.678Z',
      lastUsedAt: '2026-01-02T03:04:05.678Z',
      expiresAt: null,
      revokedAt: null,
      status: 'valid',
      isBlocked: false,
    })
    expect(JSON.parse((await line.run('keys', 'list', '--json')).printed.join(''))).toHaveLength(2)
  })

  test('behavior: never shows a key or its digest', async () => {
    const { line, keys } = await aLineWithKeys()
    using _ = line
    const table = await line.run('keys', 'list', '--all')
    const json = await line.run('keys', 'list', '--all', '--json')
    const text = [table, json].flatMap(({ printed, errors }) => [...printed, ...errors]).join('\n')
    expect(keys.size).toBe(4)
    expect(text).not.toContain('bf_live_')
    for (const key of keys) {
      expect(text).not.toContain(key.slice(-12))
      expect(text).not.toContain(Buffer.from(digestOf(key)).toString('hex').slice(0, 16))
    }
  })

  test('behavior: tells of a blocked account, and of a tier that has ended', async () => {
    using line = createCommandLine()
    await line.run('keys', 'create', '--address', ADDRESS, '--tier', 'pro', '--days', '1')
    await line.withLedger((ledger) => ledger.setBlocked('acc_minted1', true, by))
    line.context.clock = () => NOW_MS + DAY_MS
    const { printed } = await line.run('keys', 'list')
    expect(printed[1]).toContain(`${ADDRESS.toLowerCase()}  `)
    expect(printed[1]).toContain('  free  ')
    expect(printed[1]).toEndWith('  valid, account blocked')
  })

  test('behavior: a label of a stranger cannot move the terminal', async () => {
    using line = createCommandLine()
    await line.withLedger(async (ledger) => {
      await ledger.createAccount({ id: 'acc_1' }, by)
      const digest = digestOf('any')
      const label = 'a\u001b[2J\nkey_forged\u202e'
      await ledger.createKey(
        { id: 'key_1', accountId: 'acc_1', familyId: 'key_1', digest, hint: 'abcd', label },
        by,
      )
    })
    const { printed } = await line.run('keys', 'list')
    expect(printed).toHaveLength(2)
    expect(printed[1]).toContain('a\ufffd[2J\ufffdkey_forged\ufffd')
  })

  test('behavior: says so when there is nothing to list, with an empty array for programs', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    expect(await line.run('keys', 'list')).toEqual({
      exitCode: 0,
      printed: [],
      errors: ['no valid keys; --all lists the others'],
    })
    expect((await line.run('keys', 'list', '--all')).errors).toEqual(['no keys'])
    expect((await line.run('keys', 'list', '--json')).printed).toEqual(['[]'])
  })

  test('error: an unknown account, and a folder without a ledger, which stays without', async () => {
    using line = createCommandLine()
    const none = await line.run('keys', 'list')
    expect(none).toMatchObject({ exitCode: 1, printed: [] })
    expect(none.errors[0]).toContain('BOOKFEED_DATA')
    expect(await Bun.file(line.ledgerPath).exists()).toBe(false)
    await line.withLedger(() => {})
    const { exitCode, errors } = await line.run('keys', 'list', '--account', 'acc_x')
    expect([exitCode, errors]).toEqual([1, ['bookfeed: There is no account acc_x.']])
  })
})

describe('bookfeed keys revoke', () => {
  test('default: revokes each, and says which were already revoked', async () => {
    using line = createCommandLine()
    await line.run('keys', 'create')
    await line.run('keys', 'create')
    expect(await line.run('keys', 'revoke', 'key_minted2')).toEqual({
      exitCode: 0,
      printed: ['key_minted2: revoked'],
      errors: [],
    })
    const both = await line.run('keys', 'revoke', 'key_minted2', 'key_minted4', 'key_minted4')
    expect(both.exitCode).toBe(0)
    expect(both.printed).toEqual(['key_minted2: already revoked', 'key_minted4: revoked'])
    await line.withLedger((ledger) => {
      expect(ledger.listKeys().map(({ revokedMs }) => revokedMs)).toEqual([NOW_MS, NOW_MS])
      expect([...ledger.verifyAudit()]).toEqual([])
    })
  })

  test('error: an unknown id fails, the others are revoked nevertheless', async () => {
    using line = createCommandLine()
    const { printed } = await line.run('keys', 'create')
    const key = printed[0] ?? ''
    const result = await line.run('keys', 'revoke', 'key_x', key, 'key_minted2')
    expect(result.exitCode).toBe(1)
    expect(result.printed).toEqual(['key_minted2: revoked'])
    // A key that was pasted in place of its id is not shown again.
    expect(result.errors).toEqual([
      'bookfeed: Unknown: key_x, bf_live_…. bookfeed keys list shows the ids.',
    ])
    expect(await line.withLedger((ledger) => ledger.findKey('key_minted2')?.revokedMs)).toBe(NOW_MS)
  })

  test('error: no id, and no ledger', async () => {
    using line = createCommandLine()
    expect((await line.run('keys', 'revoke')).exitCode).toBe(2)
    expect((await line.run('keys', 'revoke', 'key_x')).exitCode).toBe(1)
  })
})
