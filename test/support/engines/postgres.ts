/**
 * A real PostgreSQL as child processes: a primary, and a standby that must confirm every commit.
 * Both are in a temporary folder, on free ports of loopback, and end with the test.
 */
import { existsSync } from 'node:fs'
import { chown, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { findFreePort } from '../free-port.ts'
import { isChosen } from './chosen.ts'
import '../stores.ts'

export type Postgres = AsyncDisposable & {
  /**
   * The URL of the primary; after `promote`, of the former standby. The database is empty at first.
   */
  readonly url: string
  /** kill -9 of all its processes. May be called twice. */
  killPrimary(): Promise<void>
  /** Stops the primary from responding until `wake`; it keeps its connections. */
  hang(): Promise<void>
  wake(): Promise<void>
  /** Makes the standby the primary, alone from then on; resolves when it accepts writes. */
  promote(): Promise<void>
  standby: {
    readonly url: string
    /** kill -9: commits wait from then on, until `start` has resolved. */
    kill(): Promise<void>
    start(): Promise<void>
    hang(): Promise<void>
    wake(): Promise<void>
  }
}

/** Debian's `nobody`: PostgreSQL refuses to run as root. */
const NOBODY = 65_534
const asNobody = [
  'setpriv',
  `--reuid=${NOBODY}`,
  `--regid=${NOBODY}`,
  '--clear-groups',
  '--reset-env',
  '--',
]
const isRoot = process.getuid?.() === 0
const PASSWORD = 'of-tests'
const INSTALL_MS_MAX = 180_000
const START_MS_MAX = 120_000
const LOOK_MS = 50
const ATTEMPTS_MAX = 3
const silent = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/** The folder of its programs; undefined if `ENGINES` excludes it, or it cannot be installed. */
export const postgresPrograms: string | undefined = isChosen('postgres')
  ? (findPrograms() ?? install())
  : undefined

function findPrograms(): string | undefined {
  const glob = new Bun.Glob('lib/postgresql/*/bin/postgres')
  const [newest] = [...glob.scanSync({ cwd: '/usr', followSymlinks: true })].sort().reverse()
  return newest === undefined ? undefined : join('/usr', newest, '..')
}

function install(): string | undefined {
  if (!isRoot || Bun.which('apt-get') === null) return undefined
  Bun.spawnSync(['apt-get', 'install', '-y', 'postgresql'], { ...silent, timeout: INSTALL_MS_MAX })
  return findPrograms()
}

/**
 * Starts both in a folder below `parent`; the standby confirms each commit from the first one.
 * Tests end processes and no machines, so only benches wait for the disk.
 */
export async function startPostgres({
  isOnDisk = false,
  parent = tmpdir(),
  /** The port through which the standby follows a primary at the given one. */
  linkTo = async (port: number): Promise<number> => port,
} = {}): Promise<Postgres> {
  const folder = await mkdtemp(join(parent, 'bookfeed-postgres-'))
  const stack = new AsyncDisposableStack()
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  try {
    await copyTemplate(folder)
    const [first, second] = dataFoldersOf(folder)
    const primary = stack.use(await startServer(first, isOnDisk))
    const port = await linkTo(Number(new URL(primary.url()).port))
    const source = `host=127.0.0.1 port=${port} user=bookfeed password=${PASSWORD} application_name=standby`
    const follow = async (): Promise<Server> => {
      const started = await startServer(second, isOnDisk, [`primary_conninfo=${source}`])
      stack.use(started)
      await untilAnswered(primary, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
      return started
    }
    return pair(primary, await follow(), follow, stack)
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

const dataFoldersOf = (folder: string) =>
  [join(folder, 'primary'), join(folder, 'standby')] as const

/** Copies the initial data of both, created once per user: that takes a tenth of the time. */
async function copyTemplate(folder: string): Promise<void> {
  const own = `${process.getuid?.()} ${postgresPrograms}`
  const version = Bun.hash(`${own} ${await Bun.file(import.meta.path).text()}`)
  const template = join(tmpdir(), `bookfeed-postgres-${version.toString(36)}`)
  if (!existsSync(template)) {
    const making = await mkdtemp(`${template}-`)
    try {
      await makeTemplate(making)
      // Another process may have been faster.
      await rename(making, template).catch(() => {})
    } finally {
      await rm(making, { recursive: true, force: true })
    }
  }
  await exec(['cp', '-a', `${template}/.`, folder])
}

/** Creates the data of a primary with an empty database, and of a standby that follows it. */
async function makeTemplate(folder: string): Promise<void> {
  if (isRoot) await chown(folder, NOBODY, NOBODY)
  const [first, second] = dataFoldersOf(folder)
  await initialize(first)
  await using primary = await startServer(first, false)
  await ask(primary.url('postgres'), 'CREATE DATABASE bookfeed')
  await run('pg_basebackup', [
    '--checkpoint=fast',
    '--write-recovery-conf',
    '--pgdata',
    second,
    '--dbname',
    primary.url('postgres'),
  ])
  // Takes effect at its next start.
  await ask(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
  await primary.stop()
}

function pair(
  primary: Server,
  firstStandby: Server,
  follow: () => Promise<Server>,
  stack: AsyncDisposableStack,
): Postgres {
  let current = primary
  let standby = firstStandby
  return {
    get url() {
      return current.url()
    },
    killPrimary: () => primary.kill(),
    hang: () => primary.signal('SIGSTOP'),
    wake: () => primary.signal('SIGCONT'),
    async promote() {
      await ask(standby.url(), 'SELECT pg_promote(wait => false)')
      await untilAnswered(standby, 'SELECT 1 WHERE NOT pg_is_in_recovery()')
      current = standby
    },
    standby: {
      get url() {
        return standby.url()
      },
      kill: () => standby.kill(),
      async start() {
        standby = await follow()
      },
      hang: () => standby.signal('SIGSTOP'),
      wake: () => standby.signal('SIGCONT'),
    },
    [Symbol.asyncDispose]: async () => stack.disposeAsync(),
  }
}

async function initialize(data: string): Promise<void> {
  const passwords = `${data}.password`
  await Bun.write(passwords, PASSWORD)
  await run('initdb', [
    '--pgdata',
    data,
    '--username=bookfeed',
    `--pwfile=${passwords}`,
    '--encoding=UTF8',
    // Segments of 1 MB: data of 24 MB in place of 39.
    '--auth=scram-sha-256',
    '--locale=C',
    '--no-sync',
    '--wal-segsize=1',
  ])
}

type Server = AsyncDisposable & {
  url(database?: string): string
  log(): string
  /** Sends the signal to all its processes. */
  signal(name: NodeJS.Signals): Promise<void>
  kill(): Promise<void>
  /** Stops in order, so that its next start recovers nothing. */
  stop(): Promise<void>
}

/** Tries several times, because another program may take a free port first. */
async function startServer(
  data: string,
  isOnDisk: boolean,
  more: readonly string[] = [],
  attempt = 1,
): Promise<Server> {
  const port = findFreePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    // Otherwise a standby whose primary died searches for it for five seconds before its promotion.
    'wal_retrieve_retry_interval=200ms',
    'shared_buffers=32MB',
    'max_wal_size=256MB',
    `fsync=${isOnDisk ? 'on' : 'off'}`,
    ...more,
  ]
  const child = Bun.spawn(
    command('postgres', ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]),
    { ...silent, stderr: 'pipe' },
  )
  let log = ''
  const readLog = async (): Promise<void> => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) log += text
  }
  void readLog()
  const server: Server = {
    url: (database = 'bookfeed') => `postgres://bookfeed:${PASSWORD}@127.0.0.1:${port}/${database}`,
    log: () => log,
    async signal(name) {
      // The parent then creates no more processes; after its end they have another parent.
      child.kill('SIGSTOP')
      for (const pid of await childrenOf(child.pid)) send(pid, name)
      child.kill(name)
    },
    async kill() {
      await server.signal('SIGKILL')
      await child.exited
    },
    async stop() {
      child.kill('SIGINT')
      await child.exited
    },
    // The parent ends after its processes, by force after five seconds.
    async [Symbol.asyncDispose]() {
      child.kill('SIGQUIT')
      await child.exited
    },
  }
  try {
    await untilAnswered(server, 'SELECT 1', { database: 'postgres', isOver: () => hasEnded(child) })
    return server
  } catch (error) {
    const isAgain = hasEnded(child) && attempt < ATTEMPTS_MAX
    await server[Symbol.asyncDispose]()
    if (isAgain) return startServer(data, isOnDisk, more, attempt + 1)
    throw error
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return list.split(' ').filter(Boolean).map(Number)
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended by itself.
  }
}

const hasEnded = ({ exitCode, signalCode }: Bun.Subprocess): boolean =>
  exitCode !== null || signalCode !== null

type Wait = { database?: string; isOver?: () => boolean }

/** Repeats a query until it returns a row. */
async function untilAnswered(server: Server, question: string, wait: Wait = {}): Promise<void> {
  for (let waited = 0; waited < START_MS_MAX && !wait.isOver?.(); waited += LOOK_MS) {
    const rows = await ask(server.url(wait.database), question).catch(() => [])
    if (rows.length > 0) return
    await Bun.sleep(LOOK_MS)
  }
  throw new Error(`PostgreSQL did not answer "${question}":\n${server.log()}`)
}

/** Runs a statement on a separate connection. */
async function ask(url: string, statement: string): Promise<readonly unknown[]> {
  await using sql = new SQL(url, { max: 1, connectionTimeout: 5 })
  return [...(await sql.unsafe(statement))]
}

const command = (program: string, words: readonly string[]): string[] => [
  ...(isRoot ? asNobody : []),
  join(postgresPrograms ?? '', program),
  ...words,
]

const run = (program: string, words: readonly string[]): Promise<void> =>
  exec(command(program, words))

async function exec(words: readonly string[]): Promise<void> {
  const child = Bun.spawn([...words], { ...silent, stderr: 'pipe', timeout: START_MS_MAX })
  const errors = await child.stderr.text()
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')} failed: ${errors}`)
}
