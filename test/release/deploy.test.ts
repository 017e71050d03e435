/** What operators copy: that it fits the program, as far as can be known without their programs. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DRAIN_MS_MAX } from '#src/cli/server-jobs.ts'
import { configVariables, readConfig } from '#src/config.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (name: string): Promise<string> => Bun.file(join(root, name)).text()
const files = ['Dockerfile', ...[...new Bun.Glob('deploy/*').scanSync(root)].sort()]

test.each(files)('default: %s names variables that exist', async (file) => {
  const known = configVariables.map(({ name }) => name)
  const named = (await read(file)).match(/\bBOOKFEED_[A-Z_]+/g) ?? []
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

describe('deploy/bookfeed.service', () => {
  const analyze = Bun.which('systemd-analyze')

  test('default: its settings start a server', async () => {
    const pairs = [
      ...(await read('deploy/bookfeed.service')).matchAll(/^Environment=(\w+)=(.*)$/gm),
    ]
    expect(pairs.length).toBeGreaterThan(0)
    expect(
      readConfig(Object.fromEntries(pairs.map(([, name, value]) => [name, value]))),
    ).toBeDefined()
  })

  test('default: it is not killed while it drains and ends what is in flight', async () => {
    const text = await read('deploy/bookfeed.service')
    const { drainSeconds } = readConfig({
      BOOKFEED_DRAIN_SECONDS: /DRAIN_SECONDS=(\d+)/.exec(text)?.[1],
    })
    const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])
    expect(drainSeconds).toBeGreaterThan(0)
    expect(stopSeconds).toBeGreaterThan(drainSeconds + DRAIN_MS_MAX / 1000)
  })

  test.skipIf(analyze === null)(
    'default: systemd takes every line, and finds it closed',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'bookfeed-unit-'))
      try {
        const path = join(folder, 'bookfeed.service')
        // It looks whether the program is there.
        const unit = (await read('deploy/bookfeed.service')).replace(
          '=/usr/local/bin/bookfeed',
          '=/bin/true',
        )
        await Bun.write(path, unit)
        const ask = (...args: string[]) => Bun.spawnSync([analyze ?? '', ...args, path])
        const { exitCode, stderr } = ask('verify')
        expect([exitCode, stderr.toString()]).toEqual([0, ''])
        // Out of ten that a unit without any protection has.
        expect(ask('security', '--offline=true', '--threshold=20').exitCode).toBe(0)
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
  )
})

describe.each(['deploy/nginx.conf', 'deploy/Caddyfile'])('%s', (file) => {
  test('default: passes to the port that a server has by itself, and keeps /admin in', async () => {
    const text = await read(file)
    expect(text).toContain(`127.0.0.1:${readConfig({}).port}`)
    expect(text).toMatch(/admin[^}]*404/)
    const plain = text.replace(/#.*$/gm, '')
    expect(plain.split('{')).toHaveLength(plain.split('}').length)
  })

  test('default: streams are not held back, nor compressed again', async () => {
    const text = await read(file)
    expect(text).toMatch(/proxy_buffering off;|flush_interval -1/)
    expect(text).not.toMatch(/^\s*(gzip on|encode)\b/m)
  })
})

describe('deploy/compose.yaml', () => {
  type Service = {
    image: string
    command?: string[]
    environment?: Record<string, string>
    volumes?: string[]
    depends_on?: string[] | object
    configs?: { source: string }[]
  }
  type Compose = Record<'services', Record<string, Service>> &
    Record<'configs' | 'volumes', Record<string, object | null>>
  const readCompose = async () => Bun.YAML.parse(await read('deploy/compose.yaml')) as Compose

  test('default: every process of ours starts with its settings', async () => {
    const { services } = await readCompose()
    const ours = Object.values(services).filter(({ image }) => image === 'bookfeed')
    expect(ours.map(({ command }) => command?.join())).toEqual([
      ...['serve', 'serve', 'record', 'record'],
    ])
    for (const { environment = {} } of ours) {
      const own = Object.entries(environment).filter(([name]) => name.startsWith('BOOKFEED_'))
      const config = readConfig(Object.fromEntries(own))
      expect(new URL(config.history).hostname).toBe('database')
      expect([config.limits, config.archive]).toEqual([
        'redis://redis:6379/0',
        's3://books/history',
      ])
    }
  })

  test('default: every name in it is of something in it, and no two processes share a folder', async () => {
    const { services, volumes, configs } = await readCompose()
    const all = Object.values(services)
    const names = Object.keys(services)
    for (const { depends_on: needed = [], configs: used = [] } of all) {
      const others = Array.isArray(needed) ? needed : Object.keys(needed)
      expect(others.filter((name) => !names.includes(name))).toEqual([])
      expect(used.filter(({ source }) => configs[source] === undefined)).toEqual([])
    }
    const mounted = all
      .flatMap((service) => service.volumes ?? [])
      .map((text) => text.split(':')[0])
    expect(mounted.sort()).toEqual(Object.keys(volumes).sort())
  })
})

describe('Dockerfile', () => {
  test('default: from nothing, as a number that is not root, with one volume', async () => {
    const text = await read('Dockerfile')
    expect(text.match(/^FROM .*$/gm)).toEqual(['FROM scratch'])
    expect(text).toMatch(/^USER [1-9]\d+:[1-9]\d+$/m)
    expect(text.match(/^VOLUME .*$/gm)).toEqual(['VOLUME /data'])
    // Without a shell each is a list of words.
    for (const name of ['HEALTHCHECK', 'ENTRYPOINT', 'CMD'])
      expect(text).toMatch(new RegExp(`^${name}\\b[^[]*\\["`, 'm'))
  })
})
