import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'

import { createCommandLine } from '../support/command-line.ts'

/** A ledger with a key of the Pro tier. */
async function aLineWithKey() {
  const line = createCommandLine()
  await line.run('keys', 'create', '--tier', 'pro')
  /** What somebody with an editor for SQLite can do. */
  const tamper = (...statements: string[]) => {
    const db = new Database(line.ledgerPath)
    for (const sql of statements) db.run(sql)
    db.close()
  }
  /** Lets the audit table be changed, as an attacker would. */
  const dropTriggers = () => {
    const db = new Database(line.ledgerPath)
    const names = db
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
      .all()
    for (const { name } of names) db.run(`DROP TRIGGER "${name}"`)
    db.close()
    return names.length
  }
  const head = async () => {
    const last = await line.withLedger((ledger) => ledger.auditHead())
    return `${last?.seq}:${last?.hash}`
  }
  return { ...line, tamper, dropTriggers, head }
}

describe('bookfeed audit list', () => {
  test('behavior: is whole in a pipe whose reader is slow', async () => {
    using line = createCommandLine()
    const by = { actor: 'operator', nowMs: Date.UTC(2026, 0, 1) } as const
    await line.withLedger(async (ledger) => {
      for (let number = 0; number < 1500; number++) {
        await ledger.createAccount({ id: `acc_${String(number).padStart(32, '0')}` }, by)
      }
    })
    const main = new URL('../../src/main.ts', import.meta.url).pathname
    const list = `'${process.execPath}' '${main}' audit list --json --limit 1000`
    const command = `BOOKFEED_DATA='${line.folder}' ${list} | (sleep 1; cat)`
    const child = Bun.spawn(['sh', '-c', command], { stdout: 'pipe', stderr: 'inherit' })
    expect(JSON.parse(await child.stdout.text())).toHaveLength(1000)
  })
})

describe('bookfeed audit verify', () => {
  test('default: a sound chain prints its length and a head that it takes back', async () => {
    using line = await aLineWithKey()
    const { exitCode, printed, errors } = await line.run('audit', 'verify')
    expect([exitCode, errors]).toEqual([0, []])
    // Four tiers, an account, a subscription, a key.
    expect(printed).toEqual([`sound: 7 rows, head ${await line.head()}`])
    const noted = await line.head()
    await line.run('keys', 'create')
    const again = await line.run('audit', 'verify', '--head', noted)
    expect(again).toEqual({
      exitCode: 0,
      printed: [`sound: 9 rows, head ${await line.head()}`],
      errors: [],
    })
  })

  test.each([
    ['the coins that it knew', "DELETE FROM meta WHERE key = 'coins'", 0],
    ['a tier', "DELETE FROM tier WHERE id = 'pro'", 1],
    ['its key', "DELETE FROM meta WHERE key = 'challenge_key'", 1],
  ])('behavior: writes nothing into a ledger that lacks %s', async (_name, sql, code) => {
    using line = await aLineWithKey()
    line.tamper(sql)
    const rows = () => {
      const db = new Database(line.ledgerPath, { readonly: true })
      const tables = ['audit', 'meta', 'tier', 'usage', 'credit']
      const found = tables.map((table) => db.query(`SELECT * FROM ${table}`).values())
      db.close()
      return found
    }
    const before = rows()
    expect((await line.run('audit', 'verify')).exitCode).toBe(code)
    expect((await line.run('audit', 'list')).exitCode).toBe(0)
    expect(rows()).toEqual(before)
  })

  test.each([
    ['a label that was changed', "UPDATE api_key SET label = 'other'"],
    ['a price that was changed', "UPDATE tier SET amount_micros = 1 WHERE id = 'pro'"],
    ['a subscription that is gone', 'DELETE FROM subscription'],
  ])('error: %s by hand is found', async (_name, sql) => {
    using line = await aLineWithKey()
    line.tamper(sql)
    const { exitCode, printed, errors } = await line.run('audit', 'verify')
    expect(exitCode).toBe(1)
    expect(printed.length).toBeGreaterThan(0)
    expect(printed.join('\n')).not.toContain('sound')
    expect(errors).toEqual([`bookfeed: The audit chain is not sound. Faults: ${printed.length}.`])
  })

  test('error: a row of the chain that was changed is found', async () => {
    using line = await aLineWithKey()
    expect(line.dropTriggers()).toBeGreaterThan(0)
    line.tamper("UPDATE audit SET actor = 'system' WHERE seq = 7")
    expect((await line.run('audit', 'verify')).exitCode).toBe(1)
  })

  test('error: a chain that was cut off is found only by the head that was noted', async () => {
    using line = await aLineWithKey()
    const noted = await line.head()
    line.dropTriggers()
    // The key and its row in the chain: what is left is as if it had never been.
    line.tamper('DELETE FROM api_key', 'DELETE FROM audit WHERE seq = 7')
    expect((await line.run('audit', 'verify')).exitCode).toBe(0)
    const { exitCode, printed } = await line.run('audit', 'verify', '--head', noted)
    expect(exitCode).toBe(1)
    expect(printed).toEqual(['Row 7, the given head, does not exist: rows were removed.'])
  })

  test('error: a noted head that was taken out of the middle is gone, not another', async () => {
    using line = await aLineWithKey()
    const noted = await line.head()
    await line.run('keys', 'create')
    line.dropTriggers()
    line.tamper('DELETE FROM audit WHERE seq = 7')
    const { exitCode, printed } = await line.run('audit', 'verify', '--head', noted)
    expect(exitCode).toBe(1)
    expect(printed[0]).toBe('Row 7, the given head, does not exist: rows were removed.')
    expect(printed.length).toBeGreaterThan(1)
  })

  test('error: a chain that was rewritten is found by the head that was noted', async () => {
    using line = await aLineWithKey()
    const noted = await line.head()
    line.dropTriggers()
    line.tamper('DELETE FROM api_key', 'DELETE FROM audit WHERE seq = 7')
    await line.withLedger(async (ledger) => {
      const [tier] = ledger.listTiers()
      if (tier) await ledger.putTier({ ...tier, name: 'Gratis' }, { actor: 'operator', nowMs: 1 })
    })
    expect((await line.run('audit', 'verify')).exitCode).toBe(0)
    const { exitCode, printed } = await line.run('audit', 'verify', '--head', noted)
    expect(exitCode).toBe(1)
    expect(printed).toEqual([
      'Row 7 has another hash than the given head: the chain was rewritten.',
    ])
  })

  test.each(['7', `0:${'a'.repeat(64)}`, `7:${'a'.repeat(63)}`, `7:${'A'.repeat(64)}`, ''])(
    'error: --head %j is a wrong call',
    async (head) => {
      using line = await aLineWithKey()
      const { exitCode, errors } = await line.run('audit', 'verify', '--head', head)
      expect(exitCode).toBe(2)
      expect(errors.join('\n')).toContain('--head')
    },
  )

  test('error: a folder without a ledger is not sound, and stays without', async () => {
    using line = createCommandLine()
    expect(await line.run('audit', 'verify')).toMatchObject({ exitCode: 1, printed: [] })
    expect(await Bun.file(line.ledgerPath).exists()).toBe(false)
  })
})

describe('bookfeed audit list', () => {
  test('default: lists rows oldest first', async () => {
    using line = await aLineWithKey()
    const { exitCode, printed, errors } = await line.run('audit', 'list')
    expect([exitCode, errors]).toEqual([0, []])
    const rows = printed.map((row) => row.split(/ {2,}/))
    expect(rows[0]).toEqual(['seq', 'time', 'actor', 'action', 'subject', 'state'])
    expect(rows.slice(1).map(([seq]) => seq)).toEqual(['1', '2', '3', '4', '5', '6', '7'])
    expect(rows.at(-1)?.slice(0, 5)).toEqual([
      '7',
      '2026-01-02T03:04:05.678Z',
      'operator',
      'key.created',
      'key_minted3',
    ])
  })

  test('behavior: --after and --limit walk on, and say how', async () => {
    using line = await aLineWithKey()
    const page = await line.run('audit', 'list', '--after', '2', '--limit', '3')
    expect(page.printed.slice(1).map((row) => row.split(' ')[0])).toEqual(['3', '4', '5'])
    expect(page.errors).toEqual(['more rows: --after 5'])
    const end = await line.run('audit', 'list', '--after', '7')
    expect(end).toEqual({ exitCode: 0, printed: [], errors: ['no rows after 7'] })
  })

  test('behavior: --json is one array, with the hash of each row and its state as it was hashed', async () => {
    using line = await aLineWithKey()
    const { printed } = await line.run('audit', 'list', '--json', '--after', '6')
    const rows = JSON.parse(printed.join('\n'))
    expect(rows).toHaveLength(1)
    expect(`${rows[0].seq}:${rows[0].hash}`).toBe(await line.head())
    expect(JSON.parse(rows[0].state)).toBeObject()
    expect(
      JSON.parse((await line.run('audit', 'list', '--json', '--after', '7')).printed.join('')),
    ).toEqual([])
  })

  test('behavior: names who made a change, with the id of an account', async () => {
    using line = createCommandLine()
    await line.withLedger(async (ledger) => {
      const nowMs = Date.UTC(2026, 0, 1)
      await ledger.createAccount({ id: 'acc_desk', label: 'Desk 4' }, { actor: 'operator', nowMs })
      await ledger.createAccount({ id: 'acc_two' }, { actor: 'account:acc_desk', nowMs })
      await ledger.createAccount({ id: 'acc_three' }, { actor: 'account:acc_two', nowMs })
    })
    const { printed } = await line.run('audit', 'list')
    const actors = printed.map((row) => row.split(/ {2,}/)[2])
    expect(actors.slice(-3)).toEqual(['operator', 'account Desk 4 (acc_desk)', 'account acc_two'])
    const json = await line.run('audit', 'list', '--json', '--after', String(printed.length - 3))
    expect(JSON.parse(json.printed.join('\n'))[0]).toMatchObject({
      actor: 'account:acc_desk',
      actorKind: 'account',
      actorId: 'acc_desk',
      actorName: 'Desk 4',
    })
  })

  test('behavior: shows rows that were tampered with as they are', async () => {
    using line = await aLineWithKey()
    line.dropTriggers()
    line.tamper("UPDATE audit SET state = 'no JSON', time_ms = 9000000000000000 WHERE seq = 7")
    const table = await line.run('audit', 'list', '--after', '6')
    expect(table.printed[1]).toMatch(/^7 .*9000000000000000 .*no JSON$/)
    expect((await line.run('audit', 'list', '--json', '--after', '6')).exitCode).toBe(0)
  })

  test.each([
    ['--after', '-1'],
    ['--after', 'x'],
    ['--limit', '0'],
    ['--limit', '100001'],
  ])('error: %s %s is a wrong call that names the option', async (option, value) => {
    using line = await aLineWithKey()
    const { exitCode, errors } = await line.run('audit', 'list', option, value)
    expect(exitCode).toBe(2)
    expect(errors.join('\n')).toContain(option)
  })
})
