import { Fault, isFault } from '#src/platform/fault.ts'

/** What is wrong with a recorded object, for the person who recorded it. */
export const recordFault = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'record', ...options })

/** Why a record is not kept: its market is of another coin or kind. It is counted, and no mistake. */
export const notKept = (message: string): Fault => new Fault(message, { kind: 'not_kept' })

export const isRecordFault = (error: unknown): error is Fault =>
  isFault(error, 'record', 'not_kept')

/** The fault of a recorder whose disk has less room than it must keep. */
export const NO_ROOM = 'The disk is nearly full: nothing is recorded.'
