/** Searches accounts, keys and payments for a text. */
import { type Payment, useAdmin } from '../../lib/admin.ts'
import { Card } from '../../parts/card.tsx'
import { type AccountPage, AccountTable } from './accounts.tsx'
import { Shown } from './parts.tsx'
import { PaymentTable } from './payments.tsx'

export function Search({ text }: { text: string }) {
  const accounts = useAdmin<AccountPage>('/accounts', { search: text })
  const payments = useAdmin<{ payments: Payment[] }>('/payments', { search: text })
  return (
    <>
      <Card title={`Accounts and keys with “${text}”`}>
        <Shown asked={accounts}>
          {({ data, next }: AccountPage) => (
            <>
              <AccountTable accounts={data} />
              {next !== null && <p class="note">There are more: search for a longer text.</p>}
            </>
          )}
        </Shown>
      </Card>
      <Card title={`Payments with “${text}”`}>
        <Shown asked={payments}>
          {({ payments: found }: { payments: Payment[] }) => (
            <PaymentTable payments={found} none="No payment matches." />
          )}
        </Shown>
      </Card>
    </>
  )
}
