/**
 * A server whose disk takes nothing: a limit on the size of files
 * stands in for it, and can be lifted.
 */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { addKey, NOW_MS } from '../support/harness.ts'

const program = new URL('../../src/main.ts', import.meta.url).pathname
const prlimit = Bun.which('prlimit')

/** A server in a process of its own, with a key. */
async function startServer(folder: string) {
  const ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
  const key = addKey(ledger, 'pro')
  ledger.dispose()
  const env = {
    BOOKFEED_DATA: folder,
    BOOKFEED_PORT: '0',
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
  }
  const child = Bun.spawn([process.execPath, program, 'serve'], {
    env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const reader = child.stdout.getReader()
  let greeting = ''
  while (!/listens on (\S+)\n/.test(greeting)) {
    greeting += new TextDecoder().decode((await reader.read()).value)
  }
  const origin = /listens on (\S+)/.exec(greeting)?.[1] ?? ''
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${origin}${path}`, { ...init, headers: { authorization: `Bearer ${key}` } })
  /** Takes `size` bytes of a file at most from now on. */
  const limitFiles = (size: string) =>
    Bun.spawnSync([prlimit ?? '', `--pid=${child.pid}`, `--fsize=${size}:unlimited`])
  const stop = async () => {
    child.kill()
    await child.exited
    return new Response(child.stderr).text()
  }
  return { send, limitFiles, stop }
}

describe.skipIf(prlimit === null)('a server whose disk is full', () => {
  test('behavior: refuses what must be written with 503, says so in /readyz, and serves the rest', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-full-'))
    const { send, limitFiles, stop } = await startServer(folder)
    try {
      const { data } = (await (await send('/v1/keys')).json()) as { data: { id: string }[] }
      const rotate = () => send(`/v1/keys/${data[0]?.id}/rotate`, { method: 'POST' })
      const readyIs = async (status: number) => {
        while ((await send('/readyz')).status !== status) await Bun.sleep(100)
      }
      await readyIs(200)

      limitFiles('1')
      const refused = await rotate()
      const problem = (await refused.json()) as { code: string }
      expect([refused.status, problem.code]).toEqual([503, 'storage_unavailable'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      await readyIs(503)
      // Each store is looked at by itself, so one may be known before the other.
      let detail = ''
      while (!detail.includes('ledger'))
        ({ detail } = (await (await send('/readyz')).json()) as { detail: string })
      expect(detail).toMatch(/^Not ready: history, ledger\. (The disk|No room)/)
      expect((await send('/v1/btc/markets')).status).toBe(200)

      limitFiles('unlimited')
      await readyIs(200)
      expect((await rotate()).status).toBe(201)
      expect(((await (await send('/v1/keys')).json()) as { data: unknown[] }).data).toHaveLength(2)
    } finally {
      expect(await stop()).not.toMatch(/^\s+at /m)
      rmSync(folder, { recursive: true })
    }
  }, 300_000)
})
