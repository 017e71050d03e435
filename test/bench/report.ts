import { readFileSync } from 'node:fs'
import { arch, cpus, totalmem } from 'node:os'

import type { Result } from './measure.ts'

/** The names that the ratios refer to. */
export const referenceNames = {
  plain: 'plain Elysia',
  fastify: 'Fastify',
  ceiling: 'ceiling',
  open: 'without access',
}

/** A Markdown table of one scenario. */
export function toTable(title: string, results: readonly Result[]): string {
  const rateOf = (name: string) =>
    results.find((result) => result.name === name)?.sample.requestsPerSecond
  const head = [
    'server',
    'req/s',
    '× plain',
    '× Fastify',
    'of ceiling',
    'of open',
    'p50 ms',
    'p99 ms',
  ]
  const rows = results.map(({ name, sample, isWrapped }) => [
    name + (isWrapped ? ' (pages repeated)' : '') + toWarning(sample.failures),
    toInteger(sample.requestsPerSecond),
    toRatio(sample.requestsPerSecond, rateOf(referenceNames.plain)),
    toRatio(sample.requestsPerSecond, rateOf(referenceNames.fastify)),
    toRatio(sample.requestsPerSecond, rateOf(referenceNames.ceiling)),
    toRatio(sample.requestsPerSecond, rateOf(referenceNames.open)),
    sample.p50Ms.toFixed(1),
    sample.p99Ms.toFixed(1),
    toInteger(sample.cpuUsPerRequest),
    (sample.bytesPerResponse / 1000).toFixed(1),
    toInteger(sample.rssBytes / 1e6),
  ])
  return `### ${title}\n\n${toMarkdown([[...head, 'CPU µs', 'KB', 'RSS MB'], ...rows])}`
}

/** Facts as a two-column table. */
export const toFacts = (title: string, facts: readonly (readonly [string, string])[]) =>
  `### ${title}\n\n${toMarkdown([['what', 'measured'], ...facts])}`

/** The machine, the date and the versions: figures without them mean nothing. */
export function describeMachine(): string {
  const [cpu] = cpus()
  const kernel = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()
  const node = Bun.spawnSync(['node', '--version']).stdout.toString().trim()
  const memory = `${toInteger(totalmem() / 1e9)} GB`
  return [
    new Date().toISOString().slice(0, 10),
    `${cpu?.model.trim()} (${cpus().length} cores, ${arch()}), ${memory}, Linux ${kernel}`,
    `Bun ${Bun.version}, Node ${node.replace('v', '')}`,
  ].join('; ')
}

export const toInteger = (value: number) => Math.round(value).toLocaleString('en-US')

const toWarning = (failures: number) => (failures === 0 ? '' : ` (${failures} FAILED)`)

function toRatio(rate: number, reference: number | undefined): string {
  if (reference === undefined) return '–'
  const ratio = rate / reference
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2)
}

function toMarkdown(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}
