import { useState } from 'preact/hooks'

import { useApi } from '../../lib/api.ts'
import type { Receipt } from '../../lib/billing.ts'
import { facts } from '../../lib/facts.ts'
import { showSome, showStamp } from '../../lib/format.ts'
import { reasonTexts, stateTexts } from '../../lib/payment-texts.ts'
import { Card } from '../../parts/card.tsx'
import { PaymentProgress, usePayment } from '../../parts/payment-progress.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Pager, Records } from '../../parts/records.tsx'

const tones = { active: 'tag up', pending: 'tag warn', failed: 'tag', review: 'tag warn' } as const

/** Payments and their outcomes. */
export function Receipts() {
  const [cursor, setCursor] = useState<string>()
  const { data, problem, reload } = useApi<{ data: Receipt[]; nextCursor: string | null }>(
    facts.hasPayments === false ? undefined : '/v1/billing/payments',
    { cursor },
  )
  const open = data?.data.filter(({ status }) => status === 'pending') ?? []
  return (
    <Card title="Payments">
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {open.map(({ paymentId }) => (
        <Open key={paymentId} id={paymentId} />
      ))}
      {facts.isSelling === false && <p class="note">Nothing is sold on this server.</p>}
      {data && (
        <Records
          caption="Payments of this account, newest first"
          columns={['When', 'What', 'Amount', 'State', 'Transaction', 'Payment']}
          none="No payments yet."
          rows={data.data.map((receipt) => ({ key: receipt.paymentId, cells: toCells(receipt) }))}
        />
      )}
      <Pager isFirst={cursor === undefined} next={data?.nextCursor ?? null} onTurn={setCursor} />
    </Card>
  )
}

function Open({ id }: { id: string }) {
  return <PaymentProgress {...usePayment(id)} id={id} />
}

const toCells = (receipt: Receipt) => [
  showStamp(receipt.createdAt),
  receipt.tier.requests === undefined
    ? `${receipt.tier.name}, ${showSome(receipt.tier.periodDays, 'day')}`
    : receipt.tier.name,
  `${receipt.amountUsd} ${receipt.token}`,
  <span>
    <span class={tones[receipt.status]} title={stateTexts[receipt.paymentState].text}>
      {receipt.paymentState}
    </span>{' '}
    {receipt.reason && <span class="note">{reasonTexts[receipt.reason] ?? receipt.reason}</span>}
  </span>,
  receipt.explorerUrl ? (
    <a href={receipt.explorerUrl} target="_blank" rel="noreferrer">
      <code>{receipt.transaction?.slice(0, 10)}…</code>
    </a>
  ) : (
    'none'
  ),
  <code>{receipt.paymentId}</code>,
]
