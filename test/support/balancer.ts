/**
 * The load balancers that operators copy from `deploy`, as a real nginx in front of servers on
 * loopback: without TLS, on other ports, and with callers identified by `X-Forwarded-For`.
 */
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { interpolate } from './compose.ts'
import { findFreePort } from './free-port.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
/** The path of `bun test`, with Debian's nginx. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const nginx = Bun.which('nginx', { PATH })
export const hasNginx = nginx !== null

type Compose = { configs: { balancer: { content: string } } }
type Thing = { kind: string; metadata: { name: string }; data?: Record<string, string> }

const readKubernetes = (): string => {
  const things = Bun.YAML.parse(read('deploy/kubernetes/bookfeed.yaml')) as Thing[]
  const map = things.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'balancer',
  )
  // Everything inside `http`, except directives that name other folders.
  const [, http = ''] = /\nhttp \{\n([\s\S]*)\}\n*$/.exec(map?.data?.['nginx.conf'] ?? '') ?? []
  return http
    .replace(/^ *(access_log|\w+_temp_path|resolver|set_real_ip_from|real_ip_\w+) .*;\n/gm, '')
    .replace(/ resolve;/g, ';')
}

/** The content of `http` in each configuration, as nginx reads it. */
export const balancerConfigs: Record<string, () => string> = {
  'nginx.conf': () => read('deploy/nginx.conf'),
  'compose.yaml': () => {
    const { configs } = Bun.YAML.parse(read('deploy/compose.yaml')) as Compose
    return interpolate(configs.balancer.content, { PRIMARY: '' })
  },
  'kubernetes/bookfeed.yaml': readKubernetes,
}

/** The route of a request: the servers that it was sent to, in order, and the response of each. */
export type Passed = {
  method: string
  caller: string
  ports: number[]
  statuses: string[]
}

/** Starts it in a new folder below `parent`. */
export async function startBalancer(name: string, origins: readonly string[], parent: string) {
  const folder = mkdtempSync(join(parent, 'balancer-'))
  const port = findFreePort()
  const log = join(folder, 'log')
  const servers = origins.map((origin) => `server ${new URL(origin).host} max_fails=0;`)
  const site = (balancerConfigs[name]?.() ?? '')
    .replace(/(^ *server [\w.:-]+ max_fails=0;\n)+/m, `${servers.join('\n')}\n`)
    // The server of nginx.conf that redirects to TLS.
    .replace(/^server \{\n\s+listen 80;[^}]*return 301[^}]*\}/m, '')
    .replace(/^ *(listen \[|ssl_).*\n/gm, '')
    .replace(/listen \d+( ssl)?;/, `listen 127.0.0.1:${port};`)
  const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = parts.map((part) => `${part}_temp_path ${folder}/${part};`)
  const config = `pid ${folder}/pid; error_log ${folder}/errors; worker_processes 1;
events { worker_connections 1024; }
http {
log_format passed '$request_method|$remote_addr|$upstream_addr|$upstream_status';
access_log ${log} passed; ${paths.join(' ')}
set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
${site}
}`
  mkdirSync(folder, { recursive: true })
  await Bun.write(join(folder, 'config'), config)
  const output = Bun.file(join(folder, 'output'))
  const child = Bun.spawn([nginx ?? '', '-g', 'daemon off;', '-c', join(folder, 'config')], {
    env: { PATH },
    stdout: output,
    stderr: output,
  })
  const origin = `http://127.0.0.1:${port}`
  const isUp = () =>
    fetch(`${origin}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`${await output.text()}\n${config}`)
    await Bun.sleep(50)
  }
  return {
    origin,
    /**
     * The requests passed on so far for a caller's address. nginx logs a request when its response
     * has ended.
     */
    async passedFor(address: string, count: number): Promise<Passed[]> {
      for (;;) {
        const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
        const passed = lines.map(toPassed).filter(({ caller }) => caller === address)
        if (passed.length >= count) return passed
        await Bun.sleep(10)
      }
    },
    async stop(): Promise<void> {
      child.kill()
      await child.exited
    },
  }
}

export type Balancer = Awaited<ReturnType<typeof startBalancer>>

function toPassed(line: string): Passed {
  const [method = '', caller = '', upstreams = '', answers = ''] = line.split('|')
  const ports = upstreams.split(', ').map((address) => Number(address.split(':')[1]))
  return { method, caller, ports, statuses: answers.split(', ') }
}
