/** `bookfeed sandbox` in a separate process, with its chain and its server. */
import { join } from 'node:path'

/**
 * The time limit of a test that starts a sandbox: on a loaded machine its start alone takes half a
 * minute. When a test exceeds its limit, Bun ends every process started by its file, so that later
 * tests fail.
 */
export const SANDBOX_TEST_MS_MAX = 300_000

const program = join(import.meta.dir, '../../src/main.ts')

/**
 * Starts a sandbox with its files in `data`, and resolves after its output is complete. `stop` ends
 * it, and resolves with its exit code.
 */
export async function startSandbox(data: string, more: Record<string, string> = {}) {
  // A variable of a real server must not reach a sandbox.
  const payTo = `0x${'9'.repeat(40)}`
  const env = { BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off', BOOKFEED_PAY_TO: payTo, ...more }
  const last = more.BOOKFEED_KEYLESS === 'on' ? 'buy-without-key.ts' : 'buy.ts'
  const child = Bun.spawn([process.execPath, program, 'sandbox', '--data', data], {
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const stop = async (): Promise<number> => {
    child.kill()
    return await child.exited
  }
  const greeting = await readGreeting(child.stdout, last)
  const find = (pattern: RegExp): string => pattern.exec(greeting)?.[1] ?? ''
  return {
    greeting,
    stop,
    origin: find(/^bookfeed listens on (\S+)$/m),
    chainUrl: find(/^A chain of this machine .*: (\S+)$/m),
    script: find(/^ {2}bun run (\S+buy\.ts)$/m),
    keylessScript: find(/^ {2}bun run (\S+buy-without-key\.ts)$/m),
  }
}

/** Reads the output of a sandbox up to the last purchase command. */
async function readGreeting(output: ReadableStream<Uint8Array>, last: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    if (text.includes(`/${last}\n`)) break
  }
  return text
}
