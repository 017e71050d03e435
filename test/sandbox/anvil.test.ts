import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'

import { hasAnvil, startAnvil } from '#dev/sandbox/anvil.ts'

const program = `
  const { startAnvil } = await import(${JSON.stringify(new URL('../../dev/sandbox/anvil.ts', import.meta.url).href)})
  const { url } = await startAnvil()
  process.stdout.write(url)
  process.stdin.resume()
`

/** The processes that another one started itself. */
const childrenOf = async (pid: number) =>
  (await Bun.file(`/proc/${pid}/task/${pid}/children`).text()).trim().split(' ').map(Number)

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-nodes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(!hasAnvil)('startAnvil', () => {
  async function startParent() {
    const temporary = mkdtempSync(join(folder, 'parent-'))
    // biome-ignore lint/style/noProcessEnv: what the shell needs is not for the product's settings.
    const env = { ...process.env, TMPDIR: temporary }
    const options = { env, stdin: 'pipe', stdout: 'pipe' } as const
    const parent = Bun.spawn([process.execPath, '-e', program], options)
    const { value } = await parent.stdout.getReader().read()
    const url = new TextDecoder().decode(value)
    const isUp = () =>
      fetch(url).then(
        () => true,
        () => false,
      )
    expect(await isUp()).toBe(true)
    expect(readdirSync(temporary)).toHaveLength(1)
    return { parent, isUp, temporary }
  }

  async function expectNodeToEnd({
    parent,
    isUp,
    temporary,
  }: Awaited<ReturnType<typeof startParent>>) {
    parent.kill('SIGKILL')
    await parent.exited
    // The limit of the test ends it.
    while (await isUp()) await setImmediate()
    while (readdirSync(temporary).length > 0) await setImmediate()
  }

  test('behavior: the node ends, and its folder goes, with a process that is killed outright', async () => {
    await expectNodeToEnd(await startParent())
  })

  test('behavior: so they do even if the shell between them is gone', async () => {
    const started = await startParent()
    for (const child of await childrenOf(started.parent.pid)) process.kill(child, 'SIGKILL')
    await expectNodeToEnd(started)
  })

  test('behavior: is gone, with all that was about it, once it is stopped', async () => {
    const node = await startAnvil()
    expect(await node.rpc('eth_chainId')).toBe('0x89')
    await node.stop()
    await node.stop()
    await expect(node.rpc('eth_chainId')).rejects.toThrow()
  })
})
