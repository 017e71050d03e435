import type { Asked, Overview } from '../../lib/admin.ts'
import { showBytes, showCount, showDuration, showSome, showStamp } from '../../lib/format.ts'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Records } from '../../parts/records.tsx'
import { ActivityPart } from './activity.tsx'
import { Findings } from './findings.tsx'
import { Shown } from './parts.tsx'

const age = (now: string, ms: number | undefined): string =>
  ms === undefined
    ? 'none yet'
    : `${showCount(Math.round(Math.max(0, Date.parse(now) - ms) / 1000))} s ago`

type PartProps = { asked: Asked<Overview>; isStale: boolean }

export const OverviewPart = ({ asked: { data, problem }, isStale }: PartProps) => (
  // The data that is shown says since when it is stale.
  <Shown asked={{ data, problem: data === undefined ? problem : undefined }}>
    {(overview) => (
      <div class={isStale ? 'page is-stale' : 'page'}>
        <Findings findings={overview.findings} staleSince={isStale ? overview.now : undefined} />
        <ActivityPart />
        <div class="admin-grid">
          <Recording overview={overview} />
          <Storage overview={overview} />
          <People overview={overview} />
          <Sales overview={overview} />
        </div>
        <Feeds overview={overview} />
      </div>
    )}
  </Shown>
)

type Props = { overview: Overview }

const inMs = (ms: number | null): string => (ms === null ? 'none yet' : showDuration(ms))

function Recording({ overview: { recorder, now } }: Props) {
  if (recorder === null) {
    return (
      <Card title="Recorder" look="">
        <p class="note">No recorder runs on this data folder (BOOKFEED_RECORD, bookfeed record).</p>
      </Card>
    )
  }
  const { sink, perSecond, markets, driftMs, faults } = recorder
  const gaps = markets.reduce((sum, { unknown }) => sum + unknown.length, 0)
  return (
    <Card title="Recorder" look="">
      <Facts
        rows={[
          ['Messages', `${showCount(perSecond.messages)} a second`],
          ['States stored', `${showCount(perSecond.rows)} a second`],
          ['Lag to the disk', inMs(sink.lagMs)],
          ['Open gaps', `${showCount(gaps)} of ${showSome(markets.length * 2, 'book')}`],
          ['Waiting, dropped', `${showCount(sink.waiting)}, ${showCount(sink.dropped)}`],
          ['Unreadable', showCount(faults)],
          [
            "Venue's clock",
            driftMs === null ? 'unknown until the first message' : `${inMs(driftMs)} behind`,
          ],
          ['Last report', age(now, recorder.writtenMs)],
        ]}
      />
    </Card>
  )
}

const Storage = ({ overview: { disk, held } }: Props) => (
  <Card title="Disk" look="">
    <Facts
      rows={[
        ['Free', disk.freeBytes === null ? null : showBytes(disk.freeBytes)],
        ...disk.files.map(({ name, bytes }) => [name, showBytes(bytes)] as const),
        ['Markets', held === null ? 'damaged: run verify' : showCount(held.markets)],
        ['States', held === null ? null : showCount(held.snapshots)],
      ]}
    />
  </Card>
)

const signupText = ({ isOpen, reason }: Overview['signup']): string => {
  if (!isOpen) return 'closed'
  return reason === null ? 'open' : 'refused: addresses cannot be screened'
}

const People = ({ overview: { accounts, signup, sanctions, version, startedAt } }: Props) => (
  <Card title="Accounts" look="">
    <Facts
      rows={[
        ['Accounts', showCount(accounts.all)],
        ['New in a day', showCount(accounts.lastDay)],
        ['New in a week', showCount(accounts.lastWeek)],
        ['Signup', signupText(signup)],
        [
          'Sanctions list',
          sanctions === null
            ? 'none'
            : `${sanctions.publishedOn}${sanctions.isStale ? ', stale' : ''}`,
        ],
        ['Server', `${version}, since ${showStamp(startedAt)}`],
      ]}
    />
  </Card>
)

const Sales = ({ overview: { chains, review } }: Props) => (
  <Card title="Payments" look="">
    <Facts
      rows={[
        ['In review', showCount(review.payments)],
        ['Unmatched transfers', showCount(review.transfers)],
        ['In flight', showCount(review.inFlight)],
        ...chains.flatMap(({ name, tokens }) =>
          tokens.map(
            ({ symbol, reason }) =>
              [`${symbol} on ${name}`, reason === null ? 'accepted' : 'not accepted'] as const,
          ),
        ),
      ]}
    />
  </Card>
)

function Feeds({ overview: { recorder, now } }: Props) {
  if (recorder === null) return null
  return (
    <Card title="Feeds and markets" look="">
      <Records
        caption="Connections to the venue"
        columns={['Connection', 'Books', 'Last message']}
        none="No connection is open."
        rows={recorder.connections.map(({ lane, state, tokens, withoutBook, ...rest }) => ({
          key: `${lane} ${state} ${rest.sinceMs}`,
          cells: [
            `${lane + 1}, ${state}`,
            `${showCount(tokens - withoutBook)} of ${showCount(tokens)}`,
            age(now, rest.lastMessageMs),
          ],
        }))}
      />
      <Records
        caption="Markets recorded now"
        columns={['Market', 'Last state', 'Gap open']}
        none={
          recorder.warning === undefined
            ? 'No market is recorded: the catalogue lists none of the configured coins and timeframes.'
            : 'No market is recorded yet.'
        }
        rows={recorder.markets.map(({ slug, lastMs, unknown }) => ({
          key: slug,
          cells: [slug, age(now, lastMs), unknown.join(', ') || 'no'],
        }))}
      />
    </Card>
  )
}
