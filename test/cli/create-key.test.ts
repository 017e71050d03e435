import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { digestOf, isWellFormedKey } from '#src/domain/selling/api-key.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import type { AuditContext } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'

const DAY_MS = 86_400_000
const ADDRESS = `0x${'aB'.repeat(20)}`
const lowerAddress = ADDRESS.toLowerCase()
const by: AuditContext = { actor: 'operator', nowMs: NOW_MS }
const main = join(import.meta.dir, '../../src/main.ts')

/** What the digest of a key leads to, as a server would find it. */
function findByKey(ledger: Ledger, key: string | undefined) {
  const apiKey = ledger.findKeyByDigest(digestOf(key ?? ''))
  if (!apiKey) throw new Error('No such key.')
  const account = ledger.findAccount(apiKey.accountId)
  const subscriptions = ledger.listSubscriptions(apiKey.accountId)
  const standing = standingAt(subscriptions, ledger.listTiers(), apiKey.createdMs)
  return { apiKey, account, subscriptions, standing }
}

/** How much a ledger holds, to see that a refusal kept nothing. */
const sizeOf = (ledger: Ledger) => ({
  keys: ledger.listKeys().length,
  accounts: ledger.listAddressedAccounts().length,
  audit: ledger.auditHead()?.seq,
})

/** A list that names one address. */
const putList = (ledger: Ledger, address: string) =>
  ledger.putSanctionsList(
    {
      publishedOn: '2026-01-01',
      confirmedMs: NOW_MS,
      sha256: 'ab'.repeat(32),
      addresses: new Set([address]),
    },
    by,
  )

describe('bookfeed keys create', () => {
  test('default: prints a key of the Free tier alone on stdout, and it is in the ledger', async () => {
    using line = createCommandLine()
    const { exitCode, printed, errors } = await line.run('keys', 'create')
    expect(exitCode).toBe(0)
    expect(printed).toHaveLength(1)
    expect(isWellFormedKey(printed[0] ?? '')).toBe(true)
    expect(errors).toEqual([
      'key      key_minted2, shown only once',
      'account  acc_minted1',
      'tier     free',
    ])
    const found = await line.withLedger((ledger) => findByKey(ledger, printed[0]))
    expect(found.apiKey).toMatchObject({ id: 'key_minted2', familyId: 'key_minted2' })
    expect(found.apiKey.hint).toBe(printed[0]?.slice(-4) ?? '')
    expect(found.subscriptions).toEqual([])
    expect(found.account?.address).toBeUndefined()
  })

  test('behavior: --tier grants for ever, --days from now on; neither keeps terms', async () => {
    using line = createCommandLine()
    const forEver = await line.run('keys', 'create', '--tier', 'pro', '--label', ' acme ')
    expect(forEver.errors.at(-1)).toBe('tier     pro')
    const month = await line.run('keys', 'create', '--tier', 'starter', '--days', '30')
    expect(month.errors.at(-1)).toBe('tier     starter until 2026-02-01T03:04:05.678Z')
    await line.withLedger((ledger) => {
      const acme = findByKey(ledger, forEver.printed[0])
      expect(acme.apiKey.label).toBe('acme')
      expect(acme.account?.label).toBe('acme')
      expect(acme.standing.terms.tierId).toBe('pro')
      expect(acme.standing.untilMs).toBe(Number.POSITIVE_INFINITY)
      const starter = findByKey(ledger, month.printed[0])
      expect(starter.subscriptions).toHaveLength(1)
      expect(starter.subscriptions[0]).toMatchObject({
        tierId: 'starter',
        startMs: NOW_MS,
        endMs: NOW_MS + 30 * DAY_MS,
      })
      expect(starter.subscriptions[0]?.terms).toBeUndefined()
      expect(starter.apiKey.accountId).not.toBe(acme.apiKey.accountId)
    })
  })

  test('behavior: an address has one account, whatever its case, and says if it was not screened', async () => {
    using line = createCommandLine()
    const first = await line.run('keys', 'create', '--address', ADDRESS, '--tier', 'pro')
    expect(first.errors).toContain(`account  acc_minted1, ${lowerAddress}`)
    expect(first.errors[0]).toContain('was not screened')
    await line.withLedger((ledger) => putList(ledger, `0x${'0'.repeat(40)}`))
    const second = await line.run('keys', 'create', '--address', lowerAddress)
    expect(second.errors.join('\n')).not.toContain('screened')
    // A key without a grant is still one of its account's tier.
    expect(second.errors.at(-1)).toBe('tier     pro')
    const third = await line.run('keys', 'create', '--account', 'acc_minted1')
    await line.withLedger((ledger) => {
      const keys = [first, second, third].map(({ printed }) => findByKey(ledger, printed[0]))
      expect(keys.map(({ account }) => account?.id)).toEqual(Array(3).fill('acc_minted1'))
      expect(keys[0]?.subscriptions).toHaveLength(1)
      expect(ledger.listAddressedAccounts()).toHaveLength(1)
    })
  })

  test('behavior: is audited as the operator, without the key', async () => {
    using line = createCommandLine()
    const { printed } = await line.run('keys', 'create', '--tier', 'pro')
    await line.withLedger((ledger) => {
      const rows = ledger.listAudit(0, 100).filter(({ actor }) => actor === 'operator')
      expect(rows).toHaveLength(3)
      const body = printed[0]?.slice('bf_live_'.length) ?? ''
      expect(JSON.stringify(rows)).not.toContain(body)
      expect([...ledger.verifyAudit()]).toEqual([])
    })
  })

  test('error: an unknown tier lists those that there are, and keeps nothing', async () => {
    using line = createCommandLine()
    const before = await line.withLedger(sizeOf)
    const { exitCode, printed, errors } = await line.run('keys', 'create', '--tier', 'gold')
    expect(exitCode).toBe(2)
    expect(printed).toEqual([])
    expect(errors).toEqual(['bookfeed: The tier gold is none of free, starter, pro, enterprise.'])
    expect(await line.withLedger(sizeOf)).toEqual(before)
  })

  test('error: refuses a blocked account and a listed address, and keeps nothing', async () => {
    using line = createCommandLine()
    const blocked = `0x${'1'.repeat(40)}`
    const listed = `0x${'2'.repeat(40)}`
    await line.withLedger(async (ledger) => {
      await ledger.createAccount({ id: 'acc_blocked', address: blocked }, by)
      await ledger.setBlocked('acc_blocked', true, by)
      await ledger.createAccount({ id: 'acc_listed', address: listed }, by)
      await putList(ledger, listed)
    })
    await line.withLedger((ledger) => putList(ledger, listed))
    const before = await line.withLedger(sizeOf)
    for (const [option, value, reason] of [
      ['--account', 'acc_blocked', 'is blocked'],
      ['--address', blocked, 'is blocked'],
      ['--account', 'acc_listed', 'on a sanctions list'],
      ['--address', listed, 'on a sanctions list'],
    ] as const) {
      const { exitCode, printed, errors } = await line.run('keys', 'create', option, value)
      expect([value, exitCode, printed]).toEqual([value, 1, []])
      expect(errors.join('\n')).toContain(reason)
    }
    // Only the verdicts were written down.
    expect(await line.withLedger(sizeOf)).toEqual({ ...before, audit: (before.audit ?? 0) + 2 })
  })

  test('error: refuses a listed address that has no account yet, and makes none', async () => {
    using line = createCommandLine()
    await line.withLedger((ledger) => putList(ledger, lowerAddress))
    const { exitCode } = await line.run('keys', 'create', '--address', ADDRESS)
    expect(exitCode).toBe(1)
    expect(
      await line.withLedger((ledger) => ledger.findAccountByAddress(lowerAddress)),
    ).toBeUndefined()
  })

  test('error: an unknown account, and one with as many keys as it may have', async () => {
    using line = createCommandLine({ BOOKFEED_KEYS_PER_ACCOUNT: '1' })
    const unknown = await line.run('keys', 'create', '--account', 'acc_x')
    expect(unknown).toMatchObject({ exitCode: 1, printed: [] })
    expect(unknown.errors[0]).toStartWith('bookfeed: There is no account acc_x.')
    await line.run('keys', 'create')
    const full = await line.run('keys', 'create', '--account', 'acc_minted1')
    expect(full).toMatchObject({ exitCode: 1, printed: [] })
    expect(full.errors[0]).toContain('BOOKFEED_KEYS_PER_ACCOUNT')
  })

  test.each([
    ['--days', '0'],
    ['--days', '1.5'],
    ['--days', '36501'],
    ['--days', '1e3'],
    ['--address', '0x12'],
    ['--address', `${ADDRESS}0`],
    ['--address', `0x${'g'.repeat(40)}`],
    ['--label', ' '],
    ['--label', 'a\u001b[2Jb'],
    ['--label', 'x'.repeat(101)],
  ])('error: %s %j is a wrong call that names the option', async (option, value) => {
    using line = createCommandLine()
    const { exitCode, printed, errors } = await line.run(
      ...['keys', 'create', '--tier', 'pro', option, value],
    )
    expect(exitCode).toBe(2)
    expect(printed).toEqual([])
    expect(errors.join('\n')).toContain(option)
    expect(await Bun.file(line.ledgerPath).exists()).toBe(false)
  })

  test.each([
    [['--days', '3']],
    [['--address', ADDRESS, '--account', 'acc_1']],
    [['extra']],
    [['--nope']],
  ])('error: %j is a wrong call', async (args) => {
    using line = createCommandLine()
    expect(await line.run('keys', 'create', ...args)).toMatchObject({ exitCode: 2, printed: [] })
    expect(await Bun.file(line.ledgerPath).exists()).toBe(false)
  })

  test('behavior: five processes at once on an empty folder all make a key, and the chain holds', async () => {
    using line = createCommandLine()
    const runs = Array.from({ length: 5 }, async () => {
      const child = Bun.spawn([process.execPath, main, 'keys', 'create', '--tier', 'pro'], {
        env: { BOOKFEED_DATA: line.folder },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [output, error] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ])
      return { exitCode: await child.exited, output, error }
    })
    const results = await Promise.all(runs)
    expect(results.filter(({ exitCode }) => exitCode !== 0)).toEqual([])
    const keys = results.map(({ output }) => output.trimEnd())
    expect(new Set(keys).size).toBe(5)
    for (const { error } of results) expect(error).not.toContain('bf_live_')
    await line.withLedger((ledger) => {
      const tiers = keys.map((key) => findByKey(ledger, key).standing.terms.tierId)
      expect(tiers).toEqual(Array(5).fill('pro'))
      expect(ledger.listKeys()).toHaveLength(5)
      expect([...ledger.verifyAudit()]).toEqual([])
    })
  }, 300_000)
})
