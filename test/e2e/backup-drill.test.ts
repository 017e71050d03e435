/** What an operator does when the machine is gone: restore the backup, check it, go on selling. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasAnvil } from '#dev/sandbox/anvil.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'

import { type Ground, useChain } from '../support/chain-ground.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { addCustomer, type Answer } from '../support/paid-server.ts'
import { runCommand } from '../support/run-command.ts'
import { type S3Server, startS3Server } from '../support/s3-server.ts'
import { asJson } from '../support/signup-client.ts'
import { until } from '../support/until.ts'

const appender = new URL('../support/append-process.ts', import.meta.url).pathname
const PLACE = 's3://books/drill'
/** What takes longer than a second says how far it is. */
const succeeded = { exitCode: 0, errors: expect.stringMatching(/^(\w+: \d+ %, .*\n)*$/) }

let folder = ''
let s3: S3Server

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-drill-'))
  s3 = startS3Server('books')
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await s3.stop()
})

/** Appends to a history; `last` is the number of the last batch that was acknowledged. */
function startAppending(path: string) {
  const child = Bun.spawn([process.execPath, appender, path, '0', '100000'], { stdout: 'pipe' })
  const state = { last: -1 }
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) {
      const lines = decoder.decode(bytes, { stream: true }).trimEnd().split('\n')
      state.last = Number(lines.at(-1))
    }
  }
  void read()
  const stop = async () => {
    child.kill()
    await child.exited
  }
  return { state, stop }
}

describe.skipIf(!hasAnvil)('a drill', () => {
  let ground: Ground
  useChain((started) => {
    ground = started
  })

  test('default: what was backed up while all of it was in use is all there, and is paid once', async () => {
    const { chain } = ground
    const data = join(folder, 'data')
    const restored = join(folder, 'restored')
    const env = {
      ...s3.env,
      BOOKFEED_DATA: data,
      BOOKFEED_PORT: '0',
      BOOKFEED_LOG: 'off',
      BOOKFEED_RECORD: 'off',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_RPC_URL: chain.url,
      BOOKFEED_PAY_TO: chain.payee.address,
      BOOKFEED_FACILITATOR: 'local',
      BOOKFEED_GAS_KEY: chain.facilitator.key,
    }
    const server = await startKillableServer(env)
    const appending = startAppending(join(data, 'history.db'))
    const ledger = openLedger(join(data, 'ledger.db'), { nowMs: 0 })
    const customer = await addCustomer({ ledger, origin: server.origin, chain })
    const payment = await customer.sign(await customer.quote())
    const receipt = await settled(() => customer.settle(payment))
    const paid = await chain.balanceOf('USDC', chain.payee.address)
    const head = ledger.auditHead()
    ledger.dispose()
    await until(() => appending.state.last > 50)
    const acknowledged = appending.state.last

    const backup = await runCommand(env, 'backup', '--to', PLACE)
    expect(backup).toMatchObject(succeeded)
    await Promise.all([appending.stop(), server.kill()])
    rmSync(data, { recursive: true })

    const there = { ...env, BOOKFEED_DATA: restored }
    expect(await runCommand(there, 'restore', '--from', PLACE)).toMatchObject({ exitCode: 0 })
    const noted = `${head?.seq}:${head?.hash}`
    for (const command of [['verify'], ['audit', 'verify', '--head', noted]])
      expect(await runCommand(there, ...command)).toMatchObject(succeeded)
    const history = openHistory(join(restored, 'history.db'))
    expect(history.findBatch(`numbered-${acknowledged}`)).toBeDefined()
    history.dispose()

    const next = await startKillableServer(there)
    const body = asJson({ paymentPayload: payment }, customer.headers)
    const again = await fetch(`${next.origin}/v1/billing/x402/settle`, body)
    expect([again.status, await again.json()]).toEqual([200, receipt.body])
    expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(paid)
    const usage = await fetch(`${next.origin}/v1/usage`, { headers: customer.headers })
    expect(await usage.json()).toMatchObject({ tier: { id: 'starter' } })
    await next.kill()
    expect(s3.refused).toEqual([])
  }, 300_000)
})

async function settled(settle: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await settle()
    if (answer.status === 200) return answer
    expect(answer.status).toBe(202)
    await Bun.sleep(100)
  }
}
