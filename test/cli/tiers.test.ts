import { describe, expect, test } from 'bun:test'

import { coins } from '#src/domain/market.ts'
import { defaultTiers } from '#src/domain/selling/tier.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Finding } from '#src/server/extension.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'

const SEEN =
  'Running servers apply the change within a second. Grants follow it; bought subscriptions do not change.'

/** Options that make the tier `team`. */
const team = ['--name', 'Team', '--coins', 'eth,btc', '--routes', 'all']
const rate = ['--requests-per-minute', '600']

describe('bookfeed tiers list', () => {
  test('default: lists the catalogue, lowest first, in aligned columns', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    const { exitCode, printed, errors } = await line.run('tiers', 'list')
    expect([exitCode, errors]).toEqual([0, []])
    expect(printed.map((row) => row.split(/ {2,}/))).toEqual([
      'id,name,rank,coins,routes,requests-per-minute,price,period-days,requests,for-sale,contact'.split(
        ',',
      ),
      ['free', 'Free', '1', 'btc', 'markets,prices', '10', '0', '-', '-', 'no', '-'],
      ...[
        ['starter', 'Starter', '2', 'btc,eth', '60', '19'],
        ['pro', 'Pro', '3', coins.join(','), '300', '49'],
      ].map(([id = '', name = '', rank = '', coins = '', requests = '', price = '']) => [
        id,
        name,
        rank,
        coins,
        'markets,prices,snapshots,quotes',
        requests,
        price,
        '30',
        '-',
        'yes',
        '-',
      ]),
      [
        'enterprise',
        'Enterprise',
        '4',
        coins.join(','),
        'markets,prices,snapshots,quotes',
        '1000',
        '-',
        '-',
        '-',
        'no',
        'Ask the operator of this server.',
      ],
    ])
  })

  test('behavior: --json is one array', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    const rows = JSON.parse((await line.run('tiers', 'list', '--json')).printed.join('\n'))
    expect(rows).toHaveLength(4)
    expect(rows[1]).toEqual({
      id: 'starter',
      name: 'Starter',
      rank: 2,
      coins: ['btc', 'eth'],
      routes: ['markets', 'prices', 'snapshots', 'quotes'],
      requestsPerMinute: 60,
      priceUsdc: '19',
      periodDays: 30,
      isForSale: true,
      contact: null,
    })
    expect(rows[3]).toMatchObject({ priceUsdc: null, periodDays: null })
  })

  test('error: a folder without a ledger', async () => {
    using line = createCommandLine()
    expect(await line.run('tiers', 'list')).toMatchObject({ exitCode: 1, printed: [] })
  })
})

describe('bookfeed tiers set', () => {
  test('default: changes what is given and nothing else, and says from what to what', async () => {
    using line = createCommandLine()
    const change = ['--price', '59.5', '--requests-per-minute', '1000000000']
    const { exitCode, printed, errors } = await line.run('tiers', 'set', 'pro', ...change)
    expect([exitCode, errors]).toEqual([0, []])
    expect(printed).toEqual([
      'pro: requests-per-minute 300 → 1000000000',
      'pro: price 49 → 59.5',
      SEEN,
    ])
    await line.withLedger((ledger) => {
      const pro = defaultTiers.find(({ tierId }) => tierId === 'pro')
      expect(ledger.listTiers()).toEqual(
        defaultTiers.map((tier) =>
          tier === pro
            ? { ...pro, amountMillionths: 59_500_000, requestsPerMinute: 1_000_000_000 }
            : tier,
        ),
      )
      expect(ledger.listAudit(0, 100).at(-1)).toMatchObject({ actor: 'operator', subject: 'pro' })
      expect([...ledger.verifyAudit()]).toEqual([])
    })
  })

  test('behavior: none takes a value away, all means all', async () => {
    using line = createCommandLine()
    const off = ['--not-for-sale', '--price', 'none', '--period-days', 'none', '--contact', 'Ask.']
    expect((await line.run('tiers', 'set', 'starter', ...off, '--coins', 'all')).printed).toEqual([
      `starter: coins btc,eth → ${coins.join(',')}`,
      'starter: price 19 → none',
      'starter: period-days 30 → none',
      'starter: for-sale yes → no',
      'starter: contact none → Ask.',
      SEEN,
    ])
    const contact = await line.run('tiers', 'set', 'starter', '--contact', 'none')
    expect(contact.printed[0]).toBe('starter: contact Ask. → none')
    const starter = await line.withLedger((ledger) => ledger.listTiers()[1])
    expect(starter?.amountMillionths).toBeUndefined()
    expect(starter?.periodDays).toBeUndefined()
    expect(starter?.contact).toBeUndefined()
  })

  test('behavior: makes a tier above the others, its lists in the order of the domain', async () => {
    using line = createCommandLine()
    const sale = ['--price', '99', '--period-days', '30', '--for-sale']
    const { printed } = await line.run('tiers', 'set', 'team', ...team, ...rate, ...sale)
    expect(printed).toEqual([
      'team: name none → Team',
      'team: rank none → 5',
      'team: coins none → btc,eth',
      'team: routes none → markets,prices,snapshots,quotes',
      'team: requests-per-minute none → 600',
      'team: price none → 99',
      'team: period-days none → 30',
      'team: for-sale none → yes',
      SEEN,
    ])
    const made = await line.run('keys', 'create', '--tier', 'team')
    expect(made.exitCode).toBe(0)
  })

  test('behavior: what is so already is no change, and is not audited', async () => {
    using line = createCommandLine()
    const before = await line.withLedger((ledger) => ledger.auditHead())
    const { exitCode, printed } = await line.run('tiers', 'set', 'pro', '--price', '49.0')
    expect([exitCode, printed]).toEqual([0, ['pro: nothing changed']])
    expect(await line.withLedger((ledger) => ledger.auditHead())).toEqual(before)
    await line.run('tiers', 'set', 'pro', '--not-for-sale')
    const again = await line.run('tiers', 'set', 'pro', '--price', '49', '--period-days', '30')
    expect(again.printed).toEqual([
      'pro: nothing changed',
      'pro is not for sale. To sell it, add --for-sale.',
    ])
  })

  test('behavior: ranks may move to where nobody stands', async () => {
    using line = createCommandLine()
    const { printed } = await line.run('tiers', 'set', 'starter', '--rank', '9')
    expect(printed[0]).toBe('starter: rank 2 → 9')
    const order = await line.withLedger((ledger) => ledger.listTiers().map(({ tierId }) => tierId))
    expect(order).toEqual(['free', 'pro', 'enterprise', 'starter'])
  })

  test.each([
    ['--name', ''],
    ['--coins', 'btc,nocoin'],
    ['--coins', ''],
    ['--routes', 'markets,trades'],
    ['--requests-per-minute', '0'],
    ['--requests-per-minute', '1000000001'],
    ['--requests-per-minute', '1e3'],
    ['--requests-per-minute', 'none'],
    ['--price', '-1'],
    ['--price', '1.1234567'],
    ['--price', '1e3'],
    ['--price', ''],
    ['--price', '99999999999'],
    ['--period-days', '0'],
    ['--period-days', '30.5'],
    ['--contact', 'a\nb'],
    ['--rank', '0'],
    ['--rank', 'none'],
  ])('error: %s %j is a wrong call that names the option', async (option, value) => {
    using line = createCommandLine()
    const { exitCode, printed, errors } = await line.run('tiers', 'set', 'pro', option, value)
    expect([exitCode, printed]).toEqual([2, []])
    expect(errors.join('\n')).toContain(option)
    expect(await Bun.file(line.ledgerPath).exists()).toBe(false)
  })

  test.each([
    [['pro', '--rank', '4'], 'rank 4 is that of enterprise'],
    [['free', '--for-sale', '--price', '1', '--period-days', '30'], 'Free tier cannot be for sale'],
    [['enterprise', '--for-sale', '--period-days', '30'], 'price above 0'],
    [['enterprise', '--for-sale', '--price', '0', '--period-days', '30'], 'price above 0'],
    [['enterprise', '--for-sale', '--price', '5'], 'period in days'],
    [['pro', '--price', 'none'], 'price above 0'],
    [['pro', '--period-days', 'none'], 'period in days'],
    [['pro', '--for-sale', '--not-for-sale'], '--not-for-sale'],
    [['pro'], 'Nothing to set'],
    [['Pro', '--price', '1'], 'lower-case'],
    [['pro', '--price', '19'], 'starter is for sale at the same price'],
    [['pro', '--price', '10.0'], 'pack-20000 is for sale at the same price'],
    [['pack-1000', '--price', '49'], 'pro is for sale at the same price'],
    [
      ['enterprise', '--price', '49', '--period-days', '7', '--for-sale'],
      'A payment without a key names only its amount',
    ],
    [['gold', '--price', '1'], 'There is no tier gold (there are free, starter, pro, enterprise)'],
    [['team', ...team], 'requests per minute'],
    [['team', ...rate, '--name', 'Team'], 'coins'],
  ])('error: %j is refused and changes nothing', async (args, reason) => {
    using line = createCommandLine()
    const before = await line.withLedger((ledger) => ledger.auditHead())
    const { exitCode, printed, errors } = await line.run('tiers', 'set', ...args)
    expect([exitCode, printed]).toEqual([2, []])
    expect(errors.join('\n')).toContain(reason)
    expect(await line.withLedger((ledger) => ledger.auditHead())).toEqual(before)
  })
})

describe('packs', () => {
  test('default: a first change keeps the others, and both lists stay apart', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    const ids = async (...flags: string[]) => {
      const { printed } = await line.run('tiers', 'list', '--json', ...flags)
      return (JSON.parse(printed.join('\n')) as { id: string }[]).map(({ id }) => id)
    }
    const before = await ids('--packs')
    expect(before).toContain('pack-1000')
    const { printed } = await line.run('tiers', 'set', 'pack-1000', '--price', '0.8')
    expect(printed[0]).toBe('pack-1000: price 1 → 0.8')
    expect(await ids('--packs')).toEqual(before)
    expect(await ids()).toEqual(['free', 'starter', 'pro', 'enterprise'])
  })

  test('behavior: equal prices are for products that are not both sold, and for single requests', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    const set = async (...args: string[]) => (await line.run('tiers', 'set', ...args)).exitCode
    expect(await set('request-quotes', '--price', '0.001')).toBe(0)
    expect(await set('enterprise', '--price', '49')).toBe(0)
    expect(await set('starter', '--not-for-sale', '--price', '49')).toBe(0)
    expect(await set('starter', '--for-sale')).toBe(2)
    expect(await set('pro', '--not-for-sale')).toBe(0)
    expect(await set('starter', '--for-sale')).toBe(0)
  })

  test('behavior: doctor names equal prices from before, and other values can be changed', async () => {
    using line = createCommandLine({ BOOKFEED_KEYLESS: 'on' })
    const find = async () => {
      const { printed } = await line.run('doctor', '--json')
      const { findings } = JSON.parse(printed.join('\n')) as { findings: Finding[] }
      return findings.filter(({ check }) => check === 'prices')
    }
    await line.withLedger(() => {})
    expect(await find()).toMatchObject([{ state: 'ok' }])
    await line.withLedger(async (ledger) => {
      for (const tier of defaultTiers)
        if (tier.tierId === 'starter')
          await ledger.putTier({ ...tier, amountMillionths: 49_000_000 }, byOperator(NOW_MS))
    })
    expect(await find()).toMatchObject([
      {
        state: 'warning',
        text: expect.stringContaining('starter and pro are for sale at the same'),
      },
    ])
    const rename = await line.run('tiers', 'set', 'pro', '--name', 'Professional')
    expect(rename.exitCode).toBe(0)
    expect((await line.run('tiers', 'set', 'pro', '--price', '48')).exitCode).toBe(0)
    expect(await find()).toMatchObject([{ state: 'ok' }])
  })

  test('error: a pack has no period', async () => {
    using line = createCommandLine()
    await line.withLedger(() => {})
    const { exitCode, errors } = await line.run('tiers', 'set', 'pro', '--requests', '5')
    expect([exitCode, errors.join('\n')]).toEqual([2, expect.stringContaining('not both')])
  })
})
