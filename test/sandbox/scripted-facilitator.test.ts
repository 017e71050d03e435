import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { HTTPFacilitatorClient } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'

import { addresses } from '#dev/sandbox/addresses.ts'
import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'
import {
  allScripts,
  type ScriptedFacilitator,
  sendsPayment,
  startScriptedFacilitator,
} from '../support/scripted-facilitator.ts'
import { createStockClient, signPayment } from '../support/stock-client.ts'

const GIVES_UP_MS = 300

describe.skipIf(!hasAnvil)('startScriptedFacilitator', () => {
  let chain: LittlePolygon
  let scripted: ScriptedFacilitator
  beforeAll(async () => {
    chain = await startLittlePolygon()
    scripted = await startScriptedFacilitator({ rpcUrl: chain.url, key: chain.facilitator.key })
  })
  afterAll(async () => {
    await scripted.stop()
    await chain.stop()
  })

  const requirements = (): PaymentRequirements => ({
    scheme: 'exact',
    network: 'eip155:137',
    asset: addresses.usdc,
    amount: '10',
    payTo: chain.payee.address,
    maxTimeoutSeconds: 600,
    extra: { name: 'USD Coin', version: '2' },
  })

  /** What a stock client makes of the answer: true only where it says success. */
  async function settle(timeoutMs = 60_000): Promise<boolean> {
    const client = createStockClient(chain.url, chain.payer.key)
    const payload = await signPayment(client, requirements())
    const facilitator = new HTTPFacilitatorClient({ url: scripted.url, timeoutMs })
    return facilitator.settle(payload, requirements()).then(
      ({ success }) => success,
      () => false,
    )
  }

  const saysSuccess = ['ok', 'wrong-payer', 'wrong-amount', 'wrong-hash', 'wrong-network']
  const movesNothing = [
    'cut-before',
    'timeout',
    '500-before',
    '503-before',
    '401',
    '429',
    'redirect',
    'false-success',
    'false-signature-fault',
    'insufficient-balance',
  ]
  const endless = ['timeout', 'timeout-after-broadcast', 'slow-drip']
  for (const script of allScripts) {
    test(`behavior: ${script} moves the money or not, whatever it says`, async () => {
      const before = await chain.balanceOf('USDC', chain.payee.address)
      const { length } = scripted.settles()
      scripted.next(script)
      const isSuccess = await settle(endless.includes(script) ? GIVES_UP_MS : undefined)
      expect(isSuccess).toBe([...saysSuccess, 'false-success'].includes(script))
      // The client may have given up before.
      await scripted.reached(length + 1)
      const moved = (await chain.balanceOf('USDC', chain.payee.address)) - before
      expect(moved).toBe(movesNothing.includes(script) ? 0n : 10n)
      expect(sendsPayment(script)).toBe(moved === 10n)
      expect(scripted.settles().at(-1)).toMatchObject({ path: '/settle', script })
    })
  }

  test('behavior: tells when a call is at the point of being answered', async () => {
    const { length } = scripted.settles()
    scripted.next('timeout-after-broadcast')
    const settling = settle(GIVES_UP_MS)
    await scripted.reached(length + 1)
    expect(scripted.settles().at(-1)?.settled).toMatchObject({ success: true })
    expect(await settling).toBe(false)
  })

  test('behavior: says of itself what it is told to', async () => {
    const client = new HTTPFacilitatorClient({ url: scripted.url, timeoutMs: 1_000 })
    scripted.kinds([])
    expect((await client.getSupported()).kinds).toEqual([])
    scripted.kinds(undefined)
    await expect(client.getSupported()).rejects.toThrow('500')
  })
})
