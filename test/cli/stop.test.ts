/** A server that is stopped while both lanes and a stream have work. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { bookfeed } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-stop-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Long requests at once: more than there are threads. */
const LONG = 6

test('default: SIGTERM lets short requests, long ones and a stream end', async () => {
  const server = Bun.spawn(bookfeed('serve'), {
    env: { BOOKFEED_DATA: folder, BOOKFEED_RECORD: 'off', BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let greeting = ''
  for await (const bytes of server.stdout) {
    greeting += new TextDecoder().decode(bytes)
    if (greeting.includes('size_download')) break
  }
  const find = (pattern: RegExp) => pattern.exec(greeting)?.[0] ?? ''
  const headers = { authorization: `Bearer ${find(/bf_live_\w+/)}` }
  const market = `${find(/http:[/\d.:]+\d/)}/v1/btc/markets/${find(/0x[0-9a-f]{64}/)}`
  const ask = (path: string) => fetch(`${market}${path}`, { headers })
  const exportPath = '/export?format=ndjson'
  const whole = await (await ask(exportPath)).text()

  const stream = await ask(exportPath)
  // A request of each connection is answered before, so the next ones are read in their order.
  await Promise.all(
    Array.from({ length: LONG + 1 }, () => ask('').then((response) => response.text())),
  )
  const long = Array.from({ length: LONG }, (_, at) =>
    ask(`/snapshots?interval=1s&limit=${900 + at}`),
  )
  const short = ask('/snapshots?limit=3')
  expect((await short).status).toBe(200)
  server.kill('SIGTERM')

  for (const response of await Promise.all(long)) {
    expect(response.status).toBe(200)
    expect(await response.json()).toHaveProperty('data')
  }
  expect(await stream.text()).toBe(whole)
  expect([await server.exited, await new Response(server.stderr).text()]).toEqual([0, ''])
}, 300_000)
