/**
 * A real S3: Ceph's gateway over a cluster of one monitor and one disk, as child processes. They
 * are in a temporary folder, on free ports of loopback, and end with the test.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { S3Options } from 'bun'

import { findFreePort } from '../free-port.ts'
import { isChosen } from './chosen.ts'

export type S3 = AsyncDisposable & {
  readonly bucket: string
  /** Options for Bun's client; `env` has the same as variables. */
  readonly client: { endpoint: string } & S3Options
  readonly env: Readonly<Record<string, string>>
  /** kill -9 of all its processes. May be called twice. */
  kill(): Promise<void>
  /**
   * Starts it after `kill`; resolves when it responds, with everything that it had acknowledged.
   */
  start(): Promise<void>
  /** Stops it from responding until `wake`; it accepts connections. */
  hang(): void
  wake(): void
}

/** The port and credentials; without a port, a free one is chosen. */
export type S3Place = { port?: number; key: string; secret: string }

const BUCKET = 'books'
const REGION = 'us-east-1'
const KEY = 'AKIDBOOKFEED'
const SECRET = 'a/secret+key'
const anywhere: S3Place = { key: KEY, secret: SECRET }
const DISK_BYTES = 4 * 2 ** 30
const INSTALL_MS_MAX = 180_000
const START_MS_MAX = 120_000
const LOOK_MS = 50
const ATTEMPTS_MAX = 3
const LOG_MAX = 20_000
const silent = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

const packages = ['radosgw', 'ceph-mon', 'ceph-osd']
const programs = ['radosgw', 'radosgw-admin', 'ceph', 'ceph-mon', 'ceph-osd', 'monmaptool']
const isInstalled = (): boolean => programs.every((program) => Bun.which(program) !== null)

/** False if `ENGINES` excludes it, or it cannot be installed. */
export const hasS3: boolean = isChosen('bucket') && (isInstalled() || install())

function install(): boolean {
  if (process.getuid?.() !== 0 || Bun.which('apt-get') === null) return false
  const words = ['apt-get', 'install', '-y', '--no-install-recommends', ...packages]
  Bun.spawnSync(words, { ...silent, timeout: INSTALL_MS_MAX })
  return isInstalled()
}

/**
 * Starts it with an empty bucket. Tries several times, because another program may take a free port
 * first.
 */
export async function startS3(attempt = 1, at: S3Place = anywhere): Promise<S3> {
  const folder = await mkdtemp(join(tmpdir(), 'bookfeed-s3-'))
  const cluster = createCluster(folder, at)
  try {
    await cluster.create()
    return cluster
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    if (attempt < ATTEMPTS_MAX) return startS3(attempt + 1, at)
    throw error
  }
}

function createCluster(folder: string, at: S3Place): S3 & { create(): Promise<void> } {
  const monitorPort = findFreePort()
  const port = at.port ?? findFreePort()
  const address = at.port === undefined ? '127.0.0.1' : '0.0.0.0'
  const fsid = crypto.randomUUID()
  const disk = crypto.randomUUID()
  const conf = join(folder, 'ceph.conf')
  const client = {
    endpoint: `http://127.0.0.1:${port}`,
    region: REGION,
    accessKeyId: at.key,
    secretAccessKey: at.secret,
  }
  const { spawn, kill, untilDone } = createPrograms()
  const inFolder = ['-c', conf]
  const spawnMonitor = () => spawn('ceph-mon', ...inFolder, '-f', '-i', 'a')
  const spawnDisk = () => spawn('ceph-osd', ...inFolder, '-f', '-i', '0')
  // Without tcp_nodelay each response waits 40 ms for the acknowledgement of its head.
  let gateway: Bun.Subprocess | undefined
  const spawnGateway = (): void => {
    gateway = spawn(
      ...['radosgw', ...inFolder, '-f', '-n', 'client.rgw'],
      `--rgw_frontends=beast endpoint=${address}:${port} tcp_nodelay=1`,
    )
  }

  return {
    bucket: BUCKET,
    client,
    kill,
    hang: () => gateway?.kill('SIGSTOP'),
    wake: () => gateway?.kill('SIGCONT'),
    env: {
      S3_ENDPOINT: client.endpoint,
      S3_REGION: REGION,
      S3_ACCESS_KEY_ID: at.key,
      S3_SECRET_ACCESS_KEY: at.secret,
    },
    async create() {
      for (const name of ['mon', 'osd', 'run']) await mkdir(join(folder, name))
      await Bun.write(conf, settings(folder, fsid, monitorPort))
      const monmap = join(folder, 'monmap')
      const monitor = `[v2:127.0.0.1:${monitorPort}/0]`
      await run('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', monitor, monmap)
      await run('ceph-mon', ...inFolder, '-i', 'a', '--mkfs', '--monmap', monmap)
      spawnMonitor()
      await run('ceph-osd', ...inFolder, '-i', '0', '--mkfs', '--osd-uuid', disk)
      await run('ceph', ...inFolder, 'osd', 'new', disk, '0')
      spawnDisk()
      await run(
        ...[
          'radosgw-admin',
          ...inFolder,
          'user',
          'create',
          '--uid=bookfeed',
          '--display-name=Bookfeed',
        ],
        ...[`--access-key=${at.key}`, `--secret-key=${at.secret}`],
      )
      spawnGateway()
      // Bun's client cannot create a bucket; for the service, this object of a host is one.
      const host = new Bun.S3Client({ ...client, virtualHostedStyle: true })
      await untilDone('Making the bucket', () => host.write(BUCKET, ''))
    },
    async start() {
      spawnMonitor()
      spawnDisk()
      spawnGateway()
      const bucket = new Bun.S3Client({ ...client, bucket: BUCKET })
      await untilDone('Starting again', () => bucket.list())
    },
    async [Symbol.asyncDispose]() {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function run(...words: string[]): Promise<void> {
  const child = Bun.spawn(words, { ...silent, stderr: 'pipe', timeout: START_MS_MAX })
  const errors = await child.stderr.text()
  if ((await child.exited) !== 0) throw new Error(`${words.join(' ')} failed: ${errors}`)
}

function createPrograms() {
  let children: Bun.Subprocess[] = []
  let log = ''

  function spawn(...words: string[]): Bun.Subprocess {
    const child = Bun.spawn(words, { ...silent, stderr: 'pipe' })
    children.push(child)
    const readLog = async (): Promise<void> => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream()))
        log = (log + text).slice(-LOG_MAX)
    }
    void readLog()
    return child
  }

  async function untilDone(what: string, ask: () => Promise<unknown>): Promise<void> {
    const deadline = performance.now() + START_MS_MAX
    while (performance.now() < deadline && !children.some(hasEnded)) {
      const isDone = await Promise.race([
        ask().then(() => true),
        Bun.sleep(5000).then(() => false),
      ]).catch(() => false)
      if (isDone) return
      await Bun.sleep(LOOK_MS)
    }
    throw new Error(`${what} failed:\n${log}`)
  }

  async function kill(): Promise<void> {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map(({ exited }) => exited))
    children = []
  }

  return { spawn, kill, untilDone }
}

/** A single copy of everything, only loopback, and no logs or sockets outside the folder. */
const settings = (folder: string, fsid: string, port: number): string => `[global]
fsid = ${fsid}
mon_host = [v2:127.0.0.1:${port}/0]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_mon_service_mode = crc
run_dir = ${folder}/run
admin_socket =
log_file =
log_to_stderr = true
err_to_stderr = true
mon_data = ${folder}/mon
mon_data_avail_crit = 1
mon_allow_pool_size_one = true
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
osd_data = ${folder}/osd
osd_objectstore = bluestore
bluestore_block_size = ${DISK_BYTES}
osd_memory_target = 939524096
mon_client_hunt_interval = 0.5
# After a disk was killed, the gateway asks the monitor for its new address soon, not after 10 s.
objecter_tick_interval = 0.2
objecter_timeout = 0.5
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
# A disk that was killed waits as long for readers of its former self: 1 s, not 16 s.
osd_pool_default_read_lease_ratio = 0.05
`

const hasEnded = ({ exitCode, signalCode }: Bun.Subprocess): boolean =>
  exitCode !== null || signalCode !== null
