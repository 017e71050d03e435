/**
 * The whole matrix: what a facilitator may do × where the server may die. A
 * sample that its seed decides runs always; `CRASH=all` runs every cell, `CRASH=<seed>` the sample
 * of a seed.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { createRandom, type Random } from '#src/platform/random.ts'

import { hasAnvil } from '../support/anvil.ts'
import {
  type Cell,
  crashAt,
  crashPoints,
  drivers,
  isReachable,
  runCell,
} from '../support/crash-cell.ts'
import { type CrashWorld, type Customer, startCrashWorld } from '../support/crash-world.ts'
import { wallClock } from '../support/paid-server.ts'
import { allScripts } from '../support/scripted-facilitator.ts'

// biome-ignore lint/style/noProcessEnv: how much of the matrix is run is not for the product's settings.
const wish = process.env.CRASH ?? ''
const isWhole = wish === 'all'
const seed = wish === '' || isWhole ? `crash ${wallClock()}` : wish
/** Cells of a sample, besides one of each point with each driver. */
const OTHERS = 8
/** Each offer keeps its amount for half an hour, and an account may have five. */
const CELLS_PER_CUSTOMER = 5
const CALLERS = 50
const CELLS_MS_MAX = isWhole ? 3_600_000 : 600_000
setDefaultTimeout(240_000)

/** Every cell in an order that the seed decides, so that neighbours differ from run to run. */
function shuffle<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  return items.flatMap(() => left.splice(random.integer(left.length), 1))
}

function chooseCells(): Cell[] {
  const random = createRandom(seed)
  const all = allScripts
    .flatMap((script) => crashPoints.map((point) => ({ script, point })))
    .filter(isReachable)
    .flatMap((place) => drivers.map((driver) => ({ ...place, driver })))
  const shuffled = shuffle(all, random)
  // Whatever is left out, each point is there with each driver.
  const groups = Object.values(
    Object.groupBy(shuffled, ({ point, driver }) => `${point} ${driver}`),
  ).flatMap((group = []) => group.slice(0, 1))
  const others = shuffled.filter((place) => !groups.includes(place))
  const sample = shuffle([...groups, ...others.slice(0, OTHERS)], random)
  return (isWhole ? shuffled : sample).map((place) => ({
    ...place,
    tier: random.pick(['starter', 'pro'] as const),
    token: random.pick(['USDC', 'USDT'] as const),
  }))
}

const print = ({ script, point, driver, tier, token }: Cell): string =>
  `seed "${seed}": ${script}, killed ${point}, then the ${driver}; ${tier} in ${token}`

describe.skipIf(!hasAnvil)('kill -9 in POST /v1/billing/x402/settle', () => {
  let world: CrashWorld
  beforeAll(async () => {
    world = await startCrashWorld()
  })
  afterAll(() => world.stop())

  test(
    'behavior: wherever it dies and whatever the facilitator did, what was paid is served once',
    async () => {
      let customer: Customer | undefined
      for (const [index, cell] of chooseCells().entries()) {
        if (index % CELLS_PER_CUSTOMER === 0) customer = await world.addCustomer()
        if (!customer) throw new Error('There is no customer.')
        const faults = await runCell(world, customer, cell).catch((error: unknown) => [
          String(error),
        ])
        // What failed may have left it dead; the tests below are about other things.
        world.facilitator.next()
        if (faults.length > 0) await world.restart()
        expect([print(cell), ...faults]).toEqual([print(cell)])
      }
    },
    CELLS_MS_MAX,
  )

  test('behavior: fifty calls with one payment get one answer, from one call of the facilitator', async () => {
    const signed = await world.buy(await world.addCustomer(), { tier: 'pro', token: 'USDC' })
    const before = world.facilitator.settles().length
    world.setMoving(true)
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => world.settle(signed)))
    world.setMoving(false)
    expect(answers[0]?.status).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(world.facilitator.settles().length).toBe(before + 1)
    expect(await world.brokenInvariants()).toEqual([])
  })

  test('behavior: so do fifty that were cut off by kill -9, and ask again', async () => {
    const signed = await world.buy(await world.addCustomer(), { tier: 'starter', token: 'USDT' })
    const before = world.facilitator.settles().length
    const first = Array.from({ length: CALLERS - 1 }, () => world.settle(signed))
    expect(await crashAt(world, signed, 'in the call')).toBe('at the point')
    expect(await Promise.all(first)).toEqual(first.map(() => undefined))
    world.setMoving(true)
    await world.restart()
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => world.settle(signed)))
    world.setMoving(false)
    expect(answers[0]?.status).toBe(200)
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(world.facilitator.settles().length).toBe(before + 1)
    expect(await world.brokenInvariants()).toEqual([])
  })

  test.each(['after claim', 'after screening'] as const)(
    'error: who is sanctioned while the server is dead, %s, is not served by the next one',
    async (point) => {
      const customer = await world.addCustomer({ hasOwnWallet: true })
      const signed = await world.buy(customer, { tier: 'pro', token: 'USDC' })
      const before = world.facilitator.settles().length
      expect(await crashAt(world, signed, point)).toBe('at the point')
      await world.chain.sanction(signed.payer)
      await world.restart()
      expect(await world.settle(signed)).toMatchObject({
        status: 451,
        body: { code: 'sanctioned' },
      })
      expect(world.find(signed)?.state).toBe('review')
      expect(world.facilitator.settles().length).toBe(before)
      expect(await world.brokenInvariants()).toEqual([])
    },
  )

  // Last: it needs what the tests before have left, and the copies alone are forged.
  describe('findBrokenInvariants', () => {
    const paid = `(SELECT id FROM payment WHERE state = 'provisioned' ORDER BY id LIMIT 1)`
    const period = `(SELECT rowid FROM subscription WHERE payment_id = ${paid})`
    const move = `(SELECT max(seq) FROM audit WHERE action = 'payment.settling')`
    beforeAll(async () => {
      await world.chain.setTime((await world.chain.time()) + 3600)
      await world.chain.finalize()
    })

    test.each([
      [
        'is void with 1 periods',
        'a payment that is void and served',
        `UPDATE payment SET state = 'void' WHERE id = ${paid}`,
      ],
      [
        'with 0 periods',
        'a paid payment without a period',
        `DELETE FROM subscription WHERE rowid = ${period}`,
      ],
      [
        'days and has bought',
        'a second too much',
        `UPDATE subscription SET end_ms = end_ms + 1000 WHERE rowid = ${period}`,
      ],
      [
        'is still settled',
        'a payment that is open for ever',
        `UPDATE payment SET state = 'settled' WHERE id = ${paid}`,
      ],
      [
        'is not its transfer',
        'a false proof',
        `UPDATE payment SET log_index = 99 WHERE id = ${paid}`,
      ],
      [
        'Nothing explains',
        'money that was forgotten',
        `UPDATE payment SET log_index = 99 WHERE id = ${paid}`,
      ],
      [
        'is missing',
        'a hole in the audit chain',
        `DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE seq = ${move}`,
      ],
      [
        'after screening.unknown',
        'a payer who was not screened',
        `DROP TRIGGER audit_no_update;
         UPDATE audit SET action = 'screening.unknown' WHERE action = 'screening.clear'`,
      ],
      [
        'to settling in row',
        'an attempt that was none',
        `DROP TRIGGER audit_no_update;
         UPDATE audit SET action = 'payment.settling' WHERE action = 'payment.settled'`,
      ],
      [
        'was answered with 402, and its money moved',
        'a demand for a second payment',
        `UPDATE payment SET (amount, asset) = (SELECT amount, asset FROM payment WHERE id = ${paid})
         WHERE state = 'void'`,
      ],
    ])('behavior: tells "%s" of %s', async (fault, _, sql) => {
      expect((await world.brokenInvariants(world.forge(sql))).join('\n')).toContain(fault)
    })

    test('behavior: tells of a sanctioned payer who is served', async () => {
      await world.chain.sanction(world.chain.payer.address)
      expect((await world.brokenInvariants()).join('\n')).toContain('serves a sanctioned payer')
      await world.chain.unsanction(world.chain.payer.address)
      expect(await world.brokenInvariants()).toEqual([])
    })
  })
})
