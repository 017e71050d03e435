/** What the operator sees over time, and is told first. */
import { describe, expect, test } from 'bun:test'

import type { Billing, SalesFault } from '#src/billing/billing.ts'
import { closedBilling } from '#src/billing/create-billing.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type {
  ActivitySeries,
  AuditList,
  Overview,
  PaymentList,
  Sales,
} from '#src/features/admin/schema.ts'
import { boundsMs } from '#src/http/meters.ts'
import { type Activity, ACTIVITY_STEP_MS, type Ledger } from '#src/ledger/ledger.ts'

import { aKey } from '../ledger/ledger-records.ts'
import { fakeHistory } from '../support/fake-history.ts'
import { NOW_MS } from '../support/harness.ts'
import { createOperatorServer } from '../support/operator-server.ts'
import { addPayment } from '../support/payment-records.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const STEP_MS = NOW_MS - (NOW_MS % ACTIVITY_STEP_MS)
/** Of a bound in milliseconds: one request that took as long. */
const took = (ms: number, count = 1) =>
  [...boundsMs, Infinity].map((bound) => (bound === ms ? count : 0))

const aStep = (changes: Partial<Activity> = {}): Activity => ({
  stepMs: STEP_MS,
  server: 'one',
  requests: 1,
  errors: 0,
  durations: took(1),
  problems: {},
  recorder: undefined,
  ...changes,
})

/** Billing that takes payments with each token, unless something fails. */
function openBilling(...faults: SalesFault[]): Billing {
  const [first] = faults
  const tokens = homeChain.tokens.map((token) => ({ token, reason: first?.text }))
  const state = first === undefined ? 'open' : 'paused'
  return {
    ...closedBilling(''),
    isOpen: true,
    chains: () => [{ chain: homeChain, tokens }],
    sales: () => ({ state, sinceMs: first?.sinceMs, faults }),
  }
}

const aFault = (part: SalesFault['part'], text: string, agoMs: number): SalesFault => ({
  part,
  text,
  sinceMs: NOW_MS - agoMs,
  tokens: ['USDC on Polygon', 'USDT on Polygon'],
})

function createShop(options: Parameters<typeof createOperatorServer>[0] = {}) {
  const unwritten: Activity[] = []
  const server = createOperatorServer(options)
  server.operator.activity.listUnwritten = () => unwritten
  // As if it had been started an hour ago.
  server.operator.startedMs = NOW_MS - HOUR_MS
  const json = async <T>(path: string): Promise<T> => {
    const response = await server.ask(path)
    expect([path, response.status]).toEqual([path, 200])
    return (await response.json()) as T
  }
  const findings = async () => (await json<Overview>('/overview')).findings
  const textsOf = async (about: string) =>
    (await findings()).filter((each) => each.about === about).map((each) => each.text)
  return { ...server, unwritten, json, findings, textsOf }
}

/** Makes a payment that is provisioned, or fails, at a moment. */
async function pay(ledger: Ledger, name: string, atMs: number, reason?: string): Promise<void> {
  const by = { actor: 'system', nowMs: atMs } as const
  const { payment } = await addPayment(ledger, name)
  const { payments } = ledger
  if (reason !== undefined) {
    await payments.move(payment.id, { from: ['received'], to: 'rejected', reason }, by)
    return
  }
  const proof = { txHash: `0x${name}`, blockNumber: 1, logIndex: 1 }
  await payments.move(payment.id, { from: ['received'], to: 'screened' }, by)
  await payments.lease(payment.id, atMs + 60_000, by)
  await payments.move(payment.id, { from: ['settling'], to: 'settled', proof }, by)
  await payments.provision(
    payment.id,
    { subscriptionId: `sub_${name}`, restId: `rest_${name}` },
    by,
  )
}

describe('GET /admin/api/activity', () => {
  test('default: adds servers up, counts a recorder once, and knows nothing of time without a server', async () => {
    const { json, ledger, unwritten } = createShop()
    const recorder = { startedMs: 7, rows: 600, lagMs: 20 }
    await ledger.putActivity(
      [
        aStep({ requests: 98, durations: took(1, 98), recorder }),
        aStep({
          server: 'two',
          requests: 2,
          errors: 2,
          durations: took(500, 2),
          recorder: { ...recorder, lagMs: 90 },
          problems: { internal: 2 },
        }),
        aStep({
          stepMs: STEP_MS - ACTIVITY_STEP_MS,
          server: 'one',
          requests: 0,
          durations: took(0),
        }),
      ],
      0,
    )
    // What this server has counted since it wrote its last row.
    unwritten.push(
      aStep({ requests: 198, durations: took(1, 198), recorder, problems: { stale: 1 } }),
    )
    const series = await json<ActivitySeries>('/activity')
    expect(series).toMatchObject({ stepSeconds: 300, servers: 2 })
    expect(series.steps).toHaveLength(288)
    const last = series.steps.at(-1)
    expect(last).toMatchObject({
      at: new Date(STEP_MS).toISOString(),
      requests: 200,
      errors: 2,
      lagMs: 90,
      statesPerSecond: Math.round((600 / ((NOW_MS - STEP_MS) / 1000)) * 10) / 10,
    })
    // 198 of 200 took a millisecond at most, which is exactly 99 of 100.
    expect(last?.p99Ms).toBe(1)
    expect(series.steps.at(-2)).toMatchObject({ requests: 0, p99Ms: null, lagMs: null })
    expect(series.steps.at(-3)).toMatchObject({ requests: null, errors: null, signups: 0 })
    expect(series.problems).toEqual([
      { code: 'internal', status: 500, title: 'Internal error', count: 2 },
      { code: 'stale', status: 404, title: 'Snapshot too old', count: 1 },
    ])
  })

  test.each([
    ['began within it', STEP_MS + 20_000, undefined, NOW_MS],
    ['was killed in it', 7, STEP_MS + 25_000, STEP_MS + 25_000],
  ])('behavior: states a second are of the time of a recorder that %s', async (...row) => {
    const [, startedMs, silentMs, untilMs] = row
    const { json, unwritten, operator } = createShop()
    operator.silentMs = () => silentMs
    unwritten.push(aStep({ recorder: { startedMs, rows: 600, lagMs: 20 } }))
    const { steps } = await json<ActivitySeries>('/activity')
    const seconds = (untilMs - Math.max(startedMs, STEP_MS)) / 1000
    expect(steps.at(-1)?.statesPerSecond).toBe(Math.round(6000 / seconds) / 10)
  })

  test.each([
    [10_000, 10_000],
    [500, 500],
    // Above the last bound.
    [Infinity, 10_001],
  ])('behavior: of requests within %p ms the 99th percentile is %p', async (boundMs, p99Ms) => {
    const { json, unwritten } = createShop()
    unwritten.push(aStep({ requests: 3, durations: took(boundMs, 3) }))
    const { steps } = await json<ActivitySeries>('/activity')
    expect(steps.at(-1)?.p99Ms).toBe(p99Ms)
  })

  test('default: has what was sold and who signed up, in each range', async () => {
    const { json, ledger } = createShop()
    await pay(ledger, 'one', STEP_MS - 6 * DAY_MS)
    await pay(ledger, 'two', STEP_MS)
    await pay(ledger, 'odd', STEP_MS, 'expired')
    const wallet = { id: 'acc_wallet', address: `0x${'a'.repeat(40)}` }
    await ledger.createAccount(wallet, { actor: 'operator', nowMs: STEP_MS })
    const day = await json<ActivitySeries>('/activity?range=day')
    expect(day.steps.at(-1)).toMatchObject({ payments: 1, failedPayments: 1, signups: 1 })
    expect(Number(day.steps.at(-1)?.revenue)).toBeCloseTo(49, 1)
    for (const [range, payments] of [
      ['day', 1],
      ['week', 2],
      ['month', 2],
    ] as const) {
      const { steps, from, to, stepSeconds } = await json<ActivitySeries>(
        `/activity?range=${range}`,
      )
      expect(steps.reduce((sum, each) => sum + each.payments, 0)).toBe(payments)
      expect(Date.parse(to) - Date.parse(from)).toBe(steps.length * stepSeconds * 1000)
    }
    const { day: today, all } = await json<Sales>('/sales')
    expect([today.payments, today.failed, all.payments]).toEqual([1, 1, 2])
    expect(Number(all.revenue)).toBeCloseTo(98, 1)
  })
})

describe('findings of GET /admin/api/overview', () => {
  test('default: where all works, one sentence says so', async () => {
    const { findings, ledger } = createShop({ billing: openBilling() })
    await pay(ledger, 'one', NOW_MS - HOUR_MS)
    expect((await findings()).filter(({ about }) => about === 'sales')).toEqual([
      {
        level: 'ok',
        about: 'sales',
        text: 'Everything that sales need works. 1 payment in the last 24 hours.',
        todo: null,
        link: null,
      },
    ])
  })

  test('behavior: what is not configured is a note, until something was sold', async () => {
    const closed = closedBilling('BOOKFEED_PAY_TO is not set.')
    const { findings, ledger } = createShop({ billing: closed })
    const levelsOf = async () =>
      (await findings())
        .filter(({ about }) => about === 'sales')
        .map(({ level, text }) => [level, text])
    const text = 'Nothing is sold: BOOKFEED_PAY_TO is not set.'
    expect(await levelsOf()).toEqual([['notice', text]])
    await pay(ledger, 'one', NOW_MS)
    expect(await levelsOf()).toEqual([['fault', text]])
  })

  test('behavior: a node and a facilitator that fail come first, each with its address, since when and what to do', async () => {
    const { findings } = createShop({
      billing: openBilling(
        aFault('node', 'The RPC at http://node.example cannot be reached.', 2 * HOUR_MS),
        aFault('facilitator', 'The facilitator at relay.example cannot be reached.', 600_000),
      ),
    })
    const stamp = (agoMs: number) =>
      new Date(NOW_MS - agoMs).toISOString().slice(0, 19).replace('T', ' ')
    const begin =
      'Purchases are paused: buyers cannot pay with USDC on Polygon, USDT on Polygon: The'
    const todo = (variable: string) => `Check ${variable} and the network with bookfeed doctor.`
    expect((await findings()).slice(0, 2)).toEqual([
      {
        level: 'fault',
        about: 'sales',
        text: `${begin} RPC at http://node.example cannot be reached since ${stamp(2 * HOUR_MS)} UTC, 2 hours ago.`,
        todo: todo('BOOKFEED_RPC_URL'),
        link: null,
      },
      {
        level: 'fault',
        about: 'sales',
        text: `${begin} facilitator at relay.example cannot be reached since ${stamp(600_000)} UTC, 10 minutes ago.`,
        todo: todo('BOOKFEED_FACILITATOR'),
        link: null,
      },
    ])
  })

  test('behavior: an empty gas wallet is filled by what its fault says', async () => {
    const todo = 'Send POL on Polygon to 0x1234, which pays for gas.'
    const fault = aFault('facilitator', 'The facilitator cannot pay for gas.', 0)
    const { findings } = createShop({ billing: openBilling({ ...fault, todo }) })
    expect((await findings())[0]).toMatchObject({ level: 'fault', todo })
  })

  test('behavior: payments that failed are counted by their reason, in words', async () => {
    const { textsOf, ledger } = createShop({ billing: openBilling() })
    await pay(ledger, 'one', NOW_MS, 'insufficient_balance')
    await pay(ledger, 'two', NOW_MS, 'insufficient_balance')
    await pay(ledger, 'odd', NOW_MS, 'expired')
    expect(await textsOf('sales')).toEqual([
      '3 payments failed in the last 24 hours, and 0 succeeded. Why: the wallet holds less than the amount (2); it ended before it was made (1).',
    ])
  })

  test('behavior: a longer time without a payment than usual is told, and whether buyers asked', async () => {
    const { textsOf, ledger, findings } = createShop({ billing: openBilling() })
    for (let index = 0; index < 14; index++)
      await pay(ledger, `p${index}`, NOW_MS - 2 * DAY_MS - index * 12 * HOUR_MS)
    const lull = /^No payment for 47 hours; in the week before, there was one every 12 hours\./
    // The quotes of these payments were made just now.
    expect(await textsOf('sales')).toEqual([expect.stringMatching(lull)])
    expect((await textsOf('sales'))[0]).toContain(
      'Quotes requested since then: 14, none of them paid.',
    )
    expect((await findings())[0]?.level).toBe('fault')
    await pay(ledger, 'now', NOW_MS)
    expect(await textsOf('sales')).toEqual([
      expect.stringContaining('Everything that sales need works'),
    ])
  })

  test('behavior: prices that changed and screening that failed are told', async () => {
    const { textsOf, ledger, unwritten } = createShop({ billing: openBilling() })
    unwritten.push(aStep({ problems: { screening_unavailable: 3, billing_unavailable: 1 } }))
    const pro = ledger.listTiers().find(({ tierId }) => tierId === 'pro')
    if (pro === undefined) throw new Error('There is no Pro tier.')
    const change = (amountMillionths: number, atMs: number) =>
      ledger.putTier({ ...pro, amountMillionths }, { actor: 'operator', nowMs: atMs })
    await change(49e6, NOW_MS - 9 * DAY_MS)
    await change(59e6, NOW_MS - 3 * HOUR_MS)
    const told = await textsOf('sales')
    const from = new Date(STEP_MS).toISOString().slice(11, 16)
    const to = new Date(STEP_MS + ACTIVITY_STEP_MS).toISOString().slice(11, 16)
    const when = `in the last hour, last between ${from} and ${to} UTC`
    expect(await textsOf('sign-ups')).toContain(
      `Works again: Addresses of sign-ups or buyers could not be screened 3 times ${when} (screening_unavailable).`,
    )
    expect(told).toContain(
      `Works again: Payments and quotes were refused 1 time ${when} (billing_unavailable).`,
    )
    expect(told).toContainEqual(expect.stringContaining('Everything that sales need works.'))
    expect(told).toContain('The tier Pro was changed 3 hours ago: 49 USDC → 59 USDC.')
  })

  test('behavior: what was refused is a fault of its own as long as it is refused', async () => {
    const signup = () => ({ isOpen: true, warning: 'No source of sanctions answers.' }) as const
    const { findings, unwritten } = createShop({
      billing: openBilling(aFault('node', 'No node.', 0)),
      signup,
    })
    unwritten.push(aStep({ problems: { screening_unavailable: 1, billing_unavailable: 1 } }))
    const told = (await findings())
      .filter(({ text }) => text.includes('in the last hour'))
      .map(({ level, about, text }) => [level, about, text.split(' ')[0]])
    expect(told).toEqual([
      ['fault', 'sales', 'Payments'],
      ['fault', 'sign-ups', 'Addresses'],
    ])
  })

  test('behavior: a settlement that failed is told once, beside other failures', async () => {
    const { textsOf, unwritten } = createShop({
      billing: openBilling(aFault('facilitator', 'No facilitator.', 0)),
    })
    const lasting = { stepMs: STEP_MS, problems: { billing_unavailable: 1 } }
    unwritten.push(aStep({ ...lasting, errors: 1, requests: 4 }))
    const refused = async () =>
      (await textsOf('sales')).filter((text) => text.includes('last hour'))
    expect(await refused()).toEqual([expect.stringContaining('were refused 1 time in')])
    expect(await textsOf('server')).toEqual([])
    const problems = { billing_unavailable: 1, internal: 2 }
    unwritten.push(aStep({ server: 'two', errors: 3, requests: 6, problems }))
    // Of before the outage, so no sales finding counts it.
    const stepMs = STEP_MS - 4 * ACTIVITY_STEP_MS
    unwritten.push(aStep({ ...lasting, stepMs, errors: 1, requests: 10 }))
    expect(await refused()).toEqual([expect.stringContaining('were refused 2 times in')])
    expect(await textsOf('server')).toEqual([
      '3 requests failed with 500 or above in the last hour, 15.0 % of all: internal (2), billing_unavailable (1).',
    ])
  })

  test('behavior: what was refused before an outage is not counted as part of it', async () => {
    const billing = openBilling(aFault('node', 'No node.', 0))
    const { textsOf, unwritten } = createShop({ billing })
    const problems = { billing_unavailable: 1 }
    unwritten.push(aStep({ stepMs: STEP_MS - 4 * ACTIVITY_STEP_MS, problems }))
    const told = async () => (await textsOf('sales')).filter((text) => text.includes('last hour'))
    expect(await told()).toEqual([])
    unwritten.push(aStep({ problems }))
    expect(await told()).toEqual([expect.stringContaining('were refused 1 time in')])
  })

  test('behavior: a node that is the only source of sanctions is named', async () => {
    const warning = 'No sanctions source can be relied upon.'
    const signup = () => ({ isOpen: true, warning }) as const
    const find = async ({ findings }: ReturnType<typeof createShop>) =>
      (await findings()).find(({ text }) => text.startsWith(warning))
    const todo = 'Check BOOKFEED_RPC_URL and the network with bookfeed doctor.'
    const node = 'The RPC at http://node.example cannot be reached.'
    const sold = createShop({ billing: openBilling(aFault('node', node, 0)), signup })
    expect(await find(sold)).toMatchObject({ text: `${warning} ${node}`, todo, link: null })
    const text = `${warning} The node at BOOKFEED_RPC_URL does not answer.`
    expect(await find(createShop({ signup }))).toMatchObject({ text, todo, link: null })
    const listed = createShop({ signup })
    listed.operator.jobs.add('sanctions-list', 'Fetches the list.').canStart(() => {})
    expect(await find(listed)).toMatchObject({ text: warning, link: '/admin?tab=jobs' })
  })

  test('behavior: a payment that hangs for long is told with where', async () => {
    const { textsOf, ledger, time } = createShop({ billing: openBilling() })
    const { payment } = await addPayment(ledger, 'hung')
    const by = { actor: 'system', nowMs: NOW_MS } as const
    await ledger.payments.move(
      payment.id,
      { from: ['received'], to: 'screened', reason: 'gas_exhausted' },
      by,
    )
    time.nowMs += 2 * HOUR_MS
    expect(await textsOf('sales')).toEqual([
      '1 payment open for more than 15 minutes, the oldest for 2 hours (the gas wallet has no coin left).',
    ])
  })

  test('behavior: faults of recorder, jobs, disk and requests are told', async () => {
    const { findings, operator, unwritten } = createShop({
      recorder: () => ({
        ...recorderOf(),
        fault: 'The disk is full.',
        warning: 'The catalogue is down.',
      }),
    })
    unwritten.push(aStep({ requests: 40, errors: 2, problems: { internal: 2 } }))
    operator.jobs.add('backup', 'Backs up.').failed('The bucket does not answer.')
    operator.disk = () => ({ files: [], freeBytes: 1000 })
    const told = (await findings()).map(({ level, text }) => `${level}: ${text}`)
    expect(told).toContain('fault: The disk is full.')
    expect(told).toContain('warning: The catalogue is down.')
    expect(told).toContain('warning: The job backup failed: The bucket does not answer.')
    expect(told).toContain(
      'warning: 2 requests failed with 500 or above in the last hour, 5.0 % of all: internal (2).',
    )
    expect(told.some((text) => text.startsWith('fault: The disk has 0 MiB free, less than'))).toBe(
      true,
    )
    expect(told.findIndex((text) => text.startsWith('warning'))).toBeGreaterThan(
      told.findLastIndex((text) => text.startsWith('fault')),
    )
  })
})

test('behavior: a nearly full disk is one finding, although it stops the recorder too', async () => {
  const fault = 'The disk is nearly full: nothing is recorded.'
  const shop = createShop({ recorder: () => ({ ...recorderOf(), fault }) })
  const faults = async () =>
    (await shop.findings()).filter(({ level }) => level === 'fault').map(({ text }) => text)
  expect(await faults()).toEqual([fault])
  shop.operator.disk = () => ({ files: [], freeBytes: 500 * 2 ** 20 })
  expect(await faults()).toEqual([
    expect.stringMatching(
      /^The disk has 500 MiB free, less than the [\d,]+ MiB of BOOKFEED_FREE_MB: nothing/,
    ),
  ])
})

describe('findings of a folder without a recorder', () => {
  const findRecorder = async ({ findings }: Pick<ReturnType<typeof createShop>, 'findings'>) =>
    (await findings())
      .filter(({ about }) => about === 'recorder')
      .map(({ level, text }) => `${level}: ${text}`)

  test('behavior: one that was killed is a fault, with since when', async () => {
    const shop = createShop()
    shop.operator.silentMs = () => NOW_MS - 7 * 60_000
    const stamp = new Date(NOW_MS - 7 * 60_000).toISOString().slice(0, 19).replace('T', ' ')
    expect(await findRecorder(shop)).toEqual([
      `fault: The recorder was killed or hangs: it has reported nothing since ${stamp} UTC, 7 minutes ago.`,
    ])
  })

  test.each([
    ['simulated', HOUR_MS, /^notice: No recorder runs on the data folder of this server\.$/],
    ['recorded', HOUR_MS, /^fault: .* nothing has been recorded since 20.* UTC, 60 minutes ago\.$/],
    ['recorded', 8 * DAY_MS, /^notice: .* nothing has been recorded since 20.* UTC, 8 days ago\.$/],
    // A recorder on another machine stores it.
    ['recorded', 2000, /^notice: .*; the last snapshot is from 20.* UTC\.$/],
  ] as const)('behavior: where %s states end %i ms ago: %p', async (source, agoMs, text) => {
    const ended = { source, markets: 1, openMarkets: 0, snapshots: 9 }
    const total = { coin: 'btc', timeframe: '5m', ...ended } as const
    const coinTotals = () => [{ ...total, lastSnapshotMs: NOW_MS - agoMs }]
    const shop = createShop({ history: fakeHistory({ coinTotals }) })
    expect(await findRecorder(shop)).toEqual([expect.stringMatching(text)])
  })
})

const recorderOf = () => ({
  startedMs: NOW_MS,
  writtenMs: NOW_MS,
  perSecond: { messages: 0, rows: 0 },
  messages: 0,
  faults: 0,
  sink: { rows: 0, waiting: 0, dropped: 0 },
  connections: [],
  markets: [],
})

describe('names and search', () => {
  test('default: payments are found by wallet, and name their account and product', async () => {
    const { json, ledger } = createShop()
    await pay(ledger, 'one', NOW_MS)
    await pay(ledger, 'odd', NOW_MS, 'expired')
    const found = await json<PaymentList>('/payments?search=pay_odd')
    expect(found.payments).toEqual([
      expect.objectContaining({
        id: 'pay_odd',
        accountName: 'acc_odd',
        product: 'Pro',
        reason: 'expired',
        reasonText: 'it ended before it was made',
      }),
    ])
    const none = await json<PaymentList>('/payments?search=pay_odd&state=provisioned')
    expect(none.payments).toEqual([])
  })

  test('default: rows of the audit log name what they are about', async () => {
    const { json, ledger } = createShop()
    await pay(ledger, 'one', NOW_MS)
    await ledger.createAccount(
      { id: 'acc_desk', label: 'Desk 4' },
      { actor: 'operator', nowMs: NOW_MS },
    )
    type Audit = { data: { subject: string; subjectName: string | null }[] }
    const { data } = await json<Audit>('/audit?limit=100')
    const nameOf = (subject: string) => data.find((row) => row.subject === subject)?.subjectName
    expect(nameOf('acc_desk')).toBe('Desk 4')
    expect(nameOf('pro')).toBe('Pro')
    expect(nameOf('pay_one')).toBe('acc_one')
    expect(nameOf('acc_one')).toBeNull()
    const wallet = `0x${'b'.repeat(40)}`
    const by = { actor: 'operator', nowMs: NOW_MS } as const
    await ledger.createAccount({ id: 'acc_wallet', address: wallet, label: 'Wallet 7' }, by)
    const chain = { oracle: 'clear', issuers: 'clear' } as const
    await ledger.recordScreening({ address: wallet, chain, staleAfterMs: DAY_MS }, by)
    const [screened] = (await json<Audit>('/audit?limit=1')).data
    expect(screened).toMatchObject({ subject: wallet, subjectName: 'Wallet 7' })
  })

  test('default: rows of the audit log name who made the change, and the kind', async () => {
    const { json, ledger } = createShop()
    const by = { actor: 'operator', nowMs: NOW_MS } as const
    const nothing = { actorId: null, actorName: null }
    const named = { ...aKey(1), accountId: 'acc_keyed', label: 'bot', familyId: 'key_1' }
    await ledger.createAccount({ id: 'acc_desk', label: 'Desk 4' }, by)
    await ledger.createAccount({ id: 'acc_keyed' }, by)
    await ledger.createKey({ ...named, expiresMs: undefined }, by)
    const cases = [
      ['operator', { actorKind: 'operator', ...nothing }],
      ['system', { actorKind: 'system', ...nothing }],
      ['account:acc_desk', { actorKind: 'account', actorId: 'acc_desk', actorName: 'Desk 4' }],
      ['account:acc_keyed', { actorKind: 'account', actorId: 'acc_keyed', actorName: 'key bot' }],
      ['account:acc_gone', { actorKind: 'account', actorId: 'acc_gone', actorName: null }],
    ] as const
    for (const [index, [actor, described]] of cases.entries()) {
      await ledger.labelKey(named.id, `label ${index}`, { actor, nowMs: NOW_MS })
      await ledger.labelKey(named.id, 'bot', { actor, nowMs: NOW_MS })
      const { data } = await json<AuditList>('/audit?limit=1')
      expect(data).toEqual([expect.objectContaining({ actor, ...described })])
    }
  })
})
