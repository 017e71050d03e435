/** A server whose clock is an hour ahead of the chain and of all wallets sells what it offers. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'
import { clockSetBy, hasFaketime } from '../support/faketime.ts'
import { ask, newBuyer, payFor } from '../support/keyless-buyer.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { systemClock } from '../support/venue/venue.ts'

describe.skipIf(!hasAnvil || !hasFaketime)('a server an hour ahead, by libfaketime', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-ahead-'))
  let chain: LittlePolygon
  let server: KillableServer
  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    server = await startKillableServer({
      BOOKFEED_DATA: join(folder, 'data'),
      BOOKFEED_PORT: '0',
      BOOKFEED_LOG: 'off',
      BOOKFEED_KEYLESS: 'on',
      BOOKFEED_RPC_URL: chain.url,
      BOOKFEED_FACILITATOR: 'local',
      BOOKFEED_GAS_KEY: chain.facilitator.key,
      BOOKFEED_PAY_TO: chain.payee.address,
      ...clockSetBy('+1h'),
    })
  }, 300_000)
  afterAll(async () => {
    await server?.kill()
    await chain?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const received = () => chain.balanceOf('USDC', chain.payee.address)

  test.each([
    ['a single request', 'GET', '/v1/btc/markets?limit=1'],
    ['a pack', 'POST', '/v1/billing/packs/pack-1000'],
  ])(
    'default: it sells %s',
    async (_, method, path) => {
      const response = await fetch(server.origin)
      const aheadMs = Date.parse(response.headers.get('date') ?? '') - systemClock()
      expect(aheadMs).toBeGreaterThan(3_500_000)
      const before = await received()
      const headers = await payFor(server.origin + path, await newBuyer(chain), chain, method)
      const pay = () => ask(server.origin + path, { method, headers })
      let answer = await pay()
      // The same payment again, as clients do while it is not final.
      while ([202, 503].includes(answer.status)) answer = await pay()
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
      expect(await received()).toBeGreaterThan(before)
    },
    300_000,
  )

  test('default: it sells a tier', async () => {
    const before = await received()
    const path = join(folder, 'wallet.key')
    writeFileSync(path, chain.payer.key, { mode: 0o600 })
    const args = ['--server', server.origin, '--key-file', path, '--tier', 'pro', '--yes']
    const child = Bun.spawn(bookfeed('pay', ...args), {
      env: { BOOKFEED_DATA: join(folder, 'pay'), PATH: '/usr/bin:/bin' },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect([await child.exited, errors]).toEqual([0, expect.stringMatching(/receipt {2}pay_\w+/)])
    const headers = { authorization: `Bearer ${output.trim()}` }
    const usage = await fetch(`${server.origin}/v1/billing/subscription`, { headers })
    expect(await usage.json()).toMatchObject({ tier: { id: 'pro' }, free: false })
    expect(await received()).toBeGreaterThan(before)
  }, 300_000)
})
