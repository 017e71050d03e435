import { useState } from 'preact/hooks'

import { act, type Payment, type PaymentList, type Transfer, useAdmin } from '../../lib/admin.ts'
import { showStamp } from '../../lib/format.ts'
import { Card } from '../../parts/card.tsx'
import { Records } from '../../parts/records.tsx'
import { Confirm, Shown } from './parts.tsx'

const states = ['review', 'received', 'screened', 'settling', 'pending', 'unknown', 'settled']
const ended = ['provisioned', 'rejected', 'void']

/** As docs/payments.md has it. */
const advice: Record<string, string> = {
  sanctioned: 'The payer is on a list. A matter for your lawyer; do not refund on your own.',
  used_elsewhere: 'The nonce was spent on something else: nothing arrived.',
  paid_twice: 'Another payment had paid this quote. Refund it, or grant another period.',
  foreign_payer: 'Paid by a wallet that is not the account’s. Find out who; grant or send back.',
  paid_before_offer: 'Paid before the quote was made, usually for something else. Grant nothing.',
}
const TRANSFER = 'Somebody sent tokens by hand. Find out who; grant a tier, or send them back.'

export function Payments() {
  const [state, setState] = useState('review')
  const asked = useAdmin<PaymentList>(
    '/payments',
    { state: state === '' ? undefined : state },
    5_000,
  )
  const choice = (
    <label class="field">
      <span>State</span>
      <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
        {[...states, ...ended].map((name) => (
          <option key={name}>{name}</option>
        ))}
        <option value="">all, newest first</option>
      </select>
    </label>
  )
  return (
    <Card title="Payments" tools={choice}>
      <Shown asked={asked}>
        {({ payments, transfers, offers }: PaymentList) => (
          <>
            <Records
              caption="Payments"
              columns={['Payment', 'State', 'Amount', 'Payer', 'What to do', '']}
              none={state === 'review' ? 'Nothing waits for you.' : 'No payment is in this state.'}
              rows={payments.map((payment) => ({ key: payment.id, cells: toCells(payment) }))}
            />
            <h2>Transfers that no payment explains</h2>
            <Records
              caption="Transfers that no payment explains"
              columns={['Transfer', 'Amount', 'From', 'Found', 'What to do', '']}
              none="There is none."
              rows={transfers.map((transfer) => ({
                key: transfer.id,
                cells: toTransferCells(transfer),
              }))}
            />
            <h2>Quotes that hold an amount</h2>
            <Records
              caption="Quotes that hold an amount of their own"
              columns={['Quote', 'Account', 'Amount', 'Tier', 'Held until', '']}
              none="There is none."
              rows={offers.map(({ id, accountId, amount, token, tierId, reservedUntil }) => ({
                key: id,
                cells: [
                  <code>{id}</code>,
                  <code>{accountId}</code>,
                  `${amount} ${token}`,
                  tierId,
                  showStamp(reservedUntil),
                  <Confirm
                    name="Release"
                    title="Free this amount?"
                    onConfirm={() => act('/offers/release', { id })}
                  >
                    <p>Whoever has signed {id} has to ask for another quote.</p>
                  </Confirm>,
                ],
              }))}
            />
          </>
        )}
      </Shown>
    </Card>
  )
}

const toCells = (payment: Payment) => {
  const { id, state, accountId, amount, token, payer, reason, createdAt, resolution } = payment
  const waits = state === 'review' && resolution === null
  return [
    <div>
      <code>{id}</code>
      <div class="note">
        {accountId}, {showStamp(createdAt)}
      </div>
    </div>,
    <span class={waits ? 'tag warn' : 'tag'}>{[state, reason].filter(Boolean).join(': ')}</span>,
    `${amount} ${token}`,
    <Where address={payer} transaction={payment.transaction} />,
    waits ? (advice[reason ?? ''] ?? 'Find out what happened.') : (resolution ?? 'nothing'),
    waits ? <Resolve id={id} /> : '',
  ]
}

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
    <code>{props.address}</code>
    {props.transaction !== null && <div class="note">in {props.transaction}</div>}
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
        It is kept in the audit log and cannot be changed. It moves no money and gives no tier: to
        grant one, make a key for the account.
      </p>
      <label class="field">
        <span>What you decided</span>
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
