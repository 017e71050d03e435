/** A server with the operator's page, and requests to it from wherever a test says. */
import type { AppDeps } from '#src/app.ts'
import { createJobBoard } from '#src/operator/jobs.ts'

import { createHarness, NOW_MS } from './harness.ts'

export const TOKEN = '0123456789abcdefghijklmnopqrstuv'
const LOOPBACK = '127.0.0.1'

type From = {
  address?: string
  host?: string | null
  headers?: Record<string, string>
  method?: string
  body?: object
}
type Options = Partial<AppDeps> & { access?: Partial<{ token: string; trustsLoopback: boolean }> }

export const createOperatorParts = (access: Options['access'] = {}) => {
  const jobs = createJobBoard(() => NOW_MS)
  return {
    access: { token: TOKEN, trustsLoopback: true, ...access },
    startedMs: NOW_MS,
    jobs,
    recorder: () => undefined,
    disk: () => ({ files: [{ name: 'history.db', bytes: 1_000_000 }], freeBytes: 5e9 }),
  }
}

export function createOperatorServer({ access, ...options }: Options = {}) {
  const operator = createOperatorParts(access)
  const harness = createHarness({ ...options, operator })
  const ask = (path: string, from: From = {}): Promise<Response> => {
    const { address = LOOPBACK, host = `${LOOPBACK}:3000`, method, body } = from
    const headers = new Headers(from.headers)
    if (host !== null) headers.set('host', host)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const request = new Request(`http://${LOOPBACK}:3000/admin/api${path}`, {
      headers,
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return Promise.resolve(harness.app.fetch(request, { requestIP: () => ({ address }) }))
  }
  return { ...harness, operator, ask }
}
