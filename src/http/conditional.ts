/** True when `If-None-Match` names `etag`, or anything (RFC 9110 §13.1.2; weak comparison). */
export function matchesEtag(header: string | null, etag: string): boolean {
  if (header === null) return false
  return header.split(',').some((candidate) => {
    const tag = candidate.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}
