import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { reachLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { hasAnvil } from '../support/anvil.ts'
import { BROWSER_TEST_MS_MAX, chromiumPath, createBrowser } from '../support/browser.ts'
import { shoot, sign, visitWith, waitForState } from '../support/paying-page.ts'
import { startSandbox } from '../support/sandbox-process.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

describe.skipIf(!hasAnvil || chromiumPath === undefined)('bookfeed sandbox in a browser', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-sandbox-page-'))
  let sandbox: Awaited<ReturnType<typeof startSandbox>>
  let browser: ReturnType<typeof createBrowser>
  beforeAll(async () => {
    sandbox = await startSandbox(folder)
    browser = createBrowser(sandbox.origin)
  })
  afterAll(async () => {
    await browser?.close()
    await sandbox?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('default: a wallet signs in, buys a tier, and the money moves once', async () => {
    const { origin, chainUrl } = sandbox
    const chain = reachLittlePolygon(chainUrl)
    const secret = generatePrivateKey()
    const { address } = privateKeyToAccount(secret)
    await chain.mintUsdc(address, 100_000_000n)
    const { page, wallet } = await visitWith({ browser, chain }, '/pricing', { secret })
    await page.click('text=Choose Pro')
    await shoot(page, 'sign-in')
    await page.click('text=Sign in with Test Wallet')
    const key = (await page.textContent('[data-key]')) ?? ''
    expect(key).toStartWith('bf_live_')
    await shoot(page, 'fresh-key')
    await page.click('text=I have saved the key')
    expect(await page.textContent('body')).not.toContain(key)
    // The tab learns what Free includes, and must forget it with the purchase.
    await page.click('nav >> text=Account')
    await page.waitForSelector('text=Free')
    await page.click('nav >> text=Pricing')
    await page.click('text=Choose Pro')
    await page.click('text=Get a quote')
    await page.waitForSelector('text=Review your payment')
    const words = (await page.textContent('.facts')) ?? ''
    for (const said of ['49 USDC', address, 'Polygon', 'Pro, 30 days'])
      expect(words).toContain(said)
    await shoot(page, 'review')
    await sign(page)
    await waitForState(page, 'provisioned')
    await shoot(page, 'receipt')
    const signed = wallet.signed() as { primaryType: string; message: Record<string, string> }
    const payee = signed.message.to ?? ''
    expect(signed).toMatchObject({
      primaryType: 'TransferWithAuthorization',
      message: { from: address, value: '49000000' },
    })
    // Who is paid was said in words.
    expect(words).toContain(payee)
    expect(await chain.balanceOf('USDC', address)).toBe(51_000_000n)
    expect(await chain.balanceOf('USDC', payee)).toBe(49_000_000n)
    const hash = /0x[0-9a-f]{64}/.exec(await page.innerHTML('.facts'))?.[0]
    expect(await chain.rpc('eth_getTransactionReceipt', [hash])).toMatchObject({ status: '0x1' })
    const asked = await fetch(`${origin}/v1/billing/subscription`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(await asked.json()).toMatchObject({ tier: { id: 'pro' } })

    // What was bought may be read at once, without a reload.
    await page.click('text=Explore the data')
    await page.click('.tabs a:has-text("SOL")')
    await page.waitForSelector('.market-list')
    await page.click('nav >> text=Account')
    await page.waitForSelector('text=Renew Pro')
    await page.waitForSelector('.tag.up:has-text("provisioned")')
    await shoot(page, 'account')
    expect(page.faults).toEqual([])
  })
})
