import { route } from '#src/http/route.ts'

import { UsageBody } from './model.ts'
import type { UsageService } from './service.ts'

/** `GET /v1/usage` shows a caller its tier, its allowances and what it has used. */
export const usageRoutes = (service: UsageService) => [
  route({
    method: 'GET',
    path: '/v1/usage',
    access: 'key',
    tag: 'account',
    operationId: 'getUsage',
    summary: 'Your tier, allowances and usage',
    description:
      'The allowances are those of the key that asks; requests and bytes are those of all keys of the account.',
    ok: { description: 'What you may use and have used.', schema: UsageBody },
    caching: 'no-store',
    answer: ({ caller }) => service.usage(caller),
  }),
]
