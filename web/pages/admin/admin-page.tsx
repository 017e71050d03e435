/** The operator's page: the commands of the command line. */

import { useState } from 'preact/hooks'

import { type Overview, useAdmin } from '../../lib/admin.ts'
import { lostStore } from '../../lib/connection.ts'
import { facts } from '../../lib/facts.ts'
import { tokenStore } from '../../lib/key.ts'
import { navigate, useLocation } from '../../lib/location.ts'
import { useStore } from '../../lib/store.ts'
import { useTitle } from '../../lib/title.ts'
import { Button } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { Links } from '../../parts/links.tsx'
import { Accounts } from './accounts.tsx'
import { Audit, Backups, Jobs } from './jobs.tsx'
import { OverviewPart } from './overview.tsx'
import { textsOf, withoutKey } from './parts.tsx'
import { Payments } from './payments.tsx'
import { Search } from './search.tsx'
import { Tiers } from './tiers.tsx'
import './admin.css'

const EVERY_MS = 3_000
const tabs = [
  ['overview', 'Overview'],
  ['accounts', 'Accounts & keys'],
  ['tiers', 'Tiers'],
  ['payments', 'Payments'],
  ['jobs', 'Jobs'],
  ['audit', 'Audit log'],
  ['backups', 'Backups'],
] as const

export function AdminPage() {
  const token = useStore(tokenStore)
  // A request that would be refused is not sent.
  if (facts.operator === 'off' || (facts.operator === 'token' && token === undefined)) {
    return (
      <div class="page admin">
        <h1>Admin</h1>
        <Gate isOff={facts.operator === 'off'} />
      </div>
    )
  }
  return <Parts />
}

function Parts() {
  const overview = useAdmin<Overview>('/overview', undefined, EVERY_MS)
  const { query } = useLocation()
  const chosen = query.get('tab') ?? 'overview'
  const searched = query.get('search') ?? ''
  const tabName = tabs.find(([name]) => name === chosen)?.[1] ?? `“${searched}”`
  useTitle(`Admin: ${tabName}`)
  const { data, problem } = overview
  const isLost = useStore(lostStore) !== undefined
  const isStale = isLost || problem !== undefined
  const isRefused = problem !== undefined && [403, 404, 429].includes(problem.status)
  const waiting = data === undefined ? 0 : data.review.payments + data.review.transfers
  const toLink = ([name, text]: (typeof tabs)[number]) =>
    [
      `/admin?tab=${name}`,
      <>
        {text}
        {name === 'payments' && waiting > 0 && <span class="tag warn">{waiting}</span>}
      </>,
    ] as const
  return (
    <div class="page admin">
      <div class="row spread">
        <h1>Admin</h1>
        {!isRefused && data && <State overview={data} isLost={isLost} isStale={isStale} />}
      </div>
      {isRefused ? (
        <Gate detail={problem.detail} isOff={problem.status === 404} />
      ) : (
        <>
          <form class="admin-search" role="search" onSubmit={search}>
            <label class="field broad">
              <span>Search accounts, keys and payments</span>
              <input
                key={searched}
                name="find"
                type="search"
                defaultValue={searched}
                placeholder="name, wallet, id, tier, end of a key, transaction"
                autocomplete="off"
              />
            </label>
            <Button text="Find" type="submit" />
          </form>
          <nav class="tabs admin-tabs" aria-label="Parts of this page">
            <Links links={tabs.map(toLink)} here={`/admin?tab=${chosen}`} />
          </nav>
          {chosen === 'search' && searched !== '' && <Search key={searched} text={searched} />}
          {chosen === 'overview' && <OverviewPart asked={overview} isStale={isStale} />}
          {chosen === 'accounts' && <Accounts />}
          {chosen === 'tiers' && <Tiers />}
          {chosen === 'payments' && (data ?? problem) && (
            <Payments waiting={data?.review.payments} />
          )}
          {chosen === 'jobs' && <Jobs sanctions={data?.sanctions} />}
          {chosen === 'audit' && <Audit />}
          {chosen === 'backups' && <Backups />}
        </>
      )}
    </div>
  )
}

function search(event: SubmitEvent): void {
  event.preventDefault()
  const { find } = textsOf(event.currentTarget)
  if (find !== undefined)
    navigate(`/admin?tab=search&search=${encodeURIComponent(withoutKey(find))}`)
}

type StateProps = { overview: Overview; isLost: boolean; isStale: boolean }

function State({ overview, isLost, isStale }: StateProps) {
  const { recorder, findings } = overview
  if (isLost) return <span class="tag">Offline</span>
  if (isStale) return <span class="tag down">Does not answer</span>
  const isDown = findings.some(({ about, level }) => about === 'recorder' && level === 'fault')
  if (recorder === null && isDown) return <span class="tag down">Recorder stopped</span>
  if (recorder === null) return <span class="tag">Records nothing</span>
  if (recorder.fault !== undefined) return <span class="tag down">Cannot store</span>
  if (recorder.markets.length === 0) return <span class="tag warn">Records no market yet</span>
  return <span class="tag live">Recording</span>
}

const askForToken =
  'Open this page on the machine of the server, by its loopback address, or with the token of BOOKFEED_ADMIN_TOKEN.'

/** Shown to a visitor who is not identified as the operator. */
function Gate({ detail = askForToken, isOff }: { detail?: string | undefined; isOff: boolean }) {
  const token = useStore(tokenStore)
  const [isWrong, setWrong] = useState(false)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const { token: typed = '' } = textsOf(event.currentTarget)
    // A header takes no other characters.
    setWrong(!/^[\w~=-]+$/.test(typed))
    if (/^[\w~=-]+$/.test(typed)) tokenStore.set(typed)
  }
  if (isOff) {
    return (
      <Card title="Switched off" look="">
        <p>This server has no page for its operator (BOOKFEED_ADMIN).</p>
      </Card>
    )
  }
  return (
    <Card title="For the operator">
      <p>{detail}</p>
      <form onSubmit={submit}>
        <label class="field broad">
          <span>Token of the operator</span>
          <input
            name="token"
            type="password"
            autocomplete="off"
            aria-invalid={isWrong || token !== undefined}
          />
        </label>
        <Button text="Enter" type="submit" look="primary" />
      </form>
      <p class="note">This page keeps the token in memory alone, and forgets it when you leave.</p>
    </Card>
  )
}
