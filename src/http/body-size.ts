import { AppError } from '#src/core/errors.ts'

/** The largest body that any route takes. */
export const BODY_BYTES_MAX = 64 * 1024

/** The answer to a larger one. */
export const refuseLargeBody = () =>
  new AppError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX / 1024} KiB.`)
