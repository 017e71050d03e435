import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'

import {
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepKey,
  lookAtAll,
  watchFor,
} from '../support/browser.ts'
import { addKey, createHarness } from '../support/harness.ts'
import { createTestGround } from '../support/test-mode.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const { app, key, ledger, sendAs } = createHarness()
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const browser = createBrowser(server.url.origin)
const testing = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: createTestGround().app.fetch,
})
const tester = createBrowser(testing.url.origin)
afterEach(browser.closeTabs)
afterEach(tester.closeTabs)
afterAll(async () => {
  await browser.close()
  await tester.close()
  await server.stop(true)
  await testing.stop(true)
})

const statusOf = async (text: string) => (await sendAs(text, '/v1/usage')).status

describe.skipIf(chromiumPath === undefined)('the account in a browser', () => {
  test.each([
    ['/pricing', 'pricing', 'text=By agreement'],
    ['/account', 'account-without-a-key', 'text=No wallet was found'],
  ])('default: %s looks right at every width in both themes', async (path, name, ready) => {
    expect(await lookAtAll(browser, path, { name, ready })).toEqual([])
  })

  test('default: a key gets another name', async () => {
    const page = await browser.open('/account', { prepare: keepKey(key) })
    await page.click('text=Rename')
    await page.fill('input[name=label]', 'desk 4')
    await page.click('text=Save the name')
    await page.waitForSelector('tr:has-text("desk 4"):has-text("in use here")')
    expect(page.faults).toEqual([])
  })

  test('default: a key is rotated with a name and an overlap, used here, and the old one revoked', async () => {
    const page = await browser.open('/account', { prepare: keepKey(key) })
    await page.click('text=Rotate')
    await page.fill('input[name=label]', 'from the page')
    await page.click('text=Make the new key')
    const made = (await page.textContent('[data-key]')) ?? ''
    expect(made).toStartWith('bf_live_')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const isCopied = await watchFor(page, "document.body.textContent.includes('Copied')")
    await page.click('text=Copy the key')
    await isCopied()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(made)
    await page.click('text=I have saved the key')
    await page.waitForSelector('tr:has-text("from the page"):has-text("in use here")')
    expect([await statusOf(key), await statusOf(made)]).toEqual([200, 200])
    await page.click(`tr:has-text("${key.slice(-4)}") >> button:has-text("Revoke")`)
    await page.click('text=Revoke now')
    await page.waitForSelector(`tr:has-text("${key.slice(-4)}")`, { state: 'detached' })
    expect([await statusOf(key), await statusOf(made)]).toEqual([401, 200])
    await page.click('td button:has-text("Revoke")')
    await page.click('text=Revoke now')
    await page.waitForSelector('text=Get a key with your wallet')
    expect(await statusOf(made)).toBe(401)
    expect(page.faults).toEqual([])
  })

  test('behavior: with a test key every page says so, and the account whose limit it is', async () => {
    const page = await tester.open('/account', { prepare: keepKey(PUBLIC_TEST_KEY) })
    await page.waitForSelector('text=All test keys of a network address share 120 requests')
    await page.waitForSelector('text=No keys. This page uses a test key')
    for (const name of ['Explore', 'Coverage', 'Docs']) {
      await page.click(`nav >> text=${name}`)
      await page.waitForSelector('header .tag:has-text("Test mode")')
    }
    expect(page.faults).toEqual([])
    const other = await browser.open('/account', { prepare: keepKey(addKey(ledger, 'pro')) })
    await other.waitForSelector('td:has-text("until revoked")')
    expect(await other.locator('header .tag').count()).toBe(0)
    expect(other.faults).toEqual([])
  })
})
