/**
 * The detail of a problem without the sentences that name routes, which are for programs: pages have
 * links and buttons in their place.
 */
export function withoutRoutes(detail: string): string {
  const parts = detail.split(/(?<=[.;:])\s+/)
  const said = parts.filter((part) => !/\b(GET|POST|PATCH|DELETE) `?\//.test(part)).join(' ')
  return said.replace(/[;:]$/, '.')
}
