/**
 * Chooses the media type of a body by `Accept` (RFC 9110 §12.5.1): ranges, weights and parameters.
 */
import Negotiator from 'negotiator'

/** Longer headers are passed over: to weigh thousands of ranges takes milliseconds. */
const ACCEPT_LENGTH_MAX = 1_024

/**
 * Names the one of `types` that the caller likes best. Of those liked alike it is the one that
 * `Accept` names first, then the one that is first here; `otherwise` where none is welcome.
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
