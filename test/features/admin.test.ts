import { describe, expect, test } from 'bun:test'

import type { MadeKey, Overview, PaymentList } from '#src/features/admin/schema.ts'

import { addKey, NOW_MS } from '../support/harness.ts'
import { expectDocumented, readDocument } from '../support/openapi-document.ts'
import { createOperatorServer } from '../support/operator-server.ts'
import { addPayment } from '../support/payment-records.ts'

const DAY_MS = 86_400_000
const by = { actor: 'system', nowMs: NOW_MS } as const

async function createShop() {
  const server = createOperatorServer()
  const { ledger, ask } = server
  await addPayment(ledger, 'odd')
  await ledger.payments.move(
    'pay_odd',
    { from: ['received'], to: 'review', reason: 'paid_twice' },
    by,
  )
  const json = async <T>(path: string, body?: object): Promise<T> => {
    const response = await ask(path, body === undefined ? {} : { body })
    expect([path, response.status]).toEqual([path, 200])
    return (await response.json()) as T
  }
  const refuse = async (path: string, body: object) => {
    const response = await ask(path, { body })
    const { code, param, detail } = (await response.json()) as Record<string, string>
    return { status: response.status, code, param, detail }
  }
  const lastDeed = () => ledger.listAudit((ledger.auditHead()?.seq ?? 1) - 1, 1)[0]
  return { ...server, json, refuse, lastDeed }
}

describe('/admin/api', () => {
  test('default: the overview counts what there is, and what waits for a decision', async () => {
    const { json } = await createShop()
    const overview = await json<Overview>('/overview')
    expect(overview).toMatchObject({
      recorder: null,
      accounts: { all: 2, lastDay: 2, lastWeek: 2 },
      review: { payments: 1, transfers: 0, inFlight: 0 },
      sanctions: null,
    })
  })

  test('default: a key is made, found by what it ends in, and revoked from the next request on', async () => {
    const { json, sendAs, lastDeed, ledger } = await createShop()
    const made = await json<MadeKey>('/keys', { tier: 'pro', days: '30', label: 'desk 4' })
    expect((await sendAs(made.key, '/v1/keys')).status).toBe(200)
    const found = await json<{ data: { id: string; keys: { id: string; status: string }[] }[] }>(
      `/accounts?search=${made.key.slice(-4)}`,
    )
    expect(found.data).toHaveLength(1)
    expect(found.data[0]).toMatchObject({
      id: made.accountId,
      tier: 'pro',
      tierUntil: new Date(NOW_MS + 30 * DAY_MS).toISOString(),
      keys: [{ id: made.id, status: 'valid', label: 'desk 4' }],
    })
    expect(await json<object>('/keys/revoke', { id: made.id })).toEqual({ changed: true })
    expect(lastDeed()).toMatchObject({ actor: 'operator', action: 'key.revoked', subject: made.id })
    expect((await sendAs(made.key, '/v1/keys')).status).toBe(401)
    expect(await json<object>('/keys/revoke', { id: made.id })).toEqual({ changed: false })
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('default: a change of a tier is shown with whom it affects, then done', async () => {
    const { json, ledger, lastDeed } = await createShop()
    addKey(ledger, 'pro')
    const before = ledger.auditHead()
    const change = { id: 'pro', price: '59', contact: 'none' }
    const preview = await json<object>('/tiers', { ...change, mode: 'preview' })
    expect(preview).toEqual({ differences: ['price 49 → 59'], bought: 0, followers: 1 })
    expect(ledger.auditHead()).toEqual(before)
    expect(await json<object>('/tiers', { ...change, mode: 'apply' })).toEqual(preview)
    expect(lastDeed()).toMatchObject({ actor: 'operator', action: 'tier.put', subject: 'pro' })
    expect(ledger.listTiers().find(({ tierId }) => tierId === 'pro')?.amountMillionths).toBe(59e6)
  })

  test('default: a payment in review is decided once, and then waits no more', async () => {
    const { json, refuse, lastDeed } = await createShop()
    const waiting = await json<PaymentList>('/payments?state=review')
    expect(waiting.payments.map(({ id }) => id)).toEqual(['pay_odd'])
    await json('/payments/resolve', { id: 'pay_odd', note: 'refunded in 0x5c' })
    expect(lastDeed()).toMatchObject({ actor: 'operator', subject: 'pay_odd' })
    expect((await json<PaymentList>('/payments?state=review')).payments).toEqual([])
    expect(await json<object>('/payments/pay_odd')).toMatchObject({
      resolution: 'refunded in 0x5c',
    })
    const again = await refuse('/payments/resolve', { id: 'pay_odd', note: 'more' })
    expect(again).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'id' })
  })

  test.each([
    ['/tiers', { id: 'pro', mode: 'apply', price: 'free' }, 'price'],
    ['/tiers', { id: 'pro', mode: 'apply', coins: 'nocoin' }, 'coins'],
    ['/tiers', { id: 'pro', mode: 'apply', rank: '4' }, 'rank'],
    [
      '/tiers',
      { id: 'free', mode: 'apply', forSale: 'yes', price: '1', periodDays: '1' },
      'forSale',
    ],
    ['/tiers', { id: 'No', mode: 'apply', price: '1' }, 'id'],
    ['/keys', { tier: 'gold' }, 'tier'],
    ['/keys', { tier: 'free', days: '3' }, 'days'],
    ['/keys', { tier: 'pro', account: 'acc_none' }, 'account'],
    ['/keys', { tier: 'pro', address: '0x1' }, 'address'],
    ['/keys', { tier: 'pro', label: 'a\nb' }, 'label'],
    ['/keys/revoke', { id: 'key_none' }, 'id'],
    ['/payments/resolve', { id: 'pay_none', note: 'x' }, 'id'],
    ['/payments/resolve', { id: 'pay_odd', note: ' ' }, 'note'],
    ['/offers/release', { id: 'quote_none' }, 'id'],
    ['/jobs/run', { name: 'nothing' }, 'name'],
  ])('error: %s refuses %j as the command line does, and writes nothing', async (...row) => {
    const [path, body, param] = row
    const { refuse, ledger } = await createShop()
    const before = ledger.auditHead()
    const refused = await refuse(path, body)
    expect(refused).toMatchObject({ status: 400, code: 'invalid_parameter', param })
    expect(ledger.auditHead()).toEqual(before)
  })

  test('error: a sanctioned wallet gets no key', async () => {
    const { ask, ledger } = createOperatorServer({
      screen: async (address) => ({
        verdict: 'hit' as const,
        address,
        timeMs: NOW_MS,
        grounds: { list: { answer: 'absent', isStale: false }, oracle: 'hit', issuers: 'absent' },
      }),
    })
    const before = ledger.auditHead()
    const body = { tier: 'pro', address: `0x${'a'.repeat(40)}` }
    expect((await ask('/keys', { body })).status).toBe(400)
    expect(ledger.auditHead()).toEqual(before)
  })

  test('behavior: accounts are paged newest first, none twice and none left out', async () => {
    const { json, ledger } = await createShop()
    for (let index = 0; index < 5; index++) {
      const deed = { actor: 'operator', nowMs: NOW_MS + index } as const
      await ledger.createAccount({ id: `acc_more${index}`, label: `More ${index}` }, deed)
    }
    const seen: string[] = []
    let after: string | null = null
    do {
      const place: string = after === null ? '' : `&after=${after}`
      type Page = { data: { id: string }[]; next: string | null }
      const page: Page = await json<Page>(`/accounts?limit=2${place}`)
      seen.push(...page.data.map(({ id }) => id))
      after = page.next
    } while (after !== null)
    expect(seen).toHaveLength(7)
    expect(new Set(seen).size).toBe(7)
    expect(seen.slice(0, 2)).toEqual(['acc_more4', 'acc_more3'])
    const { data } = await json<{ data: object[] }>('/accounts?search=MORE 3')
    expect(data).toMatchObject([{ id: 'acc_more3' }])
  })

  test('behavior: the audit log is paged backwards to its first row', async () => {
    const { json, ledger } = await createShop()
    const seen: number[] = []
    let before: number | null = null
    do {
      type Page = { data: { seq: number }[]; next: number | null }
      const page: Page = await json<Page>(
        `/audit?limit=3${before === null ? '' : `&before=${before}`}`,
      )
      seen.push(...page.data.map(({ seq }) => seq))
      before = page.next
    } while (before !== null)
    const head = ledger.auditHead()?.seq ?? 0
    expect(seen).toEqual(Array.from({ length: head }, (_, index) => head - index))
  })

  test('behavior: a job runs once at a time, and says how it ended', async () => {
    const { json, refuse, operator, ledger } = await createShop()
    const done = Promise.withResolvers<string>()
    operator.jobs.add('slow', 'Takes its time.', async (report) => {
      report.progress(1, 2)
      return await done.promise
    })
    operator.jobs.add('bad', 'Fails.', () => Promise.reject(new Error('No room.')))
    await json('/jobs/run', { name: 'slow' })
    expect(await refuse('/jobs/run', { name: 'slow' })).toMatchObject({ status: 400 })
    const list = async () => (await json<{ data: object[] }>('/jobs')).data
    expect(await list()).toMatchObject([{ isRunning: true, progress: { done: 1, total: 2 } }, {}])
    done.resolve('Sound.')
    await json('/jobs/run', { name: 'bad' })
    expect(await list()).toMatchObject([
      { isRunning: false, isFailed: false, outcome: 'Sound.', progress: null },
      { isRunning: false, isFailed: true, outcome: 'No room.' },
    ])
    const started = ledger.listAudit(0, 1000).filter(({ action }) => action === 'job.started')
    expect(started.map(({ actor, subject }) => [actor, subject])).toEqual([
      ['operator', 'slow'],
      ['operator', 'bad'],
    ])
    expect([...ledger.verifyAudit()]).toEqual([])
  })

  test('error: each refusal of an operation is in the document of the operator', async () => {
    const { open } = await createShop()
    const { document, entries } = await readDocument(() => open('/admin/api/openapi.json'))
    expect(entries.length).toBeGreaterThan(10)
    for (const entry of entries) {
      const path = entry.path.replace('{id}', 'pay_odd')
      const init = entry.requestBody === undefined ? {} : { body: { nothing: 1 } }
      const refusals = [
        await open(`${path}?nothing=1`, { method: entry.method, ...init }),
        await open(path, { method: entry.method, ...init, address: '192.0.2.1' }),
        ...(entry.requestBody === undefined ? [] : [await open(path, init)]),
        await open(path.replace('pay_odd', '%zz'), { method: entry.method, ...init }),
      ]
      for (const refused of refusals) {
        expect([path, refused.status]).not.toEqual([path, 404])
        if (refused.status >= 400) await expectDocumented(document, entry, refused)
      }
      expect(refusals.map(({ status }) => status).slice(0, 2)).toEqual([400, 403])
    }
  })

  test('behavior: no answer holds a key, a digest, a signature or the token', async () => {
    const { ask, key, ledger } = await createShop()
    const digests = ledger.listKeys().map(({ id }) => id)
    expect(digests.length).toBeGreaterThan(0)
    for (const path of [
      '/overview',
      '/accounts',
      '/tiers',
      '/payments',
      '/payments/pay_odd',
      '/jobs',
      '/audit?limit=1000',
      '/openapi.json',
    ]) {
      const text = await (await ask(path)).text()
      expect(text).not.toContain(key)
      expect(text).not.toContain(key.slice(8, 20))
      expect(text).not.toContain('c0ffee')
      expect(text).not.toContain('0123456789abcdefghij')
      expect([path, /"(digest|payload|signature)"/.exec(text)?.[0]]).toEqual([path, undefined])
    }
  })
})
