/** A strict parser of the Prometheus exposition format. */

export type Exposition = { types: Map<string, string>; samples: Map<string, number> }

/** Names of families with their type, and samples by their whole name; throws for a bad line. */
export function parseExposition(text: string): Exposition {
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  for (const line of text.trimEnd().split('\n')) {
    const [, name = '', type = ''] = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (name !== '') types.set(name, type)
    if (line.startsWith('#')) continue
    const found = /^([a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})?) (-?[\d.e+-]+)$/.exec(line)
    if (found === null) throw new Error(`Not a sample: ${line}`)
    samples.set(found[1] ?? '', Number(found[2]))
  }
  return { types, samples }
}

/** The families named by rules or panels. */
export const familiesIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/\b(?:bookfeed|process)_[a-z_]+\b/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
]
