import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { closedBilling } from '#src/billing/create-billing.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { ActivitySeries, Overview } from '#src/features/admin/schema.ts'
import { ACTIVITY_STEP_MS } from '#src/ledger/ledger.ts'

import {
  accessFaults,
  BROWSER_TEST_MS_MAX,
  chromiumPath,
  createBrowser,
  keepShot,
  lookAtAll,
  soon,
  until,
} from '../support/browser.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { createOperatorServer, recording, TOKEN } from '../support/operator-server.ts'
import { addPayment } from '../support/payment-records.ts'

setDefaultTimeout(BROWSER_TEST_MS_MAX)

const server = createOperatorServer({ recorder: recording })
const { app, ledger, operator } = server
const by = { actor: 'system', nowMs: NOW_MS } as const
await addPayment(ledger, 'odd')
await ledger.payments.move(
  'pay_odd',
  { from: ['received'], to: 'review', reason: 'paid_twice' },
  by,
)
addKey(ledger, 'pro')
for (let index = 0; index < 30; index++) addKey(ledger, index % 3 === 0 ? 'starter' : undefined)
const stepMs = NOW_MS - (NOW_MS % ACTIVITY_STEP_MS)
await ledger.putActivity(
  Array.from({ length: 200 }, (_, index) => ({
    stepMs: stepMs - index * ACTIVITY_STEP_MS,
    server: 'one',
    requests: index === 0 ? 7 : 100 + (index % 9),
    errors: index % 50 === 1 ? 3 : 0,
    durations: [90, 10],
    problems: index === 5 ? { billing_unavailable: 12 } : {},
    recorder: { startedMs: 1, rows: 9000, lagMs: 40 + (index % 7) },
  })),
  0,
)
operator.jobs.add('forgetting', 'Deletes accounts that never paid.').ended('None.', NOW_MS + 60_000)
operator.jobs.add('verify', 'Re-reads the whole history.', async (report) => {
  report.progress(1, 2)
  await Bun.sleep(300)
  return 'Sound: 2 markets.'
})

/** Tabs of tests say that they come through a proxy; who sits at the machine does not. */
const site = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, peers) {
    request.headers.delete('x-forwarded-for')
    return app.fetch(request, { requestIP: (asked) => peers.requestIP(asked) })
  },
})
const reason = 'The facilitator does not answer: timeout.'
const tokens = homeChain.tokens.map((token) => ({ token, reason }))
const relayFault = {
  part: 'facilitator',
  text: 'The facilitator at relay.example gave no answer in 10 seconds.',
  sinceMs: NOW_MS,
  tokens: ['USDC on Polygon', 'USDT on Polygon'],
} as const
const shop = createOperatorServer({
  billing: {
    ...closedBilling(reason),
    isOpen: true,
    chains: () => [{ chain: homeChain, tokens }],
    sales: () => ({ state: 'paused', sinceMs: NOW_MS, faults: [relayFault] }),
  },
})
for (const name of ['one', 'two']) {
  const { payment } = await addPayment(shop.ledger, name)
  const change = { from: ['received'], to: 'rejected', reason: 'insufficient_balance' } as const
  await shop.ledger.payments.move(payment.id, change, by)
}
const shopSite = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, peers) {
    request.headers.delete('x-forwarded-for')
    return shop.app.fetch(request, { requestIP: (asked) => peers.requestIP(asked) })
  },
})
const selling = createBrowser(shopSite.url.origin)
const strict = createOperatorServer({ access: { trustsLoopback: false } })
const guarded = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: strict.app.fetch })
const browser = createBrowser(site.url.origin)
const stranger = createBrowser(guarded.url.origin)
afterEach(browser.closeTabs)
afterEach(stranger.closeTabs)
afterEach(selling.closeTabs)
afterAll(async () => {
  await browser.close()
  await stranger.close()
  await selling.close()
  await shopSite.stop(true)
  await site.stop(true)
  await guarded.stop(true)
})

const lastDeed = () => ledger.listAudit((ledger.auditHead()?.seq ?? 1) - 1, 1)[0]
const tabs = ['overview', 'accounts', 'tiers', 'payments', 'jobs', 'audit', 'backups']

describe.skipIf(chromiumPath === undefined)("the operator's page", () => {
  test.each(tabs)('default: %s looks right on every screen', async (tab) => {
    const path = `/admin?tab=${tab}`
    const look = { name: `admin-${tab}`, ready: '.admin h2' }
    expect(await lookAtAll(browser, path, look)).toEqual([])
  })

  test('behavior: each tab has a title of its own', async () => {
    const page = await browser.open('/admin')
    const titles: string[] = []
    for (const name of ['Overview', 'Accounts & keys', 'Tiers', 'Payments', 'Jobs', 'Audit log']) {
      await page.click(`.admin-tabs a:has-text("${name}")`)
      await soon(async () => expect(await page.title()).toBe(`Admin: ${name} · Bookfeed`))
      titles.push(await page.title())
    }
    await page.goBack()
    await soon(async () => expect(await page.title()).toBe(titles.at(-2) ?? ''))
    expect(page.faults).toEqual([])
  })

  test('default: says what is recorded, and that nothing is where no market is', async () => {
    const page = await browser.open('/admin')
    await page.waitForSelector('.tag.live:has-text("Recording")')
    await page.waitForSelector('dl div:has-text("Last report"):has-text("1 s ago")')
    await page.route('**/admin/api/overview', async (route) => {
      const response = await route.fetch()
      const overview = (await response.json()) as Overview
      const recorder = { ...overview.recorder, markets: [], warning: 'The catalogue is down.' }
      await route.fulfill({ response, json: { ...overview, recorder } })
    })
    await page.waitForSelector('.tag.warn:has-text("Records no market yet")')
    expect(page.faults).toEqual([])
  })

  test('behavior: offline, or without an answer, it says as of when, in grey', async () => {
    const page = await browser.open('/admin')
    await page.waitForSelector('h2:has-text("What needs your attention")')
    /** What says that it is so: the note of all pages, that of this one, and cards of problems. */
    const messages = () =>
      page.evaluate<number[]>(
        `['.offline', '.admin p[role=status]', '.admin .problem'].map((name) => document.querySelectorAll(name).length)`,
      )
    const expectStale = async (isStale: boolean) => {
      const title = isStale
        ? /^State of the server as of [0-9:]{8} UTC$/
        : /^What needs your attention$/
      await page.locator('.admin h2', { hasText: title }).waitFor()
      const filter = await page.evaluate<string>(
        `getComputedStyle(document.querySelector('.admin .page')).filter`,
      )
      expect(filter).toBe(isStale ? 'grayscale(1)' : 'none')
    }
    await page.context().setOffline(true)
    await expectStale(true)
    await page.waitForSelector('.row .tag:text-is("Offline")')
    expect(await messages()).toEqual([1, 0, 0])
    expect(await accessFaults(page)).toEqual([])
    await keepShot(page, 'admin-stale-1280-light')
    await page.context().setOffline(false)
    await expectStale(false)
    await page.route('**/admin/api/overview', (route) => route.fulfill({ status: 502 }))
    await expectStale(true)
    await page.waitForSelector('.row .tag:text-is("Does not answer")')
    expect(await messages()).toEqual([0, 1, 0])
    await page.unroute('**/admin/api/overview')
    await expectStale(false)
    page.forgive(/ERR_|Failed to load/)
    expect(page.faults).toEqual([])
  })

  test('behavior: of requests that took longer than the last bucket it says so', async () => {
    const page = await browser.open('/admin', {
      async prepare(tab) {
        await tab.route('**/admin/api/activity*', async (route) => {
          const response = await route.fetch()
          const series = (await response.json()) as ActivitySeries
          const steps = series.steps.map((step) => ({ ...step, p99Ms: step.p99Ms && 20_000 }))
          await route.fulfill({ response, json: { ...series, steps } })
        })
      },
    })
    const chart = page.locator('.activity figure:has-text("p99")')
    expect(await chart.locator('.activity-axis span:nth-child(2)').textContent()).toBe(
      'highest over 10 s',
    )
    expect(await chart.locator('svg').getAttribute('aria-label')).toEndWith(
      '; highest over 10 s in a step.',
    )
    expect(page.faults).toEqual([])
  })

  test('default: the first page says why nothing is sold, and shows the payments that failed', async () => {
    const page = await selling.open('/')
    await page.click('footer >> text=Admin')
    const first = await page.textContent('.findings li')
    expect(first).toContain('Purchases are paused: buyers cannot pay with USDC on Polygon')
    expect(first).toContain('The facilitator at relay.example gave no answer in 10 seconds since')
    await page.click('.findings li:has-text("2 payments failed") a')
    await page.waitForSelector('td >> text=the wallet holds less than the amount')
    expect(page.url()).toContain('state=rejected')
    expect(page.faults).toEqual([])
  })

  test('default: charts show one moment, by pointer and by keyboard', async () => {
    const page = await browser.open('/admin')
    const requests = page.locator('.activity figure').first()
    await page.waitForSelector('.activity figure')
    expect(await page.locator('.activity figure').count()).toBe(8)
    const sum = (await requests.locator('strong').textContent()) ?? ''
    expect(Number(sum.replaceAll(',', ''))).toBeGreaterThan(20_000)
    await page.focus('.activity-slider input')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowRight')
    expect(await requests.locator('strong').textContent()).toBe('7')
    const last = new Date(stepMs).toISOString().slice(11, 16)
    expect(await page.textContent('.activity-moment')).toContain(last)
    await page.keyboard.press('Tab')
    expect(await requests.locator('strong').textContent()).toBe(sum)
    await requests.locator('svg').hover({ position: { x: 2, y: 20 } })
    // Then no server ran.
    expect(await requests.locator('strong').textContent()).toBe('–')
    await page.click('.tabs button:has-text("Week")')
    await page.waitForSelector('h2:has-text("The last 7 days")')
    await page.waitForSelector('td:has-text("billing_unavailable")')
    expect(page.faults).toEqual([])
  })

  test('default: one search finds accounts by the end of a key, and payments by their id', async () => {
    const key = addKey(ledger, undefined)
    const page = await browser.open('/admin?tab=jobs')
    const find = async (text: string) => {
      await page.fill('input[name=find]', text)
      await page.click('.admin-search button')
      await page.waitForSelector(`h2:has-text("Payments with “${text}”")`)
    }
    // A whole key is found by its end, and stays out of addresses.
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.fill('input[name=find]', key)
    await page.click('.admin-search button')
    await page.waitForSelector(`h2:has-text("Payments with “${key.slice(-4)}”")`)
    await page.waitForSelector(`td:has-text("…${key.slice(-4)}")`)
    expect([...asked, page.url()].filter((url) => url.includes(key.slice(8, 30)))).toEqual([])
    expect(await page.inputValue('input[name=find]')).toBe(key.slice(-4))
    await find(key.slice(-4))
    await page.waitForSelector(`td:has-text("…${key.slice(-4)}")`)
    await page.waitForSelector('text=No payment matches.')
    await find('pay_odd')
    await page.waitForSelector('td:has-text("another payment has paid its quote already")')
    await page.waitForSelector('text=No account matches.')
    await find('Pro')
    await page.waitForSelector('td:has-text("another payment has paid its quote already")')
    await find('pay_odd')
    await page.click('td a:has-text("acc_odd")')
    await page.waitForSelector('h2:has-text("Accounts and keys with “acc_odd”")')
    expect(await accessFaults(page)).toEqual([])
    expect(page.faults).toEqual([])
  })

  test('default: a price is changed, after it was said whom that affects', async () => {
    const page = await browser.open('/admin')
    await page.click('text=Tiers')
    await page.click('button:has-text("Edit Pro")')
    expect(await page.textContent('h2:has-text("Edit")')).toBe('Edit Pro')
    await page.fill('input[name=price]', 'free')
    await page.click('text=Check')
    await page.waitForSelector('[role=alert] >> text=plain decimal')
    await page.fill('input[name=price]', '59')
    await page.click('text=Check')
    await page.waitForSelector('text=price 49 → 59')
    const before = ledger.auditHead()
    await page.click('button:has-text("Apply")')
    await page.waitForSelector('dialog[open] >> text=follow the catalogue (1 account)')
    expect(await accessFaults(page)).toEqual([])
    await keepShot(page, 'admin-confirm-1280-light')
    await page.click('dialog[open] >> text=Cancel')
    expect(ledger.auditHead()).toEqual(before)
    await page.click('button:has-text("Apply")')
    await page.click('dialog[open] button:has-text("Apply")')
    await page.waitForSelector('td:has-text("59 USDC")')
    expect(lastDeed()).toMatchObject({ actor: 'operator', action: 'tier.put', subject: 'pro' })
    expect(ledger.listTiers().find(({ tierId }) => tierId === 'pro')?.amountMillionths).toBe(59e6)
    page.forgive(/status of 400/)
    expect(page.faults).toEqual([])
  })

  test('default: a key is made, shown once, found and revoked', async () => {
    const page = await browser.open('/admin?tab=accounts')
    await page.selectOption('select[name=tier]', 'pro')
    await page.fill('input[name=label]', 'desk 4')
    await page.click('button:has-text("Make")')
    const key = (await page.textContent('.secret code')) ?? ''
    expect(key).toStartWith('bf_live_')
    expect((await server.sendAs(key, '/v1/keys')).status).toBe(200)
    await page.fill('input[name=search]', 'desk 4')
    await page.click('button:has-text("Search")')
    await until(page, "document.querySelectorAll('tbody tr').length === 1")
    await page.click('tbody button:has-text("Revoke")')
    await page.click('dialog[open] button:has-text("Revoke")')
    await page.waitForSelector('td >> text=revoked')
    expect((await server.sendAs(key, '/v1/keys')).status).toBe(401)
    expect(lastDeed()).toMatchObject({ actor: 'operator', action: 'key.revoked' })
    await page.click('text=Hide')
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }]) + document.body.innerHTML',
    )
    expect(stored).not.toContain(key)
    expect(page.faults).toEqual([])
  })

  test('default: a payment in review is decided with the keyboard alone', async () => {
    const page = await browser.open('/admin')
    await page.waitForSelector('nav >> text=Payments1')
    await page.focus('a[href="/admin?tab=payments"]')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=Another payment has already paid this quote')
    await page.focus('button:has-text("Resolve")')
    await page.keyboard.press('Enter')
    await page.focus('input[name=note]')
    await page.keyboard.type('refunded in 0x5c')
    await page.focus('dialog[open] button:has-text("Resolve")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=No payment needs your decision.')
    await page.click('a[href="/admin?tab=overview"]')
    await page.click('a[href="/admin?tab=payments"]')
    await page.waitForSelector('td:has-text("refunded in 0x5c")')
    expect(ledger.payments.findPayment('pay_odd')?.resolution).toBe('refunded in 0x5c')
    expect(lastDeed()).toMatchObject({ actor: 'operator', subject: 'pay_odd' })
    expect(page.faults).toEqual([])
  })

  test('default: a job is started, and its end is seen without a reload', async () => {
    const page = await browser.open('/admin?tab=jobs')
    await page.click('button:has-text("Run now: verify")')
    await page.waitForSelector('text=Sound: 2 markets.')
    await page.click('text=Audit log')
    await page.waitForSelector('td:has-text("key.created")')
    await page.click('button:has-text("Older")')
    await page.waitForSelector('button:has-text("Newest")')
    expect([...ledger.verifyAudit()]).toEqual([])
    expect(page.faults).toEqual([])
  })

  test('behavior: who is not known as the operator enters the token, which nothing keeps', async () => {
    const page = await stranger.open('/admin')
    await page.waitForSelector('input[name=token]')
    expect(page.faults).toEqual([])
    await page.fill('input[name=token]', 'wrong')
    await page.click('text=Enter')
    await page.waitForSelector('text=This is not the token')
    expect(await accessFaults(page)).toEqual([])
    await keepShot(page, 'admin-gate-1280-light')
    await page.fill('input[name=token]', TOKEN)
    await page.click('text=Enter')
    await page.waitForSelector('nav >> text=Audit log')
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }]) + document.cookie + location.href',
    )
    expect(stored).not.toContain(TOKEN)
    page.forgive(/status of 403/)
    expect(page.faults).toEqual([])
  })
})
