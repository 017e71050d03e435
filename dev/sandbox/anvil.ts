import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A real Ethereum node, on a free port of this machine. It opens no connections. The binary comes
 * with a development package, which does not exist for every platform.
 */
export type Anvil = {
  url: string
  /** Calls the node; throws its error. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>
  /** Stops the node; resolves when it has ended. May be called twice. */
  stop(): Promise<void>
}

export type AnvilOptions = {
  chainId?: number
  /** Additional command line options. */
  options?: readonly string[]
}

const architecture = process.arch === 'x64' ? 'amd64' : process.arch
const binary = join(
  import.meta.dir,
  `../../node_modules/@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil`,
)

/** False if the platform has no binary, or development packages are not installed. */
export const hasAnvil = existsSync(binary)

/**
 * Ends the node when standard input closes, which happens even if this process is killed: after
 * `bun test --bail` or kill -9 no handler runs. A separate process watches, because a test that
 * times out has its direct child, the shell, killed. The survivor of the two removes the folder.
 */
const leash = [
  'exec 3<&0',
  'cache=$1; shift',
  '"$0" --cache-path "$cache" "$@" 3<&- & node=$!',
  '{ cat <&3; kill -9 "$node"; rm -rf "$cache"; } > /dev/null 2>&1 & watch=$!',
  'exec 3<&- > /dev/null 2>&1',
  'wait "$node"; kill "$watch"; rm -rf "$cache"',
].join('\n')

/** Starts a node, which lives until it is stopped or this process ends. */
export async function startAnvil({
  chainId = 137,
  options = [],
}: AnvilOptions = {}): Promise<Anvil> {
  // By default it would write into the user's cache.
  const cache = mkdtempSync(join(tmpdir(), 'bookfeed-anvil-'))
  const own = ['--port', '0', '--chain-id', String(chainId)]
  const child = Bun.spawn(['sh', '-c', leash, binary, cache, ...own, ...options], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })

  async function stop(): Promise<void> {
    await child.stdin.end()
    await child.exited
  }

  try {
    const url = `http://${await readAddress(child.stdout)}`
    return { ...reachAnvil(url), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A node that another process has started. */
export const reachAnvil = (url: string): Omit<Anvil, 'stop'> => ({
  url,
  rpc: (method, params = []) => ask(url, { method, params }),
})

/** Finds the address of the node, and keeps reading: a full pipe would block the node. */
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
