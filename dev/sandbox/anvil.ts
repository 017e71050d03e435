import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A real Ethereum node, on a free port of this machine. It opens no connection of its own. The
 * binary comes with a development package of the platform; there is none for every platform.
 */
export type Anvil = {
  url: string
  /** Asks the node itself; throws what it answers as an error. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>
  /** Ends the node and resolves when it is gone. May be called twice. */
  stop(): Promise<void>
}

export type AnvilOptions = {
  chainId?: number
  /** More options of the command line. */
  options?: readonly string[]
}

const architecture = process.arch === 'x64' ? 'amd64' : process.arch
const binary = join(
  import.meta.dir,
  `../../node_modules/@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil`,
)

/** False where the platform has no binary, or where only what production needs is installed. */
export const hasAnvil = existsSync(binary)

/**
 * Ends the node when standard input ends, which it does whatever becomes of us: `bun test --bail`
 * and kill -9 run no handler of ours, and would leave it behind. A process of its own watches,
 * since a test that runs out of time has its direct child killed, which is the shell. Whichever of
 * the two is left removes the folder.
 */
const leash = [
  'exec 3<&0',
  'cache=$1; shift',
  '"$0" --cache-path "$cache" "$@" 3<&- & node=$!',
  '{ cat <&3; kill -9 "$node"; rm -rf "$cache"; } > /dev/null 2>&1 & watch=$!',
  'exec 3<&- > /dev/null 2>&1',
  'wait "$node"; kill "$watch"; rm -rf "$cache"',
].join('\n')

/** Starts a node, which lives until it is stopped or until this process ends. */
export async function startAnvil({
  chainId = 137,
  options = [],
}: AnvilOptions = {}): Promise<Anvil> {
  // Without a folder of its own it would write into that of the user.
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

/** A node that somebody else has started. */
export const reachAnvil = (url: string): Omit<Anvil, 'stop'> => ({
  url,
  rpc: (method, params = []) => ask(url, { method, params }),
})

/** Finds where the node listens, and keeps reading: the node would block on a full pipe. */
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
