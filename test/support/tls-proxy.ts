/** The proxies that operators copy from `deploy`, on other ports and with their own certificate. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { findFreePort } from './free-port.ts'

const root = new URL('../..', import.meta.url).pathname

type Place = { folder: string; port: number; serverPort: string }
type TlsProxy = {
  name: string
  file: string
  command: (config: string) => string[]
  toConfig: (text: string, place: Place) => string
}

const nginx: TlsProxy = {
  name: 'nginx',
  file: 'deploy/nginx.conf',
  command: (config) => ['nginx', '-g', 'daemon off;', '-c', config],
  toConfig: (text, { folder, port, serverPort }) => {
    const site = text
      .replace('127.0.0.1:3000', `127.0.0.1:${serverPort}`)
      .replace(/listen \[.*\n/g, '')
      .replace('listen 80;', `listen 127.0.0.1:${findFreePort()};`)
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace(/\/etc\/.*\/(fullchain|privkey)\.pem/g, `${folder}/$1.pem`)
    const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const folders = parts.map((part) => `${part}_temp_path ${folder}/${part};`)
    return `pid ${folder}/pid; error_log ${folder}/errors; events {} http { access_log off; ${folders.join(' ')}\n${site}\n}`
  },
}

const caddy: TlsProxy = {
  name: 'caddy',
  file: 'deploy/Caddyfile',
  command: (config) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', config],
  toConfig: (text, { folder, port, serverPort }) => {
    const tls = `tls ${folder}/fullchain.pem ${folder}/privkey.pem`
    const site = text
      .replace('reverse_proxy 127.0.0.1:3000', `reverse_proxy 127.0.0.1:${serverPort}`)
      .replace(/^books\.example\.com \{/m, `https://localhost:${port} {\n\t${tls}`)
    return `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}\n}\n${site}`
  },
}

export const tlsProxies = [nginx, caddy]

/** True if a proxy and the program that creates its certificate are installed. */
export const hasProxy = (name: string): boolean =>
  Bun.which(name) !== null && Bun.which('openssl') !== null

/** Starts a proxy on `https://localhost` with its own certificate, and waits until it responds. */
export async function startTlsProxy(
  name: string,
  { folder, port, serverOrigin }: { folder: string; port: number; serverOrigin: string },
) {
  const found = tlsProxies.find((each) => each.name === name)
  if (found === undefined) throw new Error(`No proxy is ${name}.`)
  const key = join(folder, 'privkey.pem')
  const chain = join(folder, 'fullchain.pem')
  const own = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const made = ['-keyout', key, '-out', chain, '-subj', '/CN=localhost', '-days', '1']
  const named = ['-addext', 'subjectAltName=DNS:localhost']
  const { exitCode } = Bun.spawnSync(['openssl', ...own, ...made, ...named])
  if (exitCode !== 0) throw new Error('openssl made no certificate.')
  const config = join(folder, 'config')
  const text = await Bun.file(join(root, found.file)).text()
  const place = { folder, port, serverPort: new URL(serverOrigin).port }
  writeFileSync(config, found.toConfig(text, place))
  const env = { PATH: '/usr/sbin:/usr/bin:/bin', HOME: folder }
  const output = Bun.file(join(folder, 'output'))
  const child = Bun.spawn(found.command(config), {
    env,
    cwd: folder,
    stdout: output,
    stderr: output,
  })
  const isUp = () =>
    fetch(`https://localhost:${port}/healthz`, { tls: { rejectUnauthorized: false } }).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(await output.text())
    await Bun.sleep(50)
  }
  return {
    origin: `https://localhost:${port}`,
    async stop() {
      child.kill()
      await child.exited
    },
  }
}
