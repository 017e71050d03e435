/** A server with the operator's page, and requests to it from any address. */

import type { OperatorPorts } from '#src/features/admin/ports.ts'
import type { Activity } from '#src/ledger/ledger.ts'
import { createJobBoard } from '#src/operator/jobs.ts'

import { createHarness, type HarnessParts, NOW_MS } from './harness.ts'

export const TOKEN = '0123456789abcdefghijklmnopqrstuv'
const LOOPBACK = '127.0.0.1'

type From = {
  address?: string
  host?: string | null
  headers?: Record<string, string>
  method?: string
  body?: object
}
type Options = HarnessParts & {
  access?: Partial<{ token: string; trustsLoopback: boolean }>
  recorder?: OperatorPorts['recorder']
}

export const createOperatorParts = (access: Options['access'] = {}) => {
  const jobs = createJobBoard(() => NOW_MS)
  return {
    access: { token: TOKEN, trustsLoopback: true, ...access },
    startedMs: NOW_MS,
    jobs,
    recorder: (): undefined => undefined,
    silentMs: (): number | undefined => undefined,
    activity: { listUnwritten: (): Activity[] => [] },
    disk: () => ({ files: [{ name: 'history.db', bytes: 1_000_000 }], freeBytes: 5e9 }),
  }
}

/** The status of a recorder of four markets, one of which is currently not received. */
export const recording: OperatorPorts['recorder'] = () => ({
  startedMs: NOW_MS - 3_600_000,
  writtenMs: NOW_MS - 900,
  driftMs: 12,
  faults: 0,
  messages: 1_234_567,
  perSecond: { messages: 812, rows: 640 },
  sink: { rows: 1_000_000, waiting: 4, dropped: 0, lagMs: 61 },
  connections: [
    {
      lane: 0,
      state: 'live',
      tokens: 8,
      withoutBook: 0,
      sinceMs: NOW_MS - 60_000,
      lastMessageMs: NOW_MS,
    },
  ],
  markets: ['btc', 'eth', 'sol', 'xrp'].map((coin, index) => ({
    slug: `${coin}-updown-5m-1767323100`,
    lastMs: NOW_MS - 100 * index,
    unknown: index === 2 ? ['up'] : [],
  })),
})

export function createOperatorServer({
  access,
  recorder = () => undefined,
  ...options
}: Options = {}) {
  const operator = { ...createOperatorParts(access), recorder }
  const harness = createHarness({ ...options, operator })
  const ask = (path: string, from?: From) => open(`/admin/api${path}`, from)
  const open = (path: string, from: From = {}): Promise<Response> => {
    const { address = LOOPBACK, host = `${LOOPBACK}:3000`, method, body } = from
    const headers = new Headers(from.headers)
    if (host !== null) headers.set('host', host)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const request = new Request(`http://${LOOPBACK}:3000${path}`, {
      headers,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // Like Bun, knows only the address of this request.
    const requestIP = (asked: Request) => (asked === request ? { address } : null)
    return Promise.resolve(harness.app.fetch(request, { requestIP }))
  }
  return { ...harness, operator, ask, open }
}
