/** The images of `deploy/compose.yaml`, with programs of this machine in place of theirs. */
import { join } from 'node:path'

import type { Image } from './compose.ts'
import { hasContainers } from './containers.ts'
import { postgresPrograms } from './engines/postgres.ts'
import { hasS3 } from './engines/s3.ts'
import { bookfeed } from './program.ts'

const root = new URL('../..', import.meta.url).pathname
const weed = new URL('./weed.ts', import.meta.url).pathname
const STREAM_MODULE = '/usr/lib/nginx/modules/ngx_stream_module.so'
const TRIES_MAX = 1_000
const RETRY_MS = 500
/** The path of a container. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** nginx with its TCP module, which is a separate package in Debian. */
function installStreamModule(): boolean {
  if (Bun.file(STREAM_MODULE).size > 0) return true
  if (Bun.which('apt-get') === null || process.getuid?.() !== 0) return false
  Bun.spawnSync(['apt-get', 'install', '-y', 'nginx', 'libnginx-mod-stream'], { timeout: 180_000 })
  return Bun.file(STREAM_MODULE).size > 0
}

/** Requirements of containers that this machine lacks. */
export const missing: readonly string[] = [
  hasContainers ? '' : 'namespaces',
  postgresPrograms === undefined ? 'PostgreSQL' : '',
  hasS3 ? '' : 'radosgw',
  installStreamModule() ? '' : 'nginx with its stream module',
].filter(Boolean)

/** The image described by `Dockerfile`, with this program in place of the executable. */
async function readOwnImage(): Promise<Image> {
  const text = await Bun.file(join(root, 'Dockerfile')).text()
  const wordsOf = (name: string): string[] =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(text)?.[1] ?? '[]')
  const pairs = [...text.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '))
  return {
    user: /^USER (.*)$/m.exec(text)?.[1] ?? '',
    env: Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string])),
    entrypoint: wordsOf('ENTRYPOINT'),
    command: wordsOf('CMD'),
    files: { '/bookfeed': `#!/bin/sh\nexec env -u PWD ${bookfeed().join(' ')} "$@"\n` },
  }
}

export async function readImages(): Promise<Record<string, Image>> {
  const nginx = `pid /run/nginx.pid; error_log stderr; events {}
http { access_log off; include /etc/nginx/mime.types; include /etc/nginx/conf.d/*.conf; }`
  return {
    bookfeed: await readOwnImage(),
    'postgres:17': {
      user: 'root',
      env: { PATH: `${postgresPrograms}:${PATH}` },
      entrypoint: [],
      command: [],
      files: {},
    },
    'nginx:1.28': {
      user: 'root',
      env: { PATH },
      entrypoint: ['nginx'],
      command: ['-g', `load_module ${STREAM_MODULE}; daemon off;`],
      files: { '/etc/nginx/nginx.conf': nginx },
    },
    'chrislusf/seaweedfs': {
      user: 'root',
      env: { PATH: `/image:${PATH}` },
      entrypoint: ['weed'],
      command: [],
      files: {
        '/image/weed': `#!/bin/sh\nexec ${process.execPath} ${weed} "$@"\n`,
      },
    },
  }
}

/** Waits until a condition is true; `what` is for the message. */
export async function untilTrue(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await isTrue()) return
    await Bun.sleep(RETRY_MS)
  }
  throw new Error(`${what} did not come true.`)
}
