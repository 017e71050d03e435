/** A real Redis as a child process, on a free port of loopback; it keeps nothing on the disk. */
import { findFreePort } from '../free-port.ts'
import { isChosen } from './chosen.ts'

export type Redis = AsyncDisposable & {
  readonly url: string
  /** kill -9; what it held is gone. */
  kill(): Promise<void>
  /** At the same port. */
  restart(): Promise<void>
  /** Keeps connections and answers nothing, until `wake`. */
  hang(): void
  wake(): void
}

const INSTALL_MS_MAX = 180_000
const LOOK_MS = 20
const LOOKS_MAX = 500
const silent = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** Its program; null if `ENGINES` leaves it out, or it cannot be installed. */
export const redisProgram: string | null = isChosen('redis')
  ? (Bun.which('redis-server') ?? install())
  : null

function install(): string | null {
  if (process.getuid?.() !== 0 || Bun.which('apt-get') === null) return null
  const words = ['apt-get', 'install', '-y', 'redis-server']
  Bun.spawnSync(words, { ...silent, timeout: INSTALL_MS_MAX })
  return Bun.which('redis-server')
}

export async function startRedis(): Promise<Redis> {
  const port = findFreePort()
  const url = `redis://127.0.0.1:${port}`
  const start = () =>
    Bun.spawn(
      [redisProgram ?? '', '--port', `${port}`, '--bind', '127.0.0.1', '--save', ''],
      silent,
    )
  let child = start()
  await untilReady(url)
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await child.exited
  }
  return {
    url,
    kill,
    async restart() {
      child = start()
      await untilReady(url)
    },
    hang: () => child.kill('SIGSTOP'),
    wake: () => child.kill('SIGCONT'),
    [Symbol.asyncDispose]: kill,
  }
}

async function untilReady(url: string): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const client = new Bun.RedisClient(url, { autoReconnect: false })
    try {
      await client.send('PING', [])
      return
    } catch {
      await Bun.sleep(LOOK_MS)
    } finally {
      client.close()
    }
  }
  throw new Error('Redis did not answer.')
}
