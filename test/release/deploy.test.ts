/** What operators copy: that it fits the program, as far as can be known without their programs. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { DRAIN_MS_MAX } from '#src/server/listen.ts'

import { configVariables, readConfig } from '../support/config.ts'

const root = new URL('../..', import.meta.url).pathname
const read = (name: string): Promise<string> => Bun.file(join(root, name)).text()
const files = ['Dockerfile', ...[...new Bun.Glob('deploy/**').scanSync(root)].sort()]

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

  test('default: the unit and the image set for the runtime what `bun run start` does', async () => {
    const { start } = (await Bun.file(join(root, 'package.json')).json()).scripts
    const pairs = start.match(/\b[A-Z]\w*=\S+/g)
    expect(pairs.length).toBeGreaterThan(0)
    const unit = await read('deploy/bookfeed.service')
    const image = await read('Dockerfile')
    for (const pair of pairs) {
      expect(unit).toContain(`\nEnvironment=${pair}\n`)
      expect(
        image
          .match(/^ENV .*$/gm)
          ?.join(' ')
          .split(' '),
      ).toContain(pair)
    }
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
      'serve',
      'serve',
      'record',
      'record',
    ])
    for (const { environment = {} } of ours) {
      const own = Object.entries(environment).filter(([name]) => name.startsWith('BOOKFEED_'))
      const config = readConfig(Object.fromEntries(own))
      expect(new URL(String(config.history)).hostname).toBe('database')
      expect(config.archive).toBe('s3://books/history')
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

describe('deploy/kubernetes/bookfeed.yaml', () => {
  type Labels = Record<string, string>
  type Container = {
    image: string
    args?: string[]
    envFrom?: Record<string, { name: string }>[]
    env?: { name: string; value: string }[]
    ports?: { name: string; containerPort: number }[]
    readinessProbe?: Probe
    livenessProbe?: Probe
    startupProbe?: Probe
    volumeMounts: { name: string; mountPath: string }[]
    securityContext: { readOnlyRootFilesystem?: boolean }
  }
  type Probe = { httpGet: { path: string; port: string }; periodSeconds: number }
  type Pod = {
    terminationGracePeriodSeconds?: number
    containers: [Container]
    volumes?: { name: string; configMap?: { name: string } }[]
  }
  type Thing = {
    kind: string
    metadata: { name: string }
    data?: Labels
    stringData?: Labels
    spec?: {
      replicas?: number
      serviceName?: string
      clusterIP?: string
      minAvailable?: number
      selector: Labels & { matchLabels?: Labels }
      ports?: { targetPort: string }[]
      template?: { metadata: { labels: Labels }; spec: Pod }
      volumeClaimTemplates?: { metadata: { name: string } }[]
    }
  }
  const readThings = async () =>
    Bun.YAML.parse(await read('deploy/kubernetes/bookfeed.yaml')) as Thing[]
  const findThing = (things: readonly Thing[], kind: string, name: string) =>
    things.find((each) => each.kind === kind && each.metadata.name === name)
  const workloadsOf = (things: readonly Thing[]) =>
    things.flatMap(({ kind, spec }) => {
      if (spec?.template === undefined) return []
      const [container] = spec.template.spec.containers
      return [
        { kind, spec, pod: spec.template.spec, container, labels: spec.template.metadata.labels },
      ]
    })
  const envOf = (things: readonly Thing[], { envFrom = [], env = [] }: Container): Labels => {
    const named = envFrom.flatMap((each) =>
      Object.entries(each).map(([ref, { name }]) =>
        things.find(
          ({ kind, metadata }) =>
            metadata.name === name && ref === `${kind[0]?.toLowerCase()}${kind.slice(1)}Ref`,
        ),
      ),
    )
    expect(named).not.toContain(undefined)
    return Object.assign(
      {},
      ...named.map((each) => each?.data ?? each?.stringData),
      ...env.map(({ name, value }) => ({ [name]: value })),
    ) as Labels
  }

  test('default: servers and recorders start with their settings, and share everything', async () => {
    const things = await readThings()
    const workloads = workloadsOf(things).filter(({ container }) => container.image === 'bookfeed')
    expect(workloads.map(({ kind, container }) => [kind, ...(container.args ?? [])])).toEqual([
      ['StatefulSet', 'serve'],
      ['StatefulSet', 'record'],
    ])
    for (const { container, spec } of workloads) {
      const own = Object.entries(envOf(things, container))
      const config = readConfig(
        Object.fromEntries(own.filter(([name]) => name.startsWith('BOOKFEED_'))),
      )
      expect(spec.replicas).toBe(2)
      expect([config.history, config.ledger]).toEqual([config.ledger, config.history])
      expect(config.history).toStartWith('postgres://')
      expect(config.archive).toStartWith('s3://')
      expect(own.map(([name]) => name)).toEqual(
        expect.arrayContaining(['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']),
      )
    }
  })

  test('default: a server is left alone before it ends, and is not killed while it drains', async () => {
    const things = await readThings()
    const [{ pod, container } = raise()] = workloadsOf(things)
    const { BOOKFEED_DRAIN_SECONDS: seconds } = envOf(things, container)
    const { drainSeconds, port } = readConfig({ BOOKFEED_DRAIN_SECONDS: seconds })
    const [http] = container.ports ?? []
    expect(http).toEqual({ name: 'http', containerPort: port })
    const { readinessProbe: ready, livenessProbe: alive, startupProbe: start } = container
    expect([ready?.httpGet, alive?.httpGet, start?.httpGet]).toEqual([
      { path: '/readyz', port: 'http' },
      { path: '/healthz', port: 'http' },
      { path: '/healthz', port: 'http' },
    ])
    expect(drainSeconds).toBeGreaterThan(2 * (ready?.periodSeconds ?? drainSeconds))
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds + DRAIN_MS_MAX / 1000)
  })

  test('default: whatever selects pods finds some, and every volume is there', async () => {
    const things = await readThings()
    const workloads = workloadsOf(things)
    const selectors = things.flatMap(({ kind, spec }) =>
      spec === undefined ? [] : [{ kind, labels: spec.selector.matchLabels ?? spec.selector }],
    )
    const count = (kind: string): number => selectors.filter((each) => each.kind === kind).length
    expect([count('PodDisruptionBudget'), count('Service')]).toEqual([3, 3])
    for (const { labels } of selectors)
      expect(workloads.filter((each) => Bun.deepEquals(each.labels, labels))).toHaveLength(1)
    for (const { kind, container, pod, spec } of workloads) {
      const volumes = [
        ...(pod.volumes ?? []),
        ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata),
      ]
      const mounted = container.volumeMounts.map(({ name }) => name)
      expect(mounted).toEqual(volumes.map(({ name }) => name))
      const maps = (pod.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? [])
      expect(maps.filter((name) => findThing(things, 'ConfigMap', name) === undefined)).toEqual([])
      if (kind !== 'StatefulSet') continue
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(['/data'])
      // It names each pod, so it has no address of its own.
      expect(findThing(things, 'Service', spec.serviceName ?? '')?.spec?.clusterIP).toBe('None')
    }
  })

  test('default: the balancer names each server, and is what the Service of callers leads to', async () => {
    const things = await readThings()
    const [server = raise()] = workloadsOf(things)
    const balancer =
      workloadsOf(things).find(({ container }) => container.image.startsWith('nginx:')) ?? raise()
    const config = findThing(things, 'ConfigMap', 'balancer')?.data?.['nginx.conf'] ?? ''
    const names = Array.from(
      { length: server.spec.replicas ?? 0 },
      (_, at) => `server-${at}.${server.spec.serviceName}.bookfeed.svc.cluster.local`,
    )
    const port = server.container.ports?.find(({ name }) => name === 'http')?.containerPort
    expect([...config.matchAll(/^ *server (\S+:\d+) /gm)].map(([, name]) => name)).toEqual(
      names.map((name) => `${name}:${port}`),
    )
    const [listening] = balancer.container.ports ?? []
    expect(config).toContain(`listen ${listening?.containerPort};`)
    expect(config).toContain(`location ${balancer.container.readinessProbe?.httpGet.path} {`)
    const outside = findThing(things, 'Service', 'bookfeed')
    expect(outside?.spec?.selector).toEqual(balancer.labels)
    expect(outside?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http'])
    // Nothing is written but below a volume.
    expect(balancer.container.securityContext.readOnlyRootFilesystem).toBe(true)
    for (const [, path] of config.matchAll(/(?:pid|_temp_path) (\S+);/g))
      expect(path).toStartWith('/tmp/')
  })
})

const raise = (): never => {
  throw new Error('There is no workload.')
}

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
