import type { Asked, Overview } from '../../lib/admin.ts'
import { Facts, showBytes, Shown, showNumber, showWhen, Table } from './parts.tsx'

const age = (now: string, ms: number | undefined): string =>
  ms === undefined ? 'none yet' : `${showNumber(Math.max(0, Date.parse(now) - ms) / 1000)} s ago`

export const OverviewPart = ({ asked }: { asked: Asked<Overview> }) => (
  <Shown asked={asked}>
    {(overview) => (
      <>
        <div class="admin-grid">
          <Recording overview={overview} />
          <Storage overview={overview} />
          <People overview={overview} />
          <Sales overview={overview} />
        </div>
        <Feeds overview={overview} />
      </>
    )}
  </Shown>
)

type Props = { overview: Overview }

function Recording({ overview: { recorder, now } }: Props) {
  if (recorder === null) {
    return (
      <section class="card">
        <h2>Recorder</h2>
        <p class="note">None runs on this data folder (BOOKFEED_RECORD, bookfeed record).</p>
      </section>
    )
  }
  const { sink, perSecond, markets, driftMs, faults, fault, warning } = recorder
  const gaps = markets.reduce((sum, { unknown }) => sum + unknown.length, 0)
  return (
    <section class="card">
      <h2>Recorder</h2>
      {[fault, warning].map(
        (text) =>
          text && (
            <p key={text} class="fault" role="alert">
              {text}
            </p>
          ),
      )}
      <Facts
        rows={[
          ['Messages', `${showNumber(perSecond.messages)} a second`],
          ['States stored', `${showNumber(perSecond.rows)} a second`],
          ['Lag to the disk', `${showNumber(sink.lagMs)} ms`],
          ['Open gaps', `${gaps} of ${markets.length * 2} books`],
          ['Waiting, dropped', `${showNumber(sink.waiting)}, ${showNumber(sink.dropped)}`],
          ['Not understood', showNumber(faults)],
          ["Venue's clock", `${showNumber(driftMs)} ms behind`],
          ['Said', age(now, recorder.writtenMs)],
        ]}
      />
    </section>
  )
}

const Storage = ({ overview: { disk, held } }: Props) => (
  <section class="card">
    <h2>Disk</h2>
    <Facts
      rows={[
        ['Free', disk.freeBytes === null ? null : showBytes(disk.freeBytes)],
        ...disk.files.map(({ name, bytes }) => [name, showBytes(bytes)] as const),
        ['Markets', held === null ? 'damaged: run verify' : showNumber(held.markets)],
        ['States', held === null ? null : showNumber(held.snapshots)],
      ]}
    />
  </section>
)

const People = ({ overview: { accounts, signup, sanctions, version, startedAt } }: Props) => (
  <section class="card">
    <h2>Accounts</h2>
    <Facts
      rows={[
        ['Accounts', showNumber(accounts.all)],
        ['New in a day', showNumber(accounts.lastDay)],
        ['New in a week', showNumber(accounts.lastWeek)],
        ['Signup', signup.isOpen ? 'open' : 'closed'],
        [
          'Sanctions list',
          sanctions === null
            ? 'none'
            : `${sanctions.publishedOn}${sanctions.isStale ? ', stale' : ''}`,
        ],
        ['Server', `${version}, since ${showWhen(startedAt)}`],
      ]}
    />
    {signup.reason !== null && <p class="note">{signup.reason}</p>}
  </section>
)

const Sales = ({ overview: { chains, review } }: Props) => (
  <section class="card">
    <h2>Payments</h2>
    <Facts
      rows={[
        ['In review', review.payments],
        ['Unexplained transfers', review.transfers],
        ['On their way', review.inFlight],
        ...chains.flatMap(({ name, tokens }) =>
          tokens.map(
            ({ symbol, reason }) =>
              [`${symbol} on ${name}`, reason === null ? 'accepted' : 'not accepted'] as const,
          ),
        ),
      ]}
    />
    {[...new Set(chains.flatMap(({ tokens }) => tokens.flatMap(({ reason }) => reason ?? [])))].map(
      (reason) => (
        <p key={reason} class="note">
          {reason}
        </p>
      ),
    )}
  </section>
)

function Feeds({ overview: { recorder, now } }: Props) {
  if (recorder === null) return null
  return (
    <section class="card">
      <h2>Feeds and markets</h2>
      <Table
        caption="Connections to the venue"
        columns={['Connection', 'Books', 'Last message']}
        none="No connection is open."
        rows={recorder.connections.map(({ lane, state, tokens, withoutBook, ...rest }) => ({
          key: `${lane} ${state} ${rest.sinceMs}`,
          cells: [
            `${lane + 1}, ${state}`,
            `${tokens - withoutBook} of ${tokens}`,
            age(now, rest.lastMessageMs),
          ],
        }))}
      />
      <Table
        caption="Markets recorded now"
        columns={['Market', 'Last state', 'Gap open']}
        none="No market is recorded: the catalogue lists none that is asked for."
        rows={recorder.markets.map(({ slug, lastMs, unknown }) => ({
          key: slug,
          cells: [slug, age(now, lastMs), unknown.join(', ') || 'no'],
        }))}
      />
    </section>
  )
}
