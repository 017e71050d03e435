import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A real Ethereum node of this test alone, on a free port of this machine. It opens no connection of its
 * own. The binary comes with the package of the platform; there is none for every platform.
 */
export type Anvil = {
  url: string
  /** Asks the node itself; throws what it answers as an error. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>
  /** Ends the node and resolves when it is gone. May be called twice. */
  stop(): Promise<void>
}

const architecture = process.arch === 'x64' ? 'amd64' : process.arch
const binary = join(
  import.meta.dir,
  `../../node_modules/@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil`,
)

/** False where the platform has no binary: tests skip themselves, and say so. */
export const hasAnvil = existsSync(binary)

/**
 * Ends the node when standard input ends, which it does whatever becomes of the tests: `bun test --bail`
 * and kill -9 run no handler of ours, and would leave it behind.
 */
const leash = '"$0" "$@" & node=$!; exec > /dev/null; cat; kill -9 "$node"; wait "$node"'

/** Starts a node; every test file has its own. */
export async function startAnvil({ chainId = 137 } = {}): Promise<Anvil> {
  // Without a folder of its own it would write into that of the user.
  const cache = mkdtempSync(join(tmpdir(), 'bookfeed-anvil-'))
  const options = ['--port', '0', '--chain-id', String(chainId), '--cache-path', cache]
  const child = Bun.spawn(['sh', '-c', leash, binary, ...options], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })

  async function stop(): Promise<void> {
    await child.stdin.end()
    await child.exited
    rmSync(cache, { recursive: true, force: true })
  }

  try {
    const url = `http://${await readAddress(child.stdout)}`
    return { url, rpc: (method, params = []) => ask(url, { method, params }), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Finds where the node listens, and goes on reading: it would stand still on a full pipe. */
function readAddress(output: ReadableStream<Uint8Array>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const read = async () => {
    const decoder = new TextDecoder()
    let text = ''
    let isListening = false
    for await (const bytes of output) {
      if (isListening) continue
      text += decoder.decode(bytes, { stream: true })
      const address = /Listening on (\S+)\s/.exec(text)?.[1]
      if (address === undefined) continue
      isListening = true
      resolve(address)
    }
    reject(new Error(`anvil ended before it listened:\n${text}`))
  }
  read().catch(reject)
  return promise
}

async function ask(
  url: string,
  { method, params }: { method: string; params: readonly unknown[] },
): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`)
  return answer.result
}
