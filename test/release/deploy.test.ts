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
