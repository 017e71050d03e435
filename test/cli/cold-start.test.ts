import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const program = new URL('../support/loaded-modules-process.ts', import.meta.url).pathname
type Answer = { exitCode: number; packages: string[] }

/** What only payments and wallets need. */
const heavy = /^(viem|@x402|ox|abitype|@noble|@offchainlabs)/
/** What only the documentation and the dashboard need, and the many files of TypeBox's builders. */
const forPages = /^(@elysiajs|swagger-ui-dist|preact|uplot)/

/** Starts a server in a process of its own; the packages that it has loaded when it greets. */
async function packagesAtStart(env: Record<string, string> = {}): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-cold-'))
  try {
    const own = {
      BOOKFEED_DATA: folder,
      BOOKFEED_PORT: '0',
      BOOKFEED_RECORD: 'off',
      BOOKFEED_SAMPLE: 'off',
    }
    const argument = JSON.stringify({ ...own, BOOKFEED_LOG: 'off', ...env })
    const child = Bun.spawn([process.execPath, program, argument], { stderr: 'inherit' })
    const answer = (await new Response(child.stdout).json()) as Answer
    expect(answer.exitCode).toBe(0)
    return answer.packages
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('bookfeed serve', () => {
  test('default: a server that sells nothing loads neither viem nor x402, nor what pages need', async () => {
    const packages = await packagesAtStart()
    expect(packages).toContain('drizzle-orm')
    const needless = packages.filter((name) => heavy.test(name) || forPages.test(name))
    expect(needless).toEqual([])
  })

  test('behavior: one that sells by another facilitator loads viem, and x402 never', async () => {
    // Nobody listens there: a node that does not answer is what the first question needs viem for.
    const nobody = 'http://127.0.0.1:9'
    const packages = await packagesAtStart({
      BOOKFEED_PAY_TO: `0x${'1'.repeat(40)}`,
      BOOKFEED_RPC_URL: nobody,
      BOOKFEED_FACILITATOR: nobody,
    })
    expect(packages).toContain('viem')
    expect(packages.filter((name) => name.startsWith('@x402'))).toEqual([])
  })
})
