/**
 * `deploy/compose.yaml` and `deploy/kubernetes/bookfeed.yaml` are run: each container as a process
 * with its command, environment, files, names and addresses. The programs are those of Debian.
 */
import { describe, expect, test } from 'bun:test'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createCompose, idsOf } from '../support/compose.ts'
import { type Container, startContainerHost } from '../support/containers.ts'
import { missing, PATH, readImages, untilTrue } from '../support/images.ts'
import { someLines } from '../support/snapshot-lines.ts'

const root = new URL('../..', import.meta.url).pathname
const DRILL_MS_MAX = 1_200_000
const ROWS = 200
const FIRST_POD = 50
const SUBNET = '172.29.0.1/24'

/** Commands in the first comment of a file, by paragraph. */
const commandsOf = (text: string): string[][] =>
  (/^(?:#.*\n)+/.exec(text)?.[0] ?? '')
    .split(/\n#(?! {3})/)
    .map((paragraph) => [...paragraph.matchAll(/^# {3}(.*)$/gm)].map(([, line = '']) => line))
    .filter((lines) => lines.length > 0)

/** A checkout with what the commands need, and a `docker` that is the one of these tests. */
async function startDeployment(stack: AsyncDisposableStack) {
  const checkout = mkdtempSync(join(tmpdir(), 'bookfeed-deploy-'))
  stack.defer(() => rmSync(checkout, { recursive: true, force: true }))
  cpSync(join(root, 'deploy'), join(checkout, 'deploy'), { recursive: true })
  const host = await startContainerHost(SUBNET)
  const compose = stack.use(createCompose(host, join(checkout, 'deploy'), await readImages()))
  const docker = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { exitCode, output } = await compose.docker(
        (await request.text()).split('\n').slice(0, -1),
      )
      return new Response(output, { headers: { 'x-exit': String(exitCode) } })
    },
  })
  stack.defer(() => docker.stop(true))
  mkdirSync(join(checkout, 'bin'))
  const shim = join(checkout, 'bin/docker')
  writeFileSync(
    shim,
    `#!/usr/bin/env bash\nexec ${process.execPath} -e '
      const body = process.argv.slice(1).map((word) => word + "\\n").join("")
      const response = await fetch("${docker.url}", { method: "POST", body, timeout: false })
      process.stdout.write(await response.text())
      process.exit(Number(response.headers.get("x-exit") ?? 1))' -- "$@"\n`,
  )
  chmodSync(shim, 0o755)

  return {
    host,
    compose,
    /** Runs lines of the instructions; returns what the last one printed. */
    async follow(lines: readonly string[]): Promise<string> {
      const child = Bun.spawn(['bash', '-e', '-c', lines.join('\n')], {
        cwd: checkout,
        env: { PATH: `${checkout}/bin:${PATH}` },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
      if ((await child.exited) !== 0) throw new Error(`${lines.join('\n')}\n${output}${errors}`)
      return output.trim()
    },
    /** The status of an answer to a request from the network of the containers. */
    async request(url: string, key = ''): Promise<string> {
      const headers = key === '' ? [] : ['-H', `Authorization: Bearer ${key}`]
      const child = host.run([
        'curl',
        '-s',
        '-m',
        '60',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code}',
        ...headers,
        url,
      ])
      const status = await child.stdout.text()
      await child.exited
      return status
    },
  }
}

type Deployment = Awaited<ReturnType<typeof startDeployment>>

/** Writes that were acknowledged, and whether they are there. */
function createLedgerOfWrites({ compose, host, request }: Deployment, balancer: string) {
  const keys: string[] = []
  const files: number[] = []
  const volume = host.makeVolume('server-1', idsOf('65532'))
  const exec = async (...words: string[]) => {
    const child = compose.container('server-1').exec(['/bookfeed', ...words])
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
    return { exitCode: await child.exited, output, errors }
  }
  return {
    async write(): Promise<void> {
      const made = await exec('keys', 'create', '--tier', 'enterprise')
      expect(made).toMatchObject({ exitCode: 0 })
      keys.push(made.output.trim().split('\n')[0] ?? '')
      const number = files.length + 1
      const conditionId = `0x${String(number).padStart(64, '0')}`
      const timestamp = new Date(Date.UTC(2026, 3, 14, 8, 5 * number)).toISOString()
      writeFileSync(join(volume, `${number}.jsonl`), someLines(ROWS, { conditionId }))
      const imported = await exec('import', `/data/${number}.jsonl`)
      expect({ ...imported, timestamp }).toMatchObject({ exitCode: 0 })
      files.push(number)
    },
    async expectAll(): Promise<void> {
      await untilTrue(
        'A balancer that answers',
        async () => (await request(`${balancer}/readyz`)) === '200',
      )
      for (const key of keys) expect(await request(`${balancer}/v1/usage`, key)).toBe('200')
      const [key = ''] = keys
      for (const number of files) {
        const conditionId = `0x${String(number).padStart(64, '0')}`
        const page = `${balancer}/v1/btc/markets/${conditionId}/snapshots?limit=${ROWS}`
        const child = host.run(['curl', '-s', '-H', `Authorization: Bearer ${key}`, page])
        const { data } = JSON.parse(await child.stdout.text())
        expect(data).toHaveLength(ROWS)
      }
    },
  }
}

describe.skipIf(missing.length > 0)(
  `manifests that are run${missing.map((name) => `, without ${name}`)}`,
  () => {
    test(
      'behavior: compose.yaml fails over and back as it says, and loses nothing',
      async () => {
        await using stack = new AsyncDisposableStack()
        const deployment = await startDeployment(stack)
        const { compose, follow } = deployment
        const text = await Bun.file(join(root, 'deploy/compose.yaml')).text()
        const [begin = [], failOver = [], replaceDisk = [], waitAgain = []] = commandsOf(text)
        await follow(begin.slice(1, 3))
        const balancer = `http://${compose.addressOf('balancer')}`
        await untilTrue(
          'A server that answers',
          async () => (await deployment.request(`${balancer}/readyz`)) === '200',
        )
        // Other programs write over theirs.
        for (const [name, { image }] of Object.entries(compose.services())) {
          if (image !== 'bookfeed') continue
          expect(compose.container(name).environment(), name).toEqual(compose.environmentOf(name))
        }
        expect(await follow(begin.slice(3))).toMatch(/^bf_|^\S{20,}/)
        const writes = createLedgerOfWrites(deployment, balancer)
        await writes.write()

        await follow(failOver)
        await writes.write()
        await writes.expectAll()

        const [ask = '', ...makeSynchronous] = waitAgain
        await untilTrue('postgres-1 as a standby', async () =>
          (await follow([ask])).includes('streaming'),
        )
        await follow(makeSynchronous)
        await writes.write()
        await writes.expectAll()

        // Its disk is lost, too.
        await follow(replaceDisk)
        await untilTrue('postgres-1 as a standby', async () =>
          (await follow([ask])).includes('streaming'),
        )
        await writes.write()

        const back = failOver.map((line) =>
          line.replace(/postgres-[12]/g, (name) =>
            name === 'postgres-1' ? 'postgres-2' : 'postgres-1',
          ),
        )
        await follow(back)
        await writes.write()
        await writes.expectAll()
      },
      DRILL_MS_MAX,
    )

    test(
      'behavior: the containers of kubernetes/bookfeed.yaml become ready, and write and read together',
      async () => {
        await using stack = new AsyncDisposableStack()
        const deployment = await startDeployment(stack)
        const { compose, follow, host, request } = deployment
        // What the manifest leaves to others, with the passwords of its Secret.
        await follow([
          'printf "POSTGRES_PASSWORD=password\\nS3_SECRET_ACCESS_KEY=secret\\n" > deploy/.env',
        ])
        await compose.up('database', 'make-bucket')
        const { bookfeed: image = raise() } = await readImages()
        const pods: { container: Container; address: string; env: string[] }[] = []
        for (const { args, env, probe, graceSeconds, replicas } of await readWorkloads()) {
          for (let replica = 0; replica < replicas; replica++) {
            const address = `172.29.0.${FIRST_POD + pods.length}`
            const container = await host.start({
              name: `pod-${pods.length}`,
              address,
              hosts: compose.hosts(),
              env: { ...image.env, ...env },
              command: [...image.entrypoint, ...args],
              user: idsOf(image.user),
              files: image.files,
              volumes: { '/data': host.makeVolume(`pod-${pods.length}`, idsOf(image.user)) },
            })
            stack.defer(() => container.stop('SIGTERM', graceSeconds * 1000))
            const pairs = Object.entries({ ...image.env, ...env }).map((pair) => pair.join('='))
            pods.push({ container, address, env: pairs.sort() })
            if (probe === undefined) continue
            await untilTrue(
              'A pod that is ready',
              async () => (await request(`http://${address}:${probe.port}${probe.path}`)) === '200',
            )
          }
        }
        const [first = raise(), second = raise()] = pods
        const made = first.container.exec(['/bookfeed', 'keys', 'create', '--tier', 'enterprise'])
        const key = (await made.stdout.text()).trim().split('\n')[0] ?? ''
        expect(await request(`http://${second.address}:3000/v1/usage`, key)).toBe('200')
        for (const { container, env } of pods) {
          expect(container.isRunning(), container.log()).toBe(true)
          expect(container.environment()).toEqual(env)
        }
      },
      DRILL_MS_MAX,
    )
  },
)

type Workload = {
  args: string[]
  env: Record<string, string>
  probe: { path: string; port: number } | undefined
  graceSeconds: number
  replicas: number
}

/** Servers and recorders of the manifest, with the whole environment of their container. */
async function readWorkloads(): Promise<Workload[]> {
  type Pod = {
    terminationGracePeriodSeconds?: number
    containers: {
      image: string
      args: string[]
      envFrom: Record<string, { name: string }>[]
      env?: { name: string; value: string }[]
      ports: { name: string; containerPort: number }[]
      readinessProbe?: { httpGet: { path: string; port: string } }
    }[]
  }
  type Thing = {
    kind: string
    metadata: { name: string }
    data?: Record<string, string>
    stringData?: Record<string, string>
    spec?: { replicas?: number; template?: { spec: Pod } }
  }
  const text = await Bun.file(join(root, 'deploy/kubernetes/bookfeed.yaml')).text()
  const things = Bun.YAML.parse(text) as Thing[]
  const valuesOf = (reference: Record<string, { name: string }>): Record<string, string> => {
    const [[kind = '', { name = '' } = {}] = []] = Object.entries(reference)
    const found = things.find(
      (thing) =>
        thing.metadata.name === name && `${thing.kind}Ref`.toLowerCase() === kind.toLowerCase(),
    )
    return found?.data ?? found?.stringData ?? raise()
  }
  return things.flatMap(({ spec }) => {
    const pod = spec?.template?.spec
    if (pod === undefined) return []
    const { image, args, envFrom, env = [], ports, readinessProbe } = pod.containers[0] ?? raise()
    // The nginx in front: test/release/balancer.test.ts runs its configuration.
    if (image !== 'bookfeed') return []
    const { httpGet: probe } = readinessProbe ?? {}
    const port = ports.find(({ name }) => name === probe?.port)?.containerPort ?? raise()
    const named = env.map(({ name, value }) => ({ [name]: value }))
    return {
      args,
      env: Object.assign({}, ...envFrom.map(valuesOf), ...named),
      probe: probe && { path: probe.path, port },
      graceSeconds: pod.terminationGracePeriodSeconds ?? 30,
      replicas: spec?.replicas ?? 1,
    }
  })
}

function raise(): never {
  throw new Error('The manifest lacks something.')
}
