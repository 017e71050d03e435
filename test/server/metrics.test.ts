/** What Prometheus reads of a server with several threads, and what is made of it in `deploy`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'
import { messageOf } from '#src/platform/message.ts'

import { familiesIn, parseExposition } from '../support/exposition.ts'
import { findFreePort } from '../support/free-port.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'

const deploy = new URL('../../deploy/', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-metrics-'))
let server: KillableServer
let key = ''
let metrics = ''

beforeAll(async () => {
  const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
  key = addKey(ledger, 'enterprise')
  ledger.dispose()
  const port = findFreePort()
  metrics = `http://127.0.0.1:${port}/metrics`
  server = await startKillableServer({
    BOOKFEED_DATA: folder,
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_WORKERS: '2',
    BOOKFEED_METRICS: String(port),
  })
}, 300_000)
afterAll(async () => {
  await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

const read = async () => parseExposition(await (await fetch(metrics)).text())
const ask = (path: string, headers = {}) =>
  fetch(server.origin + path, {
    headers: { authorization: `Bearer ${key}`, connection: 'close', ...headers },
    keepalive: false,
  })

describe('GET /metrics', () => {
  test('default: requests of all threads are added up by route and status, without their paths', async () => {
    const list = (await (await ask('/v1/btc/markets?limit=1')).json()) as {
      data: { conditionId: string }[]
    }
    const id = list.data[0]?.conditionId ?? ''
    const page = `/v1/btc/markets/${id}/snapshots?limit=1`
    for (let count = 0; count < 20; count++) expect((await ask(page)).status).toBe(200)
    expect((await ask(`/v1/btc/markets/0x${'0'.repeat(64)}`)).status).toBe(404)
    expect((await ask('/healthz')).status).toBe(200)
    expect((await ask('/secret/path')).status).toBe(404)
    const response = await fetch(metrics)
    expect(response.headers.get('content-type')).toStartWith('text/plain; version=0.0.4')
    const text = await response.text()
    expect([text.includes(id), text.includes('secret'), text.includes(key)]).toEqual([
      false,
      false,
      false,
    ])
    const { samples } = parseExposition(text)
    const counted = (route: string, status: string, method = 'GET') =>
      samples.get(
        `bookfeed_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`,
      )
    expect(counted('/v1/:coin/markets/:conditionId/snapshots', '200')).toBe(20)
    expect(counted('/v1/:coin/markets/:conditionId', '404')).toBe(1)
    expect(counted('/healthz', '200')).toBe(1)
    expect(counted('other', '404', 'ANY')).toBe(1)
    expect(samples.get('bookfeed_http_problems_total{code="unknown_market"}')).toBe(1)
    expect(samples.get('bookfeed_recorder_up')).toBe(0)
    expect(samples.get('bookfeed_payments{state="review"}')).toBe(0)
    for (const name of ['bookfeed_disk_free_bytes', 'process_heap_bytes', 'process_open_fds'])
      expect(samples.get(name)).toBeGreaterThan(0)
  }, 300_000)

  test('behavior: each thread says how late it is and what it keeps', async () => {
    const isThere = async () => {
      const { samples } = await read()
      const loops = [0, 1, 2].map((thread) =>
        samples.get(`bookfeed_event_loop_delay_seconds_count{thread="${thread}"}`),
      )
      return loops.every((count = 0) => count > 10)
    }
    while (!(await isThere())) await Bun.sleep(50)
  }, 300_000)

  test('error: a port that another server has is refused, and nothing is served', async () => {
    const port = new URL(metrics).port
    const second = startKillableServer({
      BOOKFEED_DATA: join(folder, 'second'),
      BOOKFEED_PORT: '0',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_METRICS: port,
    })
    const fault = `BOOKFEED_METRICS: cannot listen on 127.0.0.1:${port} (EADDRINUSE)`
    expect(await second.then(() => 'It serves.', messageOf)).toContain(fault)
  }, 300_000)

  test('error: there is nothing else at that port', async () => {
    expect((await fetch(metrics.replace('metrics', 'v1/coins'))).status).toBe(404)
    expect((await fetch(metrics, { method: 'POST' })).status).toBe(404)
  })
})

/** Not of a server that records nothing and has files alone: see `alerts-drill.test.ts`. */
const elsewhere = /^bookfeed_(recorder_|postgres_|bucket_up|replica_age_seconds)/

describe.each(['grafana-dashboard.json', 'prometheus-alerts.yml'])('deploy/%s', (file) => {
  test('default: it uses metrics that exist', async () => {
    const { types } = await read()
    const used = familiesIn(await Bun.file(join(deploy, file)).text())
    expect(used.length).toBeGreaterThan(8)
    expect(used.filter((name) => !types.has(name) && !elsewhere.test(name))).toEqual([])
  })
})

test('default: every alert says how bad it is and what to do', async () => {
  const text = await Bun.file(join(deploy, 'prometheus-alerts.yml')).text()
  const { groups } = Bun.YAML.parse(text) as {
    groups: { rules: { alert: string; expr: string; labels: object; annotations: object }[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  expect(rules.length).toBeGreaterThan(8)
  for (const rule of rules) {
    expect(rule).toMatchObject({
      alert: expect.any(String),
      expr: expect.any(String),
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) },
      annotations: { summary: expect.any(String), action: expect.any(String) },
    })
  }
  const dashboard = await Bun.file(join(deploy, 'grafana-dashboard.json')).json()
  expect(dashboard.panels.length).toBeGreaterThan(8)
})
