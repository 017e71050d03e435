/**
 * Chooses the coding of a body by `Accept-Encoding` (RFC 9110 §12.5.3): gzip where it is welcome.
 */
export function acceptsGzip(header: string | null): boolean {
  if (header === null) return false
  // Nearly every client sends a plain list; only weights need a closer look.
  if (!header.includes(';')) return /(^|[\s,])(x-)?(gzip|\*)($|[\s,])/i.test(header)
  const weights = new Map(header.toLowerCase().split(',').map(toWeight))
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
}

function toWeight(entry: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [coding, weight === undefined ? 1 : Number(weight)]
}
