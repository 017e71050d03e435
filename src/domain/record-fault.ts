/** What is wrong with a recorded object, for the person who recorded it. */
export class RecordFault extends Error {
  override name = 'RecordFault'
}

/** A record of a market of a coin or kind that is not kept: counted with the reason, no fault. */
export class NotKept extends RecordFault {
  override name = 'NotKept'
}
