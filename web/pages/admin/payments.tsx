import { useState } from 'preact/hooks'

import {
  act,
  type Payment,
  type PaymentList,
  type Sales,
  type Transfer,
  useAdmin,
} from '../../lib/admin.ts'
import { showCount, showDollars, showStamp } from '../../lib/format.ts'
import { setQuery, useLocation } from '../../lib/location.ts'
import { Card } from '../../parts/card.tsx'
import { Records } from '../../parts/records.tsx'
import { AccountLink, Confirm, Name, Shown } from './parts.tsx'

const states = ['review', 'received', 'screened', 'settling', 'pending', 'unknown', 'settled']
const ALL = 'all'
const nones: Record<string, string> = {
  review: 'No payment needs your decision.',
  [ALL]: 'No payment was made yet.',
}
const ended = ['provisioned', 'rejected', 'void']

/** States in the words of docs/payments.md. */
const advice: Record<string, string> = {
  sanctioned: 'The payer is on a sanctions list. Consult a lawyer; do not refund on your own.',
  used_elsewhere: 'The nonce was spent on something else: no money arrived.',
  paid_twice:
    'Another payment has already paid this quote. Refund this one, or grant another period.',
  foreign_payer:
    'The wallet does not belong to the account. Identify the payer; then grant a tier, or refund.',
  paid_before_offer: 'Paid before the quote was made, usually for something else. Grant nothing.',
}
const TRANSFER =
  'The tokens were sent by hand. Identify the sender; then grant a tier, or send them back.'

/** Lists the payments that wait for a decision, or all if `waiting`, their number, is 0. */
export function Payments({ waiting }: { waiting: number | undefined }) {
  const [first] = useState(waiting === 0 ? ALL : 'review')
  const state = useLocation().query.get('state') ?? first
  const asked = useAdmin<PaymentList>(
    '/payments',
    { state: state === ALL ? undefined : state },
    5_000,
  )
  const choice = (
    <label class="field">
      <span>State</span>
      <select value={state} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
        {[...states, ...ended].map((name) => (
          <option key={name}>{name}</option>
        ))}
        <option value={ALL}>all, newest first</option>
      </select>
    </label>
  )
  return (
    <>
      <SalesCard />
      <Card title="Payments" tools={choice}>
        <Shown asked={asked}>
          {({ payments, transfers, offers }: PaymentList) => (
            <>
              <PaymentTable
                payments={payments}
                none={nones[state] ?? 'No payment is in this state.'}
              />
              <h2>Transfers without a payment</h2>
              <Records
                caption="Transfers without a payment"
                columns={['Transfer', 'Amount', 'From', 'Found', 'What to do', '']}
                none="None."
                rows={transfers.map((transfer) => ({
                  key: transfer.id,
                  cells: toTransferCells(transfer),
                }))}
              />
              <h2>Quotes that hold an amount</h2>
              <Records
                caption="Quotes that hold an amount of their own"
                columns={['Quote', 'Account', 'Amount', 'Tier', 'Held until', '']}
                none="None."
                rows={offers.map(({ id, amount, token, reservedUntil, ...offer }) => ({
                  key: id,
                  cells: [
                    <code>{id}</code>,
                    <AccountLink id={offer.accountId} name={offer.accountName} />,
                    `${amount} ${token}`,
                    offer.tierName,
                    showStamp(reservedUntil),
                    <Confirm
                      name="Release"
                      title="Release this amount?"
                      onConfirm={() => act('/offers/release', { id })}
                    >
                      <p>A buyer who has signed {id} must request another quote.</p>
                    </Confirm>,
                  ],
                }))}
              />
            </>
          )}
        </Shown>
      </Card>
    </>
  )
}

const periods = [
  ['day', 'Last 24 hours'],
  ['week', 'Last 7 days'],
  ['month', 'Last 30 days'],
  ['all', 'Ever'],
] as const

function SalesCard() {
  const asked = useAdmin<Sales>('/sales', undefined, 60_000)
  return (
    <Card title="Sales">
      <Shown asked={asked}>
        {(sales: Sales) => (
          <Records
            caption="Sales"
            columns={['Time', 'Payments', 'Revenue', 'Failed payments']}
            none="Nothing was sold."
            rows={periods.map(([period, name]) => ({
              key: period,
              cells: [
                name,
                showCount(sales[period].payments),
                showDollars(Number(sales[period].revenue)),
                showCount(sales[period].failed),
              ],
            }))}
          />
        )}
      </Shown>
    </Card>
  )
}

type PaymentTableProps = { payments: readonly Payment[]; none: string }

export const PaymentTable = ({ payments, none }: PaymentTableProps) => (
  <Records
    caption="Payments"
    columns={['Payment', 'State', 'Amount', 'Account', 'Payer', 'What to do', '']}
    none={none}
    rows={payments.map((payment) => ({ key: payment.id, cells: toCells(payment) }))}
  />
)

const toCells = (payment: Payment) => {
  const { id, state, amount, token, payer, reason, reasonText, createdAt, resolution } = payment
  const waits = state === 'review' && resolution === null
  return [
    <div>
      {payment.product}, {showStamp(createdAt)}
      <div class="note mono">{id}</div>
    </div>,
    <div>
      <span class={waits ? 'tag warn' : 'tag'}>{state}</span>
      {reasonText !== null && <div class="note">{reasonText}</div>}
    </div>,
    `${amount} ${token}`,
    <AccountLink id={payment.accountId} name={payment.accountName} />,
    <Where address={payer} transaction={payment.transaction} />,
    waits ? (advice[reason ?? ''] ?? 'Investigate this payment.') : (resolution ?? toNext(state)),
    waits ? <Resolve id={id} /> : '',
  ]
}

/** The outcome of a payment that needs no decision. */
const toNext = (state: string): string =>
  states.includes(state) && state !== 'review' ? 'Wait: the server looks at it again.' : 'nothing'

const toTransferCells = ({ id, amount, token, from, transaction, foundAt }: Transfer) => [
  <code>{id}</code>,
  `${amount} ${token}`,
  <Where address={from} transaction={transaction} />,
  showStamp(foundAt),
  TRANSFER,
  <Resolve id={id} />,
]

const Where = (props: { address: string; transaction: string | null }) => (
  <div>
    <code>
      <Name name={props.address} />
    </code>
    {props.transaction !== null && <div class="note mono">in {props.transaction}</div>}
  </div>
)

function Resolve({ id }: { id: string }) {
  const [note, setNote] = useState('')
  return (
    <Confirm
      name="Resolve"
      title={`Note your decision on ${id}`}
      onConfirm={() => act('/payments/resolve', { id, note: note.trim() || ' ' })}
    >
      <p>
        The note is stored in the audit log and cannot be changed. It moves no money and grants no
        tier: to grant one, make a key for the account.
      </p>
      <label class="field">
        <span>Your decision</span>
        <input
          name="note"
          maxLength={100}
          value={note}
          placeholder="refunded by hand in 0x5c…"
          onInput={(event) => setNote(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  )
}
