const ENTITY_TAG = /(?:^|,)\s*(?:W\/)?("[^"]*")\s*(?=,|$)/g

/** True when `If-None-Match` names `etag`, or anything (RFC 9110 §13.1.2; weak comparison). */
export function matchesEtag(header: string | null, etag: string): boolean {
  if (header === null) return false
  if (header.trim() === '*') return true
  // A tag may hold a comma, so the list is not split at them.
  return header.matchAll(ENTITY_TAG).some(([, tag]) => tag === etag)
}
