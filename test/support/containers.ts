/**
 * Containers without an engine: each is a process with its own namespaces (mounts, processes,
 * network) on a separate network without a way out. Programs are those of this machine.
 */
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const project = new URL('../..', import.meta.url).pathname
const WAIT_MS = 20
const WAITS_MAX = 6_000
const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child']

export type ContainerSpec = {
  name: string
  /** The address in the network of the host. */
  address: string
  /** Host names of other containers. */
  hosts: Readonly<Record<string, string>>
  env: Readonly<Record<string, string>>
  command: readonly string[]
  user: { uid: number; gid: number }
  /** Contents of files by path. */
  files: Readonly<Record<string, string>>
  /** Folders of this machine by path. */
  volumes: Readonly<Record<string, string>>
}

export type Container = Awaited<ReturnType<ContainerHost['start']>>
export type ContainerHost = Awaited<ReturnType<typeof startContainerHost>>

/** False if this user may not create namespaces. */
export const hasContainers: boolean =
  process.getuid?.() === 0 &&
  ['unshare', 'nsenter', 'ip', 'chroot'].every((program) => Bun.which(program) !== null) &&
  Bun.spawnSync(['unshare', ...namespaces, 'ip', 'link', 'add', 'br0', 'type', 'bridge'])
    .exitCode === 0

/** Starts the namespaces of the host; all containers end with it. */
const HOST = `mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up \
  && ip link add br0 type bridge && ip addr add "$1" dev br0 && ip link set br0 up \
  && echo ready && exec sleep infinity`

/** Creates the network and the root folder of a container, and becomes its command. */
const CONTAINER = `set -e
root=$1 name=$2 address=$3 user=$4; shift 4
if [ ! -e "/run/netns/$name" ]; then
  ip netns add "$name"
  ip link add "v\${address##*.}" type veth peer name eth0 netns "$name"
  ip link set "v\${address##*.}" master br0 up
  ip -n "$name" addr add "$address/24" dev eth0
  ip -n "$name" link set eth0 up
  ip -n "$name" link set lo up
fi
export root user
exec ip netns exec "$name" unshare --mount --pid --fork --kill-child bash -c '
  set -e
  while read -r from to; do mount --rbind "$from" "$root$to"; done < "$root/.mounts"
  mount -t proc proc "$root/proc"
  exec chroot --userspec="$user" "$root" /usr/bin/env -i "$@"' -- "$@"`

const childrenOf = (pid: number): number[] => {
  const path = `/proc/${pid}/task/${pid}/children`
  return existsSync(path) ? readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number) : []
}

const descendantsOf = (pid: number): number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])

/** Undefined for a process that has ended. */
function linkOf(pid: number, name: 'exe' | 'root'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    return undefined
  }
}

/** The descendant of a process that satisfies a condition, once it exists. */
async function findBelow(
  { pid, exited }: Pick<Bun.Subprocess, 'pid' | 'exited'>,
  isIt: (pid: number) => boolean,
): Promise<number> {
  let isOver = false
  void exited.then(() => (isOver = true))
  for (let waits = 0; waits < WAITS_MAX && !isOver; waits++) {
    const found = descendantsOf(pid).find(isIt)
    if (found !== undefined) return found
    await Bun.sleep(WAIT_MS)
  }
  throw new Error('A container did not start.')
}

/**
 * `subnet` is the address of the host in the network of the containers, such as `172.29.0.1/24`.
 */
export async function startContainerHost(subnet: string) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-containers-'))
  const host = Bun.spawn(
    [
      'setpriv',
      '--pdeathsig=KILL',
      'unshare',
      ...namespaces,
      '--mount-proc',
      'bash',
      '-c',
      HOST,
      '--',
      subnet,
    ],
    {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  await host.stdout.getReader().read()
  const hostPid = await findBelow(host, () => true)
  const enterHost = ['nsenter', `--target=${hostPid}`, '--mount', '--net', '--pid', '--']

  /** Creates the root folder of a container: programs of this machine, and its own files. */
  function makeRoot({ name, files, volumes, hosts }: ContainerSpec): string {
    const root = join(folder, name)
    const mounts = [
      ['/usr', '/usr'],
      ['/dev', '/dev'],
      [project, project],
    ]
    const bun = dirname(process.execPath)
    if (!bun.startsWith('/usr/')) mounts.push([bun, bun])
    const links = { bin: 'usr/bin', sbin: 'usr/sbin', lib: 'usr/lib', lib64: 'usr/lib64' }
    // Its mounts are visible only to its own processes, which have ended.
    rmSync(root, { recursive: true, force: true })
    mkdirSync(join(root, 'var'), { recursive: true })
    for (const [path, target] of Object.entries({ ...links, 'var/run': '../run' })) {
      symlinkSync(target, join(root, path))
    }
    for (const path of [
      'proc',
      'tmp',
      'run/postgresql',
      'var/tmp',
      'var/lib/nginx',
      'var/log/nginx',
      'etc/nginx',
    ]) {
      mkdirSync(join(root, path), { recursive: true })
    }
    Bun.spawnSync([
      'chmod',
      '-R',
      '1777',
      join(root, 'run'),
      join(root, 'tmp'),
      join(root, 'var/tmp'),
    ])
    for (const file of ['passwd', 'group', 'ld.so.cache', 'localtime', 'nginx/mime.types']) {
      if (existsSync(`/etc/${file}`)) copyFileSync(`/etc/${file}`, join(root, 'etc', file))
    }
    const lines = Object.entries(hosts).map(([host, address]) => `${address} ${host}\n`)
    writeFileSync(join(root, 'etc/hosts'), `127.0.0.1 localhost\n${lines.join('')}`)
    writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files\n')
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(path)), { recursive: true })
      writeFileSync(join(root, path), text, { mode: 0o755 })
    }
    mounts.push(...Object.entries(volumes).map(([path, from]) => [from, path]))
    for (const [, path = ''] of mounts) mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, '.mounts'), mounts.map((mount) => `${mount.join(' ')}\n`).join(''))
    return root
  }

  return {
    /** A folder that exists as long as the host. */
    makeVolume(name: string, { uid, gid }: ContainerSpec['user']): string {
      const path = join(folder, `volume-${name}`)
      if (!existsSync(path)) {
        mkdirSync(path)
        chownSync(path, uid, gid)
      }
      return path
    },
    removeVolume: (name: string) => rmSync(join(folder, `volume-${name}`), { recursive: true }),

    /** Runs a program of this machine in the network of the containers. */
    run: (command: readonly string[]) =>
      Bun.spawn([...enterHost, ...command], { stdout: 'pipe', stderr: 'pipe' }),

    async start(spec: ContainerSpec) {
      const root = makeRoot(spec)
      const { uid, gid } = spec.user
      const pairs = Object.entries(spec.env).map(([name, value]) => `${name}=${value}`)
      const child = Bun.spawn(
        [
          ...enterHost,
          'bash',
          '-c',
          CONTAINER,
          '--',
          root,
          spec.name,
          spec.address,
          `${uid}:${gid}`,
          ...pairs,
          ...spec.command,
        ],
        { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
      )
      let log = ''
      const read = async (stream: typeof child.stdout): Promise<void> => {
        for await (const text of stream.pipeThrough(new TextDecoderStream()))
          log = (log + text).slice(-20_000)
      }
      const ended = Promise.all([read(child.stdout), read(child.stderr)])
      // The process that created the namespaces is replaced by its command.
      const isCommand = (pid: number): boolean =>
        linkOf(pid, 'root') === root && !/\/(chroot|env)$/.test(linkOf(pid, 'exe') ?? '')
      const init = await findBelow(child, isCommand).catch(async () => {
        // It may have completed already.
        if (child.exitCode === 0) return 0
        child.kill('SIGKILL')
        await ended
        throw new Error(`${spec.name} did not start: ${log}`)
      })
      return {
        log: () => log,
        /** Its exit code, when all its output is in the log. */
        exited: ended.then(() => child.exited),
        isRunning: (): boolean => child.exitCode === null && child.signalCode === null,
        /** The variables of its first process. */
        environment: () =>
          readFileSync(`/proc/${init}/environ`, 'utf8').split('\0').filter(Boolean).sort(),
        /** Ends all its processes. */
        async kill(): Promise<void> {
          if (child.exitCode === null) process.kill(init, 'SIGKILL')
          await child.exited
        },
        async stop(signal: NodeJS.Signals, graceMs: number): Promise<void> {
          if (child.exitCode !== null) return
          process.kill(init, signal)
          const timer = setTimeout(() => process.kill(init, 'SIGKILL'), graceMs)
          await child.exited
          clearTimeout(timer)
        },
        /** Runs another command in the container. */
        exec: (command: readonly string[]) =>
          Bun.spawn(
            [
              'nsenter',
              `--target=${init}`,
              '--mount',
              '--net',
              '--pid',
              '--root',
              '--wd',
              `--setuid=${uid}`,
              `--setgid=${gid}`,
              '--',
              '/usr/bin/env',
              '-i',
              ...pairs,
              ...command,
            ],
            { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
          ),
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      host.kill('SIGKILL')
      await host.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
