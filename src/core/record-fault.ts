/** What is wrong with a recorded object, for the person who recorded it. */
export class RecordFault extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'RecordFault'
  }
}
