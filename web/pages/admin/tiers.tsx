import { useRef, useState } from 'preact/hooks'

import { act, isProblem, type Tier, type TierPlan, useAdmin } from '../../lib/admin.ts'
import type { Problem } from '../../lib/api.ts'
import { facts } from '../../lib/facts.ts'
import { showCount, showSome } from '../../lib/format.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Records } from '../../parts/records.tsx'
import { Confirm, Field, Shown, textsOf } from './parts.tsx'

type Tiers = { data: Tier[]; accounts: number }
const NEW = 'new'
const coins = Object.keys(facts.coins ?? {})
const routes = ['markets', 'prices', 'snapshots', 'quotes']

export function Tiers() {
  const asked = useAdmin<Tiers>('/tiers')
  const [chosen, choose] = useState<string>()
  return (
    <Shown asked={asked}>
      {({ data }: Tiers) => (
        <>
          <Card title="Tiers">
            <Records
              caption="Tiers, lowest first"
              columns={['Tier', 'Price', 'Requests a minute', 'Coins', 'Bought', 'Granted', '']}
              none="No tiers."
              rows={data.map((tier) => ({ key: tier.id, cells: toCells(tier, choose) }))}
            />
            <div>
              <Button text="New tier" look="small" onClick={() => choose(NEW)} />
            </div>
          </Card>
          {chosen !== undefined && (
            <Editor
              key={chosen}
              tier={data.find(({ id }) => id === chosen)}
              onClose={() => choose(undefined)}
            />
          )}
        </>
      )}
    </Shown>
  )
}

const toCells = (tier: Tier, choose: (id: string) => void) => [
  <div>
    {tier.name} <code>{tier.id}</code>
  </div>,
  tier.priceUsdc === null
    ? tier.contact
    : `${tier.priceUsdc} USDC${tier.isForSale ? '' : ', not for sale'}`,
  showCount(tier.requestsPerMinute),
  tier.coins.join(', '),
  showCount(tier.bought),
  showCount(tier.granted),
  <Button look="small" onClick={() => choose(tier.id)}>
    Edit<span class="sr"> {tier.name}</span>
  </Button>,
]

const formOf = (tier: Tier | undefined): Record<string, string> => ({
  name: tier?.name ?? '',
  coins: tier?.coins.join(',') ?? '',
  routes: tier?.routes.join(',') ?? '',
  requestsPerMinute: String(tier?.requestsPerMinute ?? ''),
  price: tier?.priceUsdc ?? '',
  periodDays: String(tier?.periodDays ?? ''),
  contact: tier?.contact ?? '',
  rank: String(tier?.rank ?? ''),
  forSale: tier?.isForSale ? 'yes' : 'no',
})
const takenAway = ['price', 'periodDays', 'contact']

/** The changed fields of a tier; an emptied field is removed if it is optional. */
function changesIn(form: HTMLFormElement, before: Record<string, string>) {
  const data = new FormData(form)
  const now: Record<string, string> = {
    ...textsOf(form),
    forSale: data.has('forSale') ? 'yes' : 'no',
  }
  now.coins = data.getAll('coins').join(',')
  now.routes = data.getAll('routes').join(',')
  const { id: _, ...values } = now
  const changes = Object.entries(values).filter(
    ([name, text]) => text !== '' && text !== before[name],
  )
  const emptied = takenAway.filter((name) => before[name] !== '' && (now[name] ?? '') === '')
  return Object.fromEntries([...changes, ...emptied.map((name) => [name, 'none'])])
}

function Editor({ tier, onClose }: { tier: Tier | undefined; onClose: () => void }) {
  const form = useRef<HTMLFormElement>(null)
  const [plan, setPlan] = useState<{ body: object; plan: TierPlan }>()
  const [problem, setProblem] = useState<Problem>()
  const before = formOf(tier)
  const preview = async (event: SubmitEvent) => {
    event.preventDefault()
    if (form.current === null) return
    const id = tier?.id ?? textsOf(form.current).id ?? ''
    const body = { id, ...changesIn(form.current, before) }
    const answer = await act<TierPlan>('/tiers', { ...body, mode: 'preview' })
    setProblem(isProblem(answer) ? answer : undefined)
    setPlan(isProblem(answer) ? undefined : { body, plan: answer })
  }
  const apply = async () => {
    const answer = await act<TierPlan>('/tiers', { ...plan?.body, mode: 'apply' })
    if (!isProblem(answer)) onClose()
    return answer
  }
  return (
    <Card title={`${tier === undefined ? 'New tier' : `Edit ${tier.name}`}`}>
      <form ref={form} onSubmit={preview} onInput={() => setPlan(undefined)}>
        {tier === undefined && <Field label="Id" name="id" hint="team" />}
        <Field label="Name" name="name" value={before.name ?? ''} />
        <Field label="Price, USDC" name="price" value={before.price ?? ''} hint="none" />
        <Field label="Period, days" name="periodDays" value={before.periodDays ?? ''} hint="none" />
        <Field
          label="Requests a minute"
          name="requestsPerMinute"
          value={before.requestsPerMinute ?? ''}
        />
        <Field label="Rank" name="rank" value={before.rank ?? ''} hint="above all" />
        <Field label="Contact" name="contact" value={before.contact ?? ''} hint="none" isBroad />
        <Picks name="coins" all={coins} chosen={tier?.coins ?? []} />
        <Picks name="routes" all={routes} chosen={tier?.routes ?? []} />
        <label class="check">
          <input type="checkbox" name="forSale" defaultChecked={tier?.isForSale ?? false} /> For
          sale
        </label>
        <Button text="Check" type="submit" look="primary" />
        <Button text="Close" onClick={onClose} />
      </form>
      {problem && <ProblemCard problem={problem} />}
      {plan && <Plan {...plan.plan} apply={apply} />}
    </Card>
  )
}

const Picks = (props: { name: string; all: readonly string[]; chosen: readonly string[] }) => (
  <fieldset class="admin-pick">
    <legend>{props.name === 'coins' ? 'Coins' : 'Routes'}</legend>
    {props.all.map((value) => (
      <label key={value} class="check">
        <input
          type="checkbox"
          name={props.name}
          value={value}
          defaultChecked={props.chosen.includes(value)}
        />{' '}
        {value}
      </label>
    ))}
  </fieldset>
)

/** Shows whom a change affects before it is made. */
function Plan({
  differences,
  bought,
  followers,
  apply,
}: TierPlan & { apply: () => Promise<object> }) {
  if (differences.length === 0) return <p class="note">No changes.</p>
  const list = (
    <ul>
      {differences.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
  return (
    <div class="stack" role="status">
      {list}
      <div>
        <Confirm name="Apply" title="Change the catalogue?" onConfirm={apply}>
          {list}
          <p>
            The change applies within a second to new purchases, and to accounts that follow the
            catalogue (<strong>{showSome(followers, 'account')}</strong>). Accounts that bought this
            tier (<strong>{showSome(bought, 'account')}</strong>) keep their terms.
          </p>
        </Confirm>
      </div>
    </div>
  )
}
