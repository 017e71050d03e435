/** The connection to the Redis in which servers count together, and how many of them there are. */

import { RedisClient } from 'bun'

import { isFault } from '#src/platform/fault.ts'
import { codeOf, messageOf } from '#src/platform/message.ts'
import { within } from '#src/platform/patience.ts'

const CONNECT_MS_MAX = 1_000
/** Longer than an answer takes, and short enough for a caller to wait. */
const ANSWER_MS_MAX = 200
const BEAT_MS = 250
/** A server that has sent nothing for this long is not counted. */
const ABSENT_SECONDS = 10
const SERVERS = 'bookfeed:servers'
/** A lost connection is replaced by the next beat. */
const clientOptions = {
  ...{ connectionTimeout: CONNECT_MS_MAX, autoReconnect: false, enableOfflineQueue: false },
}

/** Counts the servers that have sent something lately, including this one. */
const BEAT = `local now = redis.call('TIME')
redis.call('ZADD', KEYS[1], now[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] - ARGV[2])
return redis.call('ZCARD', KEYS[1])`

export type LimitsLink = Awaited<ReturnType<typeof connectLimits>>

export type LinkOptions = {
  /** `redis://…` or `rediss://…`. */
  url: string
  /** Names this server among the others; the same for all its threads. */
  server: string
  say?: ((line: string, level: 'error' | 'info') => void) | undefined
}

/** Why it cannot be used, within a sentence. */
function reasonOf(error: unknown): string {
  const message = messageOf(error)
  if (message.startsWith('NOAUTH')) return 'it asks for a password'
  const isSilent = isFault(error, 'no_answer') || /CONNECTION/.test(codeOf(error))
  return isSilent ? 'nothing answers there' : message.replace(/\.$/, '')
}

/** The version of what answers there. Rejects where nothing does, or no script may run. */
export async function probeLimits(url: string): Promise<string> {
  const client = new RedisClient(url, { connectionTimeout: CONNECT_MS_MAX, autoReconnect: false })
  try {
    const script = client.send('EVAL', [BEAT, '1', `${SERVERS}:probe`, '', '0'])
    await within(CONNECT_MS_MAX, script)
    const info: string = await within(CONNECT_MS_MAX, client.send('INFO', ['server']))
    return /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? 'unknown'
  } catch (cause) {
    throw new Error(reasonOf(cause), { cause })
  } finally {
    client.close()
  }
}

/** Connects, and again whenever the connection is lost; resolves also where there is no answer. */
export async function connectLimits({ url, server, say = () => undefined }: LinkOptions) {
  let client = new RedisClient(url, clientOptions)
  let isConnecting = false
  let isUp = false
  let hasSaid = false
  let servers = 1

  /** A new connection, as one that failed once may never answer again; one attempt at a time. */
  async function connect(): Promise<void> {
    if (isConnecting) return
    isConnecting = true
    client.close()
    client = new RedisClient(url, clientOptions)
    await within(CONNECT_MS_MAX, client.connect()).catch(() => undefined)
    isConnecting = false
  }

  /** Rejects where there is no answer in time; then nothing is asked until the next beat. */
  async function run<T>(script: string, key: string, ...given: readonly unknown[]): Promise<T> {
    try {
      const reply = client.send('EVAL', [script, '1', key, ...given.map(String)])
      return await within(ANSWER_MS_MAX, reply)
    } catch (error) {
      isUp = false
      throw error
    }
  }

  function tell(error: unknown): void {
    const what = `cannot be used (${reasonOf(error)})`
    const until = `This server admits 1/${servers} of each limit until it can.`
    if (!hasSaid) say(`BOOKFEED_LIMITS ${what}. ${until}`, 'error')
    hasSaid = true
  }

  async function beat(): Promise<void> {
    try {
      servers = await run<number>(BEAT, SERVERS, server, ABSENT_SECONDS)
      if (hasSaid) say(`BOOKFEED_LIMITS answers again; ${servers} servers share limits.`, 'info')
      isUp = true
      hasSaid = false
    } catch (error) {
      tell(error)
      void connect()
    }
  }
  await connect()
  await beat()
  const beating = setInterval(beat, BEAT_MS)

  return {
    run,
    isUp: (): boolean => isUp,
    /** As last received; includes this one. */
    servers: (): number => servers,

    /** Tells the other servers. */
    async dispose(): Promise<void> {
      clearInterval(beating)
      if (isUp) await client.send('ZREM', [SERVERS, server]).catch(() => undefined)
      client.close()
    },
  }
}
