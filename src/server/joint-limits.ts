import type { LinkOptions } from '#src/access/limits-link.ts'
import { type SharedWindows, shareWindows } from '#src/access/shared-windows.ts'
import type { Config } from '#src/config/config.ts'
import type { Clock } from '#src/domain/time.ts'

type Options = Omit<LinkOptions, 'url'> & { timer: Clock }

/** What several servers count together; undefined where this one counts for itself. */
export async function joinLimits(
  { limits: url }: Pick<Config, 'limits'>,
  options: Options,
): Promise<SharedWindows | undefined> {
  return url === '' ? undefined : shareWindows({ ...options, url })
}
