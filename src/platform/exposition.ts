/** Metrics in Prometheus' text format (exposition format 0.0.4). */
export type Labels = Readonly<Record<string, string | number>>
type Sample = readonly [labels: Labels, value: number | undefined]
type Family = { name: string; help: string; type: 'counter' | 'gauge'; samples: readonly Sample[] }
type Histogram = {
  name: string
  help: string
  /** Ascending upper bounds; `counts` has one entry more. */
  bounds: readonly number[]
  series: readonly { labels: Labels; counts: readonly number[]; sum: number }[]
}

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const escapeLabel = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(String(text))}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
}

const head = (name: string, help: string, type: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

/** Leaves out unknown values, and the family if no value is known. */
export function printFamily({ name, help, type, samples }: Family): string[] {
  const lines = samples.flatMap(([labels, value]) =>
    value === undefined ? [] : [line(name, labels, value)],
  )
  return lines.length === 0 ? [] : [...head(name, help, type), ...lines]
}

export function printHistogram({ name, help, bounds, series }: Histogram): string[] {
  const lines = series.flatMap(({ labels, counts, sum }) => {
    let total = 0
    const buckets = counts.map((count, index) => {
      total += count
      return line(`${name}_bucket`, { ...labels, le: bounds[index] ?? '+Inf' }, total)
    })
    return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)]
  })
  return [...head(name, help, 'histogram'), ...lines]
}
