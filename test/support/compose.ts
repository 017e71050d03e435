/**
 * `docker compose` for `deploy/compose.yaml`, with containers of `containers.ts` in place of
 * Docker: services with their command, environment, files, volumes, addresses, health checks and
 * restarts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Container, ContainerHost } from './containers.ts'

/** The properties of an image. `program` builds the command of a container. */
export type Image = {
  user: string
  env: Readonly<Record<string, string>>
  entrypoint: readonly string[]
  command: readonly string[]
  files: Readonly<Record<string, string>>
}

type Service = {
  image: string
  entrypoint?: string[]
  command?: string[]
  user?: string
  environment?: Record<string, string>
  volumes?: string[]
  configs?: { source: string; target: string }[]
  depends_on?: string[] | Record<string, { condition: 'service_started' | 'service_healthy' }>
  healthcheck?: { test?: string[]; disable?: boolean }
  networks?: { default?: { ipv4_address?: string } }
  restart?: 'unless-stopped' | 'on-failure'
  stop_signal?: NodeJS.Signals
  stop_grace_period?: string
}

type Project = {
  name: string
  services: Record<string, Service>
  configs: Record<string, { content: string }>
}

type Running = { container: Container; definition: string; isWanted: boolean }

const FIRST_ADDRESS = 128
const HEALTH_MS = 500
const HEALTH_CHECKS_MAX = 120
const RESTART_MS = 500

/** Interpolates like compose: `$$`, `${NAME}`, `${NAME-default}`, `${NAME:-default}`. */
export const interpolate = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replace(
    /\$(?:\$|\{(\w+)(?:(:?-)([^}]*))?\})/g,
    (all, name?: string, operator?: string, standard = '') => {
      if (name === undefined) return '$'
      const value = env[name]
      if (value === undefined && operator === undefined) throw new Error(`${all} is not set`)
      return value === undefined || (operator === ':-' && value === '') ? standard : value
    },
  )

const interpolateAll = <T>(value: T, env: Readonly<Record<string, string>>): T =>
  JSON.parse(JSON.stringify(value), (_key, each) =>
    typeof each === 'string' ? interpolate(each, env) : each,
  ) as T

function readEnvFile(path: string): Record<string, string> {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
}

export const idsOf = (user: string): { uid: number; gid: number } => {
  const [first = '', second = first] = user.split(':')
  if (/^\d+$/.test(first)) return { uid: Number(first), gid: Number(second) }
  const [, , uid, gid] =
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .find(([name]) => name === first) ?? []
  if (uid === undefined) throw new Error(`There is no user ${user}.`)
  return { uid: Number(uid), gid: Number(gid) }
}

/** `folder` contains the file and its `.env`. */
export function createCompose(
  host: ContainerHost,
  folder: string,
  images: Readonly<Record<string, Image>>,
) {
  const running = new Map<string, Running>()
  let addresses: Record<string, string> = {}

  function readProject(): Project {
    const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
    return interpolateAll(Bun.YAML.parse(text) as Project, readEnvFile(join(folder, '.env')))
  }

  function imageOf({ image }: Service): Image {
    const found = images[image]
    if (found === undefined) throw new Error(`There is no image ${image}.`)
    return found
  }

  /** The whole environment of a container: from its image and from the file. */
  const environmentOf = (service: Service): Record<string, string> => ({
    ...imageOf(service).env,
    ...service.environment,
  })

  async function start(project: Project, name: string): Promise<void> {
    const service = project.services[name]
    if (service === undefined) throw new Error(`There is no service ${name}.`)
    const image = imageOf(service)
    const user = idsOf(service.user ?? image.user)
    const configs = (service.configs ?? []).map(({ source, target }) => [
      target,
      project.configs[source]?.content ?? '',
    ])
    const volumes = (service.volumes ?? []).map((text) => {
      const [volume = '', path = ''] = text.split(':')
      return [path, host.makeVolume(volume, user)]
    })
    const container = await host.start({
      name,
      address: addresses[name] ?? '',
      hosts: addresses,
      env: environmentOf(service),
      command: [
        ...(service.entrypoint ?? image.entrypoint),
        ...(service.command ?? (service.entrypoint ? [] : image.command)),
      ],
      user,
      files: { ...image.files, ...Object.fromEntries(configs) },
      volumes: Object.fromEntries(volumes),
    })
    const state: Running = { container, definition: definitionOf(project, service), isWanted: true }
    running.set(name, state)
    void container.exited.then(async (code) => {
      await Bun.sleep(RESTART_MS)
      const isAgain =
        service.restart === 'unless-stopped' || (service.restart === 'on-failure' && code !== 0)
      if (isAgain && state.isWanted) await start(project, name).catch(() => undefined)
    })
  }

  const definitionOf = (project: Project, service: Service): string =>
    JSON.stringify([service, (service.configs ?? []).map(({ source }) => project.configs[source])])

  async function untilHealthy(project: Project, name: string): Promise<void> {
    const test = project.services[name]?.healthcheck?.test ?? []
    for (let checks = 0; checks < HEALTH_CHECKS_MAX; checks++) {
      const check = running.get(name)?.container
      if (check?.isRunning() && (await check.exec(test.slice(1)).exited) === 0) return
      await Bun.sleep(HEALTH_MS)
    }
    throw new Error(`${name} is not healthy: ${running.get(name)?.container.log()}`)
  }

  async function stop(name: string): Promise<void> {
    const state = running.get(name)
    if (state === undefined) return
    state.isWanted = false
    const { stop_signal: signal = 'SIGTERM', stop_grace_period: grace = '10s' } =
      readProject().services[name] ?? {}
    await state.container.stop(signal, Number.parseInt(grace, 10) * 1000)
    running.delete(name)
  }

  const compose = {
    /** Starts stopped services and restarts changed ones, in the order of dependencies. */
    async up(...only: readonly string[]): Promise<void> {
      const project = readProject()
      const names = Object.keys(project.services)
      const subnet = '172.29.0'
      addresses = Object.fromEntries(
        names.map((name, at) => [
          name,
          project.services[name]?.networks?.default?.ipv4_address ??
            `${subnet}.${FIRST_ADDRESS + at}`,
        ]),
      )
      const isDone = new Set<string>()
      const begin = async (name: string): Promise<void> => {
        if (isDone.has(name)) return
        isDone.add(name)
        const service = project.services[name]
        if (service === undefined) throw new Error(`There is no service ${name}.`)
        const { depends_on: needed = [] } = service
        const conditions = Array.isArray(needed)
          ? needed.map((other) => [other, 'service_started'] as const)
          : Object.entries(needed).map(([other, { condition }]) => [other, condition] as const)
        for (const [other, condition] of conditions) {
          await begin(other)
          if (condition === 'service_healthy') await untilHealthy(project, other)
        }
        const state = running.get(name)
        if (state?.isWanted && state.definition === definitionOf(project, service)) return
        await stop(name)
        await start(project, name)
      }
      // Like compose, ends all changed services first.
      for (const name of names) {
        const service = project.services[name]
        const state = running.get(name)
        if (service && state && state.definition !== definitionOf(project, service))
          await stop(name)
      }
      for (const name of only.length > 0 ? only : names) await begin(name)
    },

    stop,

    async kill(name: string): Promise<void> {
      const state = running.get(name)
      if (state === undefined) return
      state.isWanted = false
      await state.container.kill()
      running.delete(name)
    },

    container(name: string): Container {
      const state = running.get(name)
      if (state === undefined) throw new Error(`${name} does not run.`)
      return state.container
    },

    addressOf: (name: string): string => addresses[name] ?? '',
    hosts: () => addresses,
    services: () => readProject().services,
    environmentOf: (name: string): string[] =>
      Object.entries(environmentOf(readProject().services[name] ?? { image: '' }))
        .map(([variable, value]) => `${variable}=${value}`)
        .sort(),

    /** A command line after `docker`, such as `compose -f deploy/compose.yaml up -d`. */
    async docker(words: readonly string[]): Promise<{ exitCode: number; output: string }> {
      const [command, ...rest] = words
      if (command === 'volume') {
        for (const volume of rest.slice(1)) {
          host.removeVolume(volume.replace(`${readProject().name}_`, ''))
        }
        return { exitCode: 0, output: '' }
      }
      // The part after the name of the file, without options of the command.
      const [verb, ...values] = rest.slice(2)
      const first = values.findIndex((word) => !word.startsWith('-'))
      const [name = '', ...execCommand] = first === -1 ? [] : values.slice(first)
      if (verb === 'exec') {
        const child = compose.container(name).exec(execCommand)
        const output = (await Promise.all([child.stdout.text(), child.stderr.text()])).join('')
        return { exitCode: await child.exited, output }
      }
      if (verb === 'up') await compose.up()
      else if (verb === 'kill' || verb === 'rm') await compose.kill(name)
      else throw new Error(`docker ${words.join(' ')} is not known here.`)
      return { exitCode: 0, output: '' }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      for (const state of running.values()) state.isWanted = false
      await host[Symbol.asyncDispose]()
    },
  }
  return compose
}
