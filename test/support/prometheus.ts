/**
 * A real Prometheus as a child process, which reads metrics of this machine and applies alert
 * rules.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { isChosen } from './engines/chosen.ts'
import { findFreePort } from './free-port.ts'

const DOWNLOAD_MS_MAX = 180_000
const LOOK_MS = 100
const LOOKS_MAX = 1_200
/** Exceeds the time of a server's response while an engine hangs. */
const SCRAPE_SECONDS = 5
const silent = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const

/**
 * The folder of its programs; undefined if `ENGINES` excludes what it watches, or they cannot be
 * installed.
 */
export const prometheusPrograms: string | undefined = isChosen('postgres')
  ? (findInPath() ?? unpack())
  : undefined

function findInPath(): string | undefined {
  const path = Bun.which('promtool')
  return path === null || Bun.which('prometheus') === null ? undefined : join(path, '..')
}

/** Unpacks Debian's package without installing it, which would start a service. */
function unpack(): string | undefined {
  if (Bun.which('apt-get') === null || Bun.which('dpkg-deb') === null) return undefined
  const folder = join(tmpdir(), `bookfeed-prometheus-${process.getuid?.()}`)
  const programs = join(folder, 'usr/bin')
  if (existsSync(join(programs, 'prometheus'))) return programs
  const scratch = mkdtempSync(`${folder}-`)
  try {
    const options = { cwd: scratch, ...silent, timeout: DOWNLOAD_MS_MAX }
    Bun.spawnSync(['apt-get', 'download', 'prometheus'], options)
    const [archive] = new Bun.Glob('prometheus_*.deb').scanSync(scratch)
    if (archive === undefined) return undefined
    mkdirSync(folder, { recursive: true })
    Bun.spawnSync(['dpkg-deb', '-x', join(scratch, archive), folder], silent)
    return existsSync(join(programs, 'prometheus')) ? programs : undefined
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

export type Alert = { labels: Record<string, string>; annotations: Record<string, string> }

/** Runs `promtool check rules` on a file; returns its output, and true if it finds no fault. */
export function checkRules(path: string): { isSound: boolean; output: string } {
  const { success, stdout, stderr } = Bun.spawnSync([
    join(prometheusPrograms ?? '', 'promtool'),
    'check',
    'rules',
    path,
  ])
  return { isSound: success, output: `${stdout}${stderr}` }
}

/**
 * Scrapes `targets` (`host:port` by instance) as one job; `rules` fire at once, without their
 * `for`.
 */
export async function startPrometheus(targets: readonly string[], rules: string) {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-prometheus-data-'))
  const port = findFreePort()
  writeFileSync(join(folder, 'rules.yml'), rules.replace(/^( +)for: .*$/gm, '$1for: 0s'))
  writeFileSync(
    join(folder, 'prometheus.yml'),
    Bun.YAML.stringify({
      global: {
        scrape_interval: `${SCRAPE_SECONDS}s`,
        scrape_timeout: `${SCRAPE_SECONDS}s`,
        evaluation_interval: '1s',
      },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'bookfeed', static_configs: [{ targets }] }],
    }),
  )
  const child = Bun.spawn(
    [
      join(prometheusPrograms ?? '', 'prometheus'),
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    silent,
  )
  const origin = `http://127.0.0.1:${port}`
  for (let looks = 0; ; looks++) {
    const isReady = await fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) break
    if (looks === LOOKS_MAX) throw new Error('Prometheus did not start.')
    await Bun.sleep(LOOK_MS)
  }
  return {
    async firing(): Promise<Alert[]> {
      const response = await fetch(`${origin}/api/v1/alerts`)
      const { data } = (await response.json()) as {
        data: { alerts: (Alert & { state: string })[] }
      }
      return data.alerts.filter(({ state }) => state === 'firing')
    },
    async [Symbol.asyncDispose](): Promise<void> {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
