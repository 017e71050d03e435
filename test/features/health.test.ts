import { afterAll, describe, expect, test } from 'bun:test'

import type { SalesState } from '#src/billing/billing.ts'
import { storageError } from '#src/database/database.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import type { RecordingState } from '#src/features/health/routes.ts'
import type { Readiness } from '#src/features/health/schema.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createNodes } from '#src/server/nodes.ts'

import { createCliContext } from '../support/cli-context.ts'
import { fakeBilling } from '../support/fake-billing.ts'
import { fakeHistory } from '../support/fake-history.ts'
import { createHarness, NOW_MS } from '../support/harness.ts'

const servers = new DisposableStack()
afterAll(() => servers.dispose())

/** A node that is on a chain, with a secret in its address. */
function startNode(result: string): string {
  const fetch = async (request: Request) => {
    const { id } = (await request.json()) as { id: number }
    return Response.json({ jsonrpc: '2.0', id, result })
  }
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
  servers.defer(() => void server.stop(true))
  return `http://user:secret@${server.hostname}:${server.port}/secret`
}

describe('GET /healthz', () => {
  test('default: answers while the process lives, whatever the store does', async () => {
    const history = fakeHistory({
      listMarkets: () => {
        throw new Error('disk')
      },
    })
    const response = await createHarness({ history }).send('/healthz')
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: 'ok', version: '0.0.0-test' })
  })
})

describe('GET /readyz', () => {
  test('default: is ready when the history and the ledger can be read, and asks for no key', async () => {
    const response = await createHarness().sendAs(undefined, '/readyz')
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(await response.json()).toEqual({
      ready: true,
      checks: { history: true, ledger: true, accepting: true },
      signup: { open: true },
    })
  })

  test('behavior: says why nobody can sign up, and is ready all the same', async () => {
    let state: SignupState = { isOpen: false, reason: 'There is no sanctions list.' }
    const { send } = createHarness({ signup: () => state })
    const signupOf = async () => {
      const response = await send('/readyz')
      return [response.status, ((await response.json()) as Readiness).signup]
    }
    expect(await signupOf()).toEqual([200, { open: false, reason: 'There is no sanctions list.' }])
    state = { isOpen: true }
    expect(await signupOf()).toEqual([200, { open: true }])
  })

  test('behavior: a venue that does not answer is a warning, and so is a recorder elsewhere that cannot store', async () => {
    let state: RecordingState = { isOwn: true }
    const { send } = createHarness({ recording: () => state })
    const read = async () => (await (await send('/readyz')).json()) as Readiness
    expect(await read()).toMatchObject({ checks: { recording: true } })
    expect(await read()).not.toHaveProperty('warning')
    state = { isOwn: true, warning: "The venue's feed is down." }
    expect(await read()).toMatchObject({ ready: true, warning: "The venue's feed is down." })
    state = { isOwn: false, fault: 'The disk is nearly full.' }
    expect(await read()).toMatchObject({ ready: true, warning: 'The disk is nearly full.' })
    expect((await read()).checks).not.toHaveProperty('recording')
  })

  test('behavior: purchases that are paused are a warning with since when, and no address', async () => {
    let state: SalesState['state'] = 'failing'
    const text = 'The RPC at http://10.0.0.7:8545 cannot be reached.'
    const tokens = ['USDC on Polygon']
    const sales = () => ({
      state,
      sinceMs: NOW_MS,
      faults: [{ part: 'node', text, sinceMs: NOW_MS, tokens }] as const,
    })
    const { send } = createHarness({ billing: fakeBilling({ sales }) })
    const read = async () => (await (await send('/readyz')).json()) as Readiness
    expect(await read()).not.toHaveProperty('warning')
    state = 'paused'
    expect((await read()).warning).toBe(
      `Purchases are paused since ${new Date(NOW_MS).toISOString()}, because payments cannot be settled.`,
    )
  })

  test('behavior: a node on another chain is a warning with both chains, and without its address', async () => {
    const { context } = createCliContext({
      BOOKFEED_RPC_URL: startNode('0x1'),
    })
    const nodes = createNodes(context)
    const { send } = createHarness({ nodes })
    const read = async () => (await (await send('/readyz')).json()) as Readiness
    expect(await read()).not.toHaveProperty('warning')
    await nodes.check()
    expect(await read()).toMatchObject({
      ready: true,
      warning: 'A node of BOOKFEED_RPC_URL is on chain 1, not on 137.',
    })
  })

  test('error: is not ready while it cannot store what it hears', async () => {
    const recording = () => ({ isOwn: true, fault: 'The disk is nearly full.' })
    const response = await createHarness({ recording }).send('/readyz')
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { detail: 'Not ready: recording. The disk is nearly full.' },
    ])
  })

  test('error: a full disk is told once, whatever it stops', async () => {
    const full = 'No room is left on the disk. Free some space and try again.'
    const history = fakeHistory({
      probeWrite() {
        throw storageError(full)
      },
    })
    const detailOf = async (fault: string) => {
      const { send } = createHarness({ history, recording: () => ({ isOwn: true, fault }) })
      return ((await (await send('/readyz')).json()) as { detail: string }).detail
    }
    expect(await detailOf('The disk is nearly full: nothing is recorded.')).toBe(
      `Not ready: history, recording. ${full}`,
    )
    const refusal = `The history takes nothing that is recorded. ${full}`
    expect(await detailOf(refusal)).toBe(`Not ready: history, recording. ${refusal}`)
    expect(await detailOf('The journal cannot be written.')).toBe(
      `Not ready: history, recording. ${full} The journal cannot be written.`,
    )
  })

  test('error: is not ready while draining', async () => {
    const { app, send } = createHarness()
    app.drain()
    const response = await send('/readyz')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      code: 'unavailable',
      detail: 'Not ready: accepting.',
    })
  })

  test('error: is not ready until its jobs run', async () => {
    let isStarted = false
    const { send } = createHarness({ isStarted: () => isStarted })
    const response = await send('/readyz')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      detail: 'Not ready: accepting. The server is starting.',
    })
    isStarted = true
    expect((await send('/readyz')).status).toBe(200)
  })

  test('error: is not ready when the history fails, without its reason', async () => {
    const history = fakeHistory({
      findBatch: () => {
        throw new Error('secret disk')
      },
    })
    const response = await createHarness({ history }).send('/readyz')
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(text).toContain('Not ready: history.')
    expect(text).not.toContain('secret')
  })

  test('error: is not ready while a file cannot be written; tries once a second', async () => {
    let tries = 0
    let isFull = true
    const history = fakeHistory({
      async probeWrite() {
        tries++
        if (isFull) throw storageError('No room is left on the disk.')
      },
    })
    const { send, advance } = createHarness({ history })
    const read = async () => {
      const response = await send('/readyz')
      return [response.status, ((await response.json()) as { detail?: string }).detail, tries]
    }
    const full = 'Not ready: history. No room is left on the disk.'
    expect(await read()).toEqual([503, full, 1])
    isFull = false
    advance(999)
    expect(await read()).toEqual([503, full, 1])
    advance(1)
    expect(await read()).toEqual([200, undefined, 2])
  })

  test('error: waits for a database elsewhere, and says in the log why it refuses, each reason once', async () => {
    let reason: string | undefined = 'Another version has changed the tables.'
    const history = fakeHistory({
      async probeWrite() {
        await Bun.sleep(1)
        if (reason !== undefined) throw storageError(reason)
      },
    })
    const said: unknown[] = []
    const { send, advance } = createHarness({
      history,
      say: (line, level) => said.push([line, level]),
    })
    const read = async () => {
      advance(1000)
      const response = await send('/readyz')
      return [response.status, ((await response.json()) as { detail?: string }).detail]
    }
    const full = 'No room is left on the disk of the database.'
    for (let times = 0; times < 2; times++)
      expect(await read()).toEqual([503, `Not ready: history. ${reason}`])
    reason = full
    for (let times = 0; times < 2; times++)
      expect(await read()).toEqual([503, `Not ready: history. ${full}`])
    reason = undefined
    for (let times = 0; times < 2; times++) expect(await read()).toEqual([200, undefined])
    const fails = 'bookfeed: the history cannot be read or written:'
    expect(said).toEqual([
      [`${fails} Another version has changed the tables.`, 'warn'],
      [`${fails} ${full}`, 'warn'],
      ['bookfeed: the history can be read and written again', undefined],
    ])
  })

  test('error: is not ready when the ledger fails, without its reason', async () => {
    const ledger = openLedger(':memory:', { nowMs: NOW_MS })
    const { send } = createHarness({ ledger })
    ledger.listTiers = () => {
      throw new Error('secret disk')
    }
    const response = await send('/readyz')
    const text = await response.text()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(text).toContain('Not ready: ledger.')
    expect(text).not.toContain('secret')
  })
})
