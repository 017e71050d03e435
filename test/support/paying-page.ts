/** A visitor with a wallet, and shared steps of a purchase in a page. */
import { expect } from 'bun:test'

import type { ReachedPolygon } from '#dev/sandbox/little-polygon.ts'

import { accessFaults, type createBrowser, keepKey, keepShot, type TestPage } from './browser.ts'
import { addWallet, type PageWallet } from './page-wallet.ts'

export type Visit = { page: TestPage; wallet: PageWallet }
export type Visitor = { secret: `0x${string}`; key?: string; onChain?: number; width?: number }
type Ground = { browser: ReturnType<typeof createBrowser>; chain: ReachedPolygon }

/**
 * Opens a page for a visitor whose wallet is on the chain, signed in with a key if there is one.
 */
export async function visitWith({ browser, chain }: Ground, path: string, visitor: Visitor) {
  const { secret, key, onChain, width = 1280 } = visitor
  let wallet: PageWallet | undefined
  const page = await browser.open(path, {
    width,
    async prepare(opened) {
      wallet = await addWallet(opened, { chain, key: secret, ...(onChain ? { onChain } : {}) })
      if (key) await keepKey(key)(opened)
    },
  })
  if (wallet === undefined) throw new Error('The page has no wallet.')
  return { page, wallet } satisfies Visit
}

export const sign = (page: TestPage) => page.click('text=Sign and pay')
export const waitForState = (page: TestPage, state: string) =>
  page.waitForSelector(`[data-state="${state}"]`)

/** Expects no finding of axe-core, and saves a picture in both themes. */
export async function shoot(page: TestPage, name: string): Promise<void> {
  expect(await accessFaults(page)).toEqual([])
  await page.evaluate('scrollTo(0, 0)')
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme })
    await keepShot(page, `pay-${name}-${theme}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
}
