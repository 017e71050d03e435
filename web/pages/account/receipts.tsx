import { useState } from 'preact/hooks'

import { useApi } from '../../lib/api.ts'
import type { Receipt } from '../../lib/billing.ts'
import { reasonTexts, stateTexts } from '../../lib/payment-texts.ts'
import { PaymentProgress, usePayment } from '../../parts/payment-progress.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { RecordTable } from '../../parts/record-table.tsx'

const tones = { active: 'tag up', pending: 'tag warn', failed: 'tag', review: 'tag warn' } as const

/** What was paid, and what became of each payment. */
export function Receipts() {
  const [cursor, setCursor] = useState<string>()
  const { data, problem, reload } = useApi<{ data: Receipt[]; nextCursor: string | null }>(
    '/v1/billing/payments',
    { cursor },
  )
  const next = data?.nextCursor
  const open = data?.data.filter(({ status }) => status === 'pending') ?? []
  return (
    <section class="card stack" aria-labelledby="payments-title">
      <h2 id="payments-title">Payments</h2>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {open.map(({ paymentId }) => (
        <Open key={paymentId} id={paymentId} />
      ))}
      {data?.data.length === 0 && <p class="note">None yet.</p>}
      {data !== undefined && data.data.length > 0 && <ReceiptTable receipts={data.data} />}
      {(next || cursor) && (
        <p class="row">
          {cursor && (
            <button type="button" class="button small" onClick={() => setCursor(undefined)}>
              Newest
            </button>
          )}
          {next && (
            <button type="button" class="button small" onClick={() => setCursor(next)}>
              Older
            </button>
          )}
        </p>
      )}
    </section>
  )
}

function Open({ id }: { id: string }) {
  return <PaymentProgress {...usePayment(id)} id={id} />
}

const columns = ['When', 'What', 'Amount', 'State', 'Transaction', 'Payment']

const ReceiptTable = ({ receipts }: { receipts: Receipt[] }) => (
  <RecordTable columns={columns}>
    {receipts.map((receipt) => (
      <tr key={receipt.paymentId}>
        {cellsOf(receipt).map((cell, index) => (
          <td key={columns[index]} data-name={columns[index]}>
            {cell}
          </td>
        ))}
      </tr>
    ))}
  </RecordTable>
)

const cellsOf = (receipt: Receipt) => [
  new Date(receipt.createdAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' }),
  `${receipt.tier.name}, ${receipt.tier.periodDays} days`,
  `${receipt.amountUsd} ${receipt.token}`,
  <span key="state">
    <span class={tones[receipt.status]} title={stateTexts[receipt.paymentState].text}>
      {receipt.paymentState}
    </span>{' '}
    {receipt.reason && <span class="note">{reasonTexts[receipt.reason] ?? receipt.reason}</span>}
  </span>,
  receipt.explorerUrl ? (
    <a key="transaction" href={receipt.explorerUrl} target="_blank" rel="noreferrer">
      <code>{receipt.transaction?.slice(0, 10)}…</code>
    </a>
  ) : (
    'none'
  ),
  <code key="payment">{receipt.paymentId}</code>,
]
