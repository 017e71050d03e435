import { Fault, isFault } from '#src/platform/fault.ts'

/** A defect of a recorded object, described for the person who recorded it. */
export const recordFault = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'record', ...options })

/** A record that is skipped, such as one of an unsupported market. Counted, but not an error. */
export const skippedRecord = (message: string): Fault => new Fault(message, { kind: 'not_kept' })

export const isRecordFault = (error: unknown): error is Fault =>
  isFault(error, 'record', 'not_kept')

/** Reported by a recorder whose disk has less free space than its minimum. */
export const NO_ROOM = 'The disk is nearly full: nothing is recorded.'
