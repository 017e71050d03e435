import { readFileSync } from 'node:fs'
import { arch, cpus, loadavg, totalmem } from 'node:os'

import { coresTitle } from './cores.ts'
import type { Result } from './measure.ts'

/** The names that the ratios refer to. */
export const referenceNames = {
  plain: 'plain Elysia',
  fastify: 'Fastify',
  ceiling: 'ceiling',
  open: 'without access',
  small: '10,000 snapshots',
  hello: 'hello, Bun alone',
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
    'time : at 10,000',
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
    toInverse(sample.requestsPerSecond, rateOf(referenceNames.small)),
    sample.p50Ms.toFixed(2),
    sample.p99Ms.toFixed(2),
    toInteger(sample.cpuUsPerRequest),
    toInteger(sample.kernelUsPerRequest),
    (sample.bytesPerResponse / 1000).toFixed(1),
    toInteger(sample.anonBytes / 1e6),
    toInteger((sample.rssBytes - sample.anonBytes) / 1e6),
  ])
  const measured = ['CPU µs', 'of that kernel', 'KB', 'anonymous MB', 'mapped MB']
  return `### ${title}\n\n${toMarkdown(withoutEmpty([[...head, ...measured], ...rows]))}`
}

/** Columns that hold something. */
function withoutEmpty(rows: readonly (readonly string[])[]) {
  const isFilled = (_: string, column: number) => rows.slice(1).some((row) => row[column] !== '–')
  return rows.map((row) => row.filter(isFilled))
}

/**
 * Our pages alone, one row per scenario. By processor time too, which other work on the machine moves
 * less.
 */
export function toSummary(scenarios: readonly { title: string; results: readonly Result[] }[]) {
  const rows = scenarios.flatMap(({ title, results }) => {
    const sampleOf = (name: string) => results.find((result) => result.name === name)?.sample
    const [ours, plain, ceiling] = [
      results[0]?.sample,
      sampleOf(referenceNames.plain),
      sampleOf(referenceNames.ceiling),
    ]
    if (ours === undefined) return []
    const rate = ours.requestsPerSecond
    const us = ours.cpuUsPerRequest
    return [
      [
        title,
        toInteger(rate),
        toRatio(rate, plain?.requestsPerSecond),
        toRatio(rate, ceiling?.requestsPerSecond),
        toInteger(us),
        toRatio(1 / us, plain && 1 / plain.cpuUsPerRequest),
        toRatio(1 / us, ceiling && 1 / ceiling.cpuUsPerRequest),
      ],
    ]
  })
  const byCpu = ['CPU µs', '× plain by CPU', 'of ceiling by CPU']
  const head = ['page, gzip', 'req/s', '× plain', 'of ceiling', ...byCpu]
  return `### summary\n\n${toMarkdown([head, ...rows])}`
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
    `load of the machine ${loadavg()[0]?.toFixed(1)}, ${coresTitle}`,
  ].join('; ')
}

export const toInteger = (value: number) => Math.round(value).toLocaleString('en-US')

const toWarning = (failures: number) => (failures === 0 ? '' : ` (${failures} FAILED)`)

function toRatio(rate: number, reference: number | undefined): string {
  if (reference === undefined) return '–'
  const ratio = rate / reference
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2)
}

/** How many times as much time this takes as the reference. */
const toInverse = (rate: number, reference: number | undefined) =>
  reference === undefined ? '–' : (reference / rate).toFixed(2)

export function toMarkdown(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')
}
