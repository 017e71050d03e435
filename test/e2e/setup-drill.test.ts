/**
 * The steps of "Setting it up" in `docs/scale.md`, as they are written: from one data folder to two
 * recorders and two servers, each on a machine of its own.
 */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import type { Image } from '../support/compose.ts'
import { idsOf } from '../support/compose.ts'
import { type Container, type ContainerHost, startContainerHost } from '../support/containers.ts'
import { missing, readImages, untilTrue } from '../support/images.ts'
import { someLines } from '../support/snapshot-lines.ts'

const root = new URL('../..', import.meta.url).pathname
const DRILL_MS_MAX = 900_000
const ROWS = 50
const names = ['db', 'bucket', 'admin', 'recorder-1', 'recorder-2', 'server-1', 'server-2']
const hosts = Object.fromEntries(names.map((name, at) => [name, `172.28.0.${at + 10}`]))

/** A PostgreSQL whose superuser needs no password, as on its own machine. */
const POSTGRES = `initdb --username=postgres --auth=trust --pgdata=/data && echo '
host all bookfeed all scram-sha-256
host all postgres all trust' > /data/pg_hba.conf && exec postgres -D /data -c listen_addresses='*'`
const BUCKET = JSON.stringify({
  identities: [{ credentials: [{ accessKey: 'bookfeed', secretKey: 'secret' }] }],
})

/** The blocks of commands below a heading, in order. */
async function readBlocks(heading: string): Promise<string[]> {
  const text = await Bun.file(join(root, 'docs/scale.md')).text()
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) => block)
}

function startMachine(host: ContainerHost, name: string, image: Image, command: readonly string[]) {
  return host.start({
    name,
    address: hosts[name] ?? '',
    hosts,
    env: image.env,
    command,
    user: idsOf(image.user),
    files: image.files,
    volumes: { '/data': host.makeVolume(name, idsOf(image.user)) },
  })
}

describe.skipIf(missing.length > 0)(
  `docs/scale.md${missing.map((name) => `, without ${name}`).join('')}`,
  () => {
    test(
      'default: its commands lead from a data folder to two servers that are ready',
      async () => {
        await using host = await startContainerHost('172.28.0.1/24')
        const images = await readImages()
        const { bookfeed, 'postgres:17': postgres, 'chrislusf/seaweedfs': weed } = images
        if (!bookfeed || !postgres || !weed) throw new Error('An image is missing.')
        const program = bookfeed.files['/bookfeed'] ?? ''
        const machine: Image = {
          user: 'root',
          env: { PATH: `/image:${postgres.env.PATH}` },
          entrypoint: [],
          command: [],
          files: { '/image/bookfeed': program, '/lines.jsonl': someLines(ROWS) },
        }
        const start = (name: string, ...lines: string[]): Promise<Container> =>
          startMachine(host, name, machine, ['bash', '-e', '-c', lines.join('\n')])
        const finish = async (container: Container): Promise<string> => {
          expect([await container.exited, container.log()]).toEqual([0, expect.any(String)])
          return container.log()
        }

        const database = { ...postgres, user: 'postgres' }
        const db = await startMachine(host, 'db', database, ['bash', '-c', POSTGRES])
        const files = { ...weed.files, '/etc/bucket.json': BUCKET }
        const words = ['weed', 'server', '-s3', '-s3.config=/etc/bucket.json']
        const bucket = await startMachine(host, 'bucket', { ...weed, files }, words)
        await untilTrue('PostgreSQL', async () => {
          const ready = db.exec(['pg_isready', '--host', 'db'])
          return (await ready.exited) === 0
        })
        await untilTrue('The bucket', async () => {
          const ready = bucket.exec(['curl', '-s', '-o', '/dev/null', 'http://bucket:8333'])
          return (await ready.exited) === 0
        })

        const [make = '', move = '', addresses = '', record = '', serve = '', look = ''] =
          await readBlocks('Setting it up')
        await finish(await start('admin', 'bookfeed import /lines.jsonl', make, move))
        const recorders = [
          await start('recorder-1', addresses, record),
          await start('recorder-2', addresses, record),
        ]
        const servers = [
          await start('server-1', addresses, serve),
          await start('server-2', addresses, serve),
        ]
        await untilTrue('Both servers', async () => {
          const asked = servers.map((each, at) =>
            each.exec(['curl', '-s', '--fail', `http://server-${at + 1}:3000/readyz`]),
          )
          return (await Promise.all(asked.map(({ exited }) => exited))).every((code) => code === 0)
        })
        const printed = await finish(await start('admin', addresses, look))
        const key = /^bf_\S+/m.exec(printed)?.[0] ?? ''
        for (const running of [...recorders, ...servers]) {
          expect(running.isRunning(), running.log()).toBe(true)
          expect(running.log()).not.toContain('Signup is closed: BOOKFEED_PUBLIC_URL')
        }
        // What was in the folder is served by both.
        const conditionId = `0x${'1a'.repeat(32)}`
        for (const name of ['server-1', 'server-2']) {
          const url = `http://${hosts[name]}:3000/v1/btc/markets/${conditionId}/snapshots?limit=100`
          const asked = host.run(['curl', '-s', '-H', `Authorization: Bearer ${key}`, url])
          const { data } = JSON.parse(await asked.stdout.text())
          expect(data).toHaveLength(ROWS)
        }
      },
      DRILL_MS_MAX,
    )
  },
)
