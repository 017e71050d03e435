/** What is wrong with a recorded object, for the person who recorded it. */
export class RecordFault extends Error {
  override name = 'RecordFault'
}
