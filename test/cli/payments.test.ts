import { describe, expect, test } from 'bun:test'

import type { Ledger } from '#src/ledger/ledger.ts'

import { createCommandLine } from '../support/command-line.ts'
import { NOW_MS } from '../support/harness.ts'
import { addPayment } from '../support/payment-records.ts'

const by = { actor: 'system', nowMs: NOW_MS } as const
const HASH = `0x${'5e'.repeat(32)}`
const TRANSFER = 'transfer_137_9_2'

async function addTransfer({ payments }: Ledger): Promise<void> {
  await payments.addUnmatchedTransfer(
    {
      id: TRANSFER,
      network: 'eip155:137',
      asset: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359',
      from: `0x${'7'.repeat(40)}`,
      amount: 1_500_000n,
      txHash: HASH,
      blockNumber: 9,
      logIndex: 2,
      foundMs: NOW_MS,
    },
    by,
  )
}

/** A ledger with a payment that was taken, one in review, and money that nobody explains. */
async function createPaidLine() {
  const line = createCommandLine()
  await line.withLedger(async (ledger) => {
    await addPayment(ledger, 'taken')
    await addPayment(ledger, 'odd')
    const change = { from: ['received'], to: 'review', reason: 'sanctioned' } as const
    await ledger.payments.move('pay_odd', change, by)
    await addTransfer(ledger)
  })
  return line
}

describe('bookfeed payments list', () => {
  test('default: shows payments, and below them the transfers that no payment explains', async () => {
    using line = await createPaidLine()
    const { exitCode, printed, errors } = await line.run('payments', 'list')
    expect([exitCode, errors]).toEqual([0, ['transfers that belong to no payment:']])
    const rows = printed.map((row) => row.split(/ {2,}/))
    expect(rows[0]?.slice(0, 5)).toEqual(['id', 'state', 'account', 'amount', 'token'])
    const ids = rows.map(([id]) => id)
    expect(ids.toSorted()).toEqual(['id', 'id', 'pay_odd', 'pay_taken', TRANSFER])
    expect(rows.find(([id]) => id === 'pay_taken')?.slice(1, 5)).toEqual([
      'received',
      'acc_taken',
      '48.991025',
      'USDC',
    ])
    expect(rows.find(([id]) => id === TRANSFER)?.slice(1, 3)).toEqual(['1.5', 'USDC'])
  })

  test('behavior: --state shows those alone', async () => {
    using line = await createPaidLine()
    const { printed } = await line.run('payments', 'list', '--state', 'review', '--json')
    const { payments, unmatchedTransfers } = JSON.parse(printed.join('\n'))
    expect(payments).toHaveLength(1)
    expect(payments[0]).toMatchObject({
      id: 'pay_odd',
      state: 'review',
      reason: 'sanctioned',
      amount: '48.99822',
      amountAtomic: '48998220',
      transaction: null,
    })
    expect(unmatchedTransfers).toEqual([
      expect.objectContaining({ id: TRANSFER, amount: '1.5', transaction: HASH, resolution: null }),
    ])
  })

  test('behavior: no signature is ever shown', async () => {
    using line = await createPaidLine()
    const list = await line.run('payments', 'list', '--json')
    const show = await line.run('payments', 'show', 'pay_odd', '--json')
    expect(JSON.stringify([list, show])).not.toContain('c0ffee')
  })

  test('error: an unknown state, and a folder without a ledger', async () => {
    using line = createCommandLine()
    expect(await line.run('payments', 'list', '--state', 'lost')).toMatchObject({ exitCode: 2 })
    expect(await line.run('payments', 'list')).toMatchObject({ exitCode: 1, printed: [] })
  })
})

describe('bookfeed payments show', () => {
  test('default: shows a payment with everything that was done to it, oldest first', async () => {
    using line = await createPaidLine()
    const { printed } = await line.run('payments', 'show', 'pay_odd', '--json')
    const shown = JSON.parse(printed.join('\n'))
    expect(shown).toMatchObject({ id: 'pay_odd', accountId: 'acc_odd', subscriptionId: null })
    const actions = shown.audit.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(['payment.received', 'payment.review'])
  })

  test('behavior: shows a transfer too, as a table', async () => {
    using line = await createPaidLine()
    const { exitCode, printed } = await line.run('payments', 'show', TRANSFER)
    expect(exitCode).toBe(0)
    expect(printed.join('\n')).toContain(HASH)
  })

  test('error: an unknown id', async () => {
    using line = await createPaidLine()
    expect(await line.run('payments', 'show', 'pay_none')).toEqual({
      exitCode: 1,
      printed: [],
      errors: ['bookfeed: There is no payment or transfer "pay_none". See: bookfeed payments list'],
    })
  })
})

describe('bookfeed payments resolve', () => {
  test('default: notes what was decided about a payment in review, in the audit chain too', async () => {
    using line = await createPaidLine()
    const note = ['--note', 'sent back by hand']
    expect(await line.run('payments', 'resolve', 'pay_odd', ...note)).toMatchObject({
      exitCode: 0,
      printed: ['pay_odd is resolved: sent back by hand'],
    })
    const { printed } = await line.run('audit', 'list', '--json')
    expect(printed.join('\n')).toContain('sent back by hand')
    expect(await line.run('audit', 'verify')).toMatchObject({ exitCode: 0 })
  })

  test('behavior: a transfer that is resolved leaves the list', async () => {
    using line = await createPaidLine()
    await line.run('payments', 'resolve', TRANSFER, '--note', 'a gift')
    const { printed } = await line.run('payments', 'list', '--json')
    expect(JSON.parse(printed.join('\n')).unmatchedTransfers).toEqual([])
  })

  test('error: without a note, of a payment that is not in review, of nothing', async () => {
    using line = await createPaidLine()
    expect(await line.run('payments', 'resolve', 'pay_odd')).toMatchObject({ exitCode: 2 })
    const { errors } = await line.run('payments', 'resolve', 'pay_taken', '--note', 'x')
    expect(errors).toEqual([
      'bookfeed: pay_taken is received: only payments in review are resolved by hand.',
    ])
    const unknown = await line.run('payments', 'resolve', 'pay_none', '--note', 'x')
    expect(unknown).toMatchObject({ exitCode: 1 })
  })
})

describe('bookfeed payments offers, release', () => {
  test('default: shows which quotes hold an amount, and frees them by quote or account', async () => {
    using line = createCommandLine()
    await line.withLedger(async (ledger) => {
      for (const name of ['one', 'two', 'paid']) await addPayment(ledger, name)
      const change = { from: ['received'], to: 'rejected' } as const
      for (const id of ['pay_one', 'pay_two']) await ledger.payments.move(id, change, by)
    })
    const list = async () => {
      const { printed } = await line.run('payments', 'offers', '--json')
      return (JSON.parse(printed.join('\n')) as { id: string }[]).map(({ id }) => id)
    }
    expect(await list()).toEqual(['quote_one', 'quote_two', 'quote_paid'])
    const { printed } = await line.run('payments', 'offers')
    expect(printed[0]?.split(/ {2,}/).slice(0, 4)).toEqual(['id', 'account', 'amount', 'token'])
    const freed = await line.run('payments', 'release', 'quote_one', 'acc_two', 'acc_paid')
    expect(freed.printed).toEqual(['quote_one is released', 'quote_two is released'])
    expect(await list()).toEqual(['quote_paid'])
    const again = await line.run('payments', 'release', 'quote_one')
    expect([again.exitCode, again.errors.join()]).toEqual([
      1,
      expect.stringContaining('No such quote holds an amount'),
    ])
    await line.withLedger((ledger) => {
      const actions = ledger.listAudit(0, 100).map(({ actor, action }) => `${actor} ${action}`)
      expect(actions.filter((action) => action === 'operator offer.released')).toHaveLength(2)
      expect([...ledger.verifyAudit()]).toEqual([])
    })
  })
})
