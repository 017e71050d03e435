/** Content negotiation: media type, coding, and whether the client has the response already. */
import Negotiator from 'negotiator'

/** Longer headers are passed over: to weigh thousands of ranges takes milliseconds. */
const ACCEPT_LENGTH_MAX = 1_024

/**
 * Names the one of `types` that `Accept` likes best (RFC 9110 §12.5.1). Of those liked alike it is
 * the one that comes first there, then the one that is first here; `otherwise` where none is
 * welcome.
 */
export function preferredType<T extends string>(
  { headers }: Request,
  types: Readonly<Record<T, string>>,
  otherwise: NoInfer<T>,
): T {
  const sent = headers.get('accept') ?? ''
  const accept = sent === '' || sent.length > ACCEPT_LENGTH_MAX ? undefined : sent
  const names = Object.keys(types) as T[]
  const texts = names.map((name) => types[name])
  const best = new Negotiator({ headers: { accept } }).mediaType(texts)
  return names.find((name) => types[name] === best) ?? otherwise
}

/** True where `Accept-Encoding` welcomes gzip (RFC 9110 §12.5.3). */
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

const ENTITY_TAG = /(?:^|,)\s*(?:W\/)?("[^"]*")\s*(?=,|$)/g

/** True when `If-None-Match` names `etag`, or anything (RFC 9110 §13.1.2; weak comparison). */
export function matchesEtag(header: string | null, etag: string): boolean {
  if (header === null) return false
  if (header.trim() === '*') return true
  // A tag may hold a comma, so the list is not split at them.
  return header.matchAll(ENTITY_TAG).some(([, tag]) => tag === etag)
}
