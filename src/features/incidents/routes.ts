import { Elysia } from 'elysia'

import { parameterError } from '#src/domain/errors.ts'
import { DAY_MS, readRange, toIso } from '#src/domain/time.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { preferredType } from '#src/http/negotiation.ts'
import { TABLE_VARY } from '#src/http/table.ts'
import { dataTask, type TaskPorts, type Tasks } from '#src/http/tasks.ts'
import { count } from '#src/platform/count.ts'

import { type Incident, isGoingOn, listIncidents } from './outages.ts'
import { DAYS_DEFAULT, DAYS_MAX, type IncidentBody, IncidentList, IncidentQuery } from './schema.ts'

const types = { json: 'application/json', atom: 'application/atom+xml' } as const

type Given = { query: IncidentQuery; format: keyof typeof types }

export const incidentsTask = dataTask('incidents', readIncidents)

export const incidentRoutes = (api: Api, tasks: Tasks) =>
  new Elysia({ name: 'incidents' }).use(api).get(
    '/v1/incidents',
    ({ reply, request, query }) => {
      const format = query.format ?? preferredType(request, types, 'json')
      return reply(request, tasks.data(request, incidentsTask, { query, format }, 'long'))
    },
    {
      openTo: 'open',
      query: IncidentQuery,
      caching: 'digest',
      fails: ['damaged'],
      response: { 200: IncidentList },
      answers: {
        description: 'Incidents, as JSON or as an Atom feed.',
        content: { [types.atom]: { schema: { type: 'string' } } },
        headers: { Vary: `\`${TABLE_VARY}\`.` },
      },
      detail: {
        operationId: 'listIncidents',
        summary: 'List outages of recorder and venue',
        description:
          'When nothing was recorded, why, and which markets were affected; also as an Atom feed, with `format=atom`. Derived from gaps of recorded markets: a gap of a single market is in its coverage only. Outages of less than five seconds are left out. Needs no key.',
        tags: ['markets'],
      },
    },
  )

/** Throws `invalid_parameter`. */
function readIncidents({ history, clock }: TaskPorts, { query, format }: Given): DataAnswer {
  const nowMs = clock()
  const incidents = listIncidents(history, rangeOf(query, nowMs), nowMs).map(describeIncident)
  if (format === 'atom') return { body: toFeed(incidents), mediaType: types.atom, vary: TABLE_VARY }
  return { body: JSON.stringify({ data: incidents, nextCursor: null }), vary: TABLE_VARY }
}

/** Throws `invalid_parameter`. */
function rangeOf(query: IncidentQuery, nowMs: number) {
  const range = readRange(query)
  const spanMs = DAYS_DEFAULT * DAY_MS
  const toMs = range.toMs ?? (range.fromMs === undefined ? nowMs + 1 : range.fromMs + spanMs)
  const fromMs = range.fromMs ?? Math.max(0, toMs - spanMs)
  if (toMs - fromMs <= DAYS_MAX * DAY_MS) return { fromMs, toMs }
  throw parameterError(
    'to',
    `\`from\` and \`to\` are more than ${DAYS_MAX} days apart. Request at most ${DAYS_MAX} days at once.`,
  )
}

function describeIncident(incident: Incident): IncidentBody {
  const { cause, fromMs, toMs, affected } = incident
  const isOver = !isGoingOn(incident)
  return {
    id: `${cause}-${fromMs}`,
    source: cause === 'recorder_down' ? 'recorder' : 'venue',
    cause,
    from: toIso(fromMs),
    to: isOver ? toIso(toMs) : null,
    durationMs: isOver ? toMs - fromMs : null,
    markets: affected.reduce((sum, { markets }) => sum + markets, 0),
    affected: affected.map(({ coin, timeframe, markets, firstWindowMs, lastWindowMs }) => ({
      symbol: coin,
      timeframe,
      markets,
      firstWindow: toIso(firstWindowMs),
      lastWindow: toIso(lastWindowMs),
    })),
  }
}

const titles: Readonly<Record<IncidentBody['cause'], string>> = {
  recorder_down: 'The recorder was down',
  venue_restart: 'The venue restarted',
  venue_silent: 'The venue was silent',
}

/**
 * An Atom feed (RFC 4287), whose entries must have a content or a link. All of its text is ours, so
 * nothing needs to be escaped.
 */
function toFeed(incidents: readonly IncidentBody[]): string {
  const changes = incidents.map(({ from, to }) => to ?? from)
  const updated = changes.toSorted().at(-1) ?? toIso(0)
  const entries = incidents.map(
    ({ id, cause, from, to, markets, affected }) => `<entry>
<id>urn:bookfeed:incident:${id}</id>
<title>${titles[cause]}</title>
<published>${from}</published>
<updated>${to ?? from}</updated>
<category term="${cause}"/>
<content>From ${from} ${to === null ? 'on' : `to ${to}`}: ${count(markets, 'market')} (${affected.map(({ symbol, timeframe }) => `${symbol} ${timeframe}`).join(', ')}).</content>
</entry>
`,
  )
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>urn:bookfeed:incidents</id>
<title>Incidents of a Bookfeed server</title>
<author><name>Bookfeed</name></author>
<link rel="self" type="${types.atom}" href="/v1/incidents?format=atom"/>
<updated>${updated}</updated>
${entries.join('')}</feed>
`
}
