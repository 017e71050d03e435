/** Outages of the recorder and the venue. */

import { useApi } from '../../lib/api.ts'
import type { Incident, Listed } from '../../lib/bodies.ts'
import { DAY_MS } from '../../lib/days.ts'
import { showDate, showLength, showSome, showStamp } from '../../lib/format.ts'
import { describeReason } from '../../lib/gap-reasons.ts'
import { Card } from '../../parts/card.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Records } from '../../parts/records.tsx'

/** The longest range of a request. */
const DAYS = 31

/** Incidents of the days up to the one that begins at `lastMs`. */
export function Incidents({ lastMs }: { lastMs: number }) {
  const { data, problem, isLoading, reload } = useApi<Listed<Incident>>('/v1/incidents', {
    from: lastMs - (DAYS - 1) * DAY_MS,
    to: lastMs + DAY_MS,
  })
  return (
    <Card title="Incidents" tools={<a href="/v1/incidents?format=atom">Atom feed</a>}>
      <p class="note">
        Outages of the recorder or the venue, of all coins, in the {DAYS} days up to{' '}
        {showDate(lastMs)}.
      </p>
      {problem && <ProblemCard problem={problem} onRetry={reload} />}
      {isLoading && <p class="note">Reading the incidents …</p>}
      {!isLoading && data && (
        <Records
          caption="Incidents"
          columns={['Began', 'Ended', 'Length', 'Cause', 'Markets']}
          none="No outage."
          rows={data.data.map(({ id, from, to, durationMs, cause, markets, affected }) => ({
            key: id,
            cells: [
              <span class="num">{showStamp(from)}</span>,
              <span class="num">{showStamp(to, 'not yet')}</span>,
              durationMs === null ? undefined : <span class="num">{showLength(durationMs)}</span>,
              describeReason(cause),
              `${showSome(markets, 'market')}: ${affected.map(({ symbol, timeframe }) => `${symbol.toUpperCase()} ${timeframe}`).join(', ')}`,
            ],
          }))}
        />
      )}
    </Card>
  )
}
